//! Crash images: every strict prefix, random x86 states, random states within epochs.

use super::*;
use std::collections::{BTreeMap, BTreeSet};

/// Judges the image after every prefix of the stores; the first violation, with the number of stores before it.
/// Under hardware transactions the stores of an uncommitted transaction are not in the image.
pub(crate) fn strict_prefixes<P: Program>(p: &P, run: &Run) -> Result<usize, (usize, Violation)> {
    let model = p.model(&run.ops);
    let (mut image, mut crash, mut states) = (persistent(&run.initial), crash_point(run), 0);
    let mut held: Option<Vec<(u64, u64)>> = None;
    for (i, e) in run.events.iter().enumerate() {
        progress(&mut crash, e);
        match e {
            Event::TxBegin => held = Some(Vec::new()),
            Event::TxCommit => {
                held.take()
                    .expect("begun")
                    .into_iter()
                    .for_each(|(w, v)| image.set_word(Addr(w), v, None));
            }
            Event::Store { word, value, .. } => match &mut held {
                Some(h) => h.push((*word, *value)),
                None => image.set_word(Addr(*word), *value, None),
            },
            _ => continue,
        }
        if !i.is_multiple_of(stride(run)) {
            continue;
        }
        judge(p, &model, &image, &crash).map_err(|v| (states, v))?;
        states += 1;
    }
    Ok(states)
}

/// One event in so many is looked at. A program that writes pages writes hundreds of thousands of words.
pub(crate) fn stride(run: &Run) -> usize {
    const LONG: usize = 20_000;
    const LOOKED_AT: usize = 400;
    match run.events.len() {
        ..LONG => 1,
        n => (n / LOOKED_AT) | 1,
    }
}

/// Same-line order of the x86 model.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) enum LineOrder {
    /// A line's stores persist in order.
    Fifo,
    /// Each 8-byte word for itself.
    None,
}

/// Per word: every value in coherence order with its global store number; and how many are surely durable.
#[derive(Default)]
struct X86 {
    words: BTreeMap<u64, Vec<(u64, u64)>>,
    durable: BTreeMap<u64, u64>,
    flushed: BTreeMap<(u32, u64), u64>,
    accepted: BTreeMap<u64, u64>,
    count: u64,
}
impl X86 {
    /// `device`: durable only once a pcommit followed acceptance.
    fn event(&mut self, e: &Event, device: bool) {
        let raise = |m: &mut BTreeMap<u64, u64>, line, n: u64| {
            let d: &mut u64 = m.entry(line).or_default();
            *d = (*d).max(n);
        };
        match *e {
            Event::Store {
                thread,
                word,
                value,
                nt,
            } => {
                self.count += 1;
                self.words.entry(word).or_default().push((self.count, value));
                if nt {
                    self.flushed.insert((thread, word / 64), self.count);
                }
            }
            Event::Flush { thread, line } => {
                self.flushed.insert((thread, line), self.count);
            }
            Event::Fence {
                thread,
                kind: Fence::Sfence | Fence::Mfence,
            } => {
                let mine: Vec<_> = self.flushed.keys().copied().filter(|k| k.0 == thread).collect();
                for key in mine {
                    let n = self.flushed.remove(&key).unwrap();
                    raise(if device { &mut self.accepted } else { &mut self.durable }, key.1, n);
                }
            }
            Event::Fence {
                kind: Fence::Pcommit, ..
            } => {
                for (line, n) in std::mem::take(&mut self.accepted) {
                    raise(&mut self.durable, line, n);
                }
            }
            _ => {}
        }
    }
    /// A crash image: every word at least as new as what is durable; newer at random, and as a whole rarely or mostly.
    fn image(&self, initial: &Image, order: LineOrder, rng: &mut Stream) -> Image {
        let mut image = persistent(initial);
        let lines: BTreeSet<u64> = self.words.keys().map(|w| w / 64).collect();
        for line in lines {
            let oldest = self.durable.get(&line).copied().unwrap_or(0);
            // A line keeps what is durable, or gets everything, or stands anywhere between (each word for itself, if unordered).
            let whole = match rng.below(3) {
                0 => Some(oldest),
                1 => Some(u64::MAX),
                _ => None,
            };
            let words: Vec<_> = self.words.range(line * 64..line * 64 + 64).collect();
            let pick = |rng: &mut Stream, words: &[(&u64, &Vec<(u64, u64)>)]| {
                let newer: Vec<u64> = words
                    .iter()
                    .flat_map(|w| w.1.iter().map(|v| v.0))
                    .filter(|n| *n > oldest)
                    .collect();
                match rng.below(newer.len() as u64 + 1) {
                    0 => oldest,
                    n => newer[n as usize - 1],
                }
            };
            let together = pick(rng, &words);
            for w in &words {
                let own = if order == LineOrder::Fifo {
                    together
                } else {
                    pick(rng, &[*w])
                };
                let upto = whole.unwrap_or(own);
                if let Some((_, value)) = w.1.iter().rev().find(|v| v.0 <= upto) {
                    image.set_word(Addr(*w.0), *value, None);
                }
            }
        }
        image
    }
}

/// Draws `per_event` crash images after every persist-relevant event and judges them; number of states, or the first violation.
pub(crate) fn x86_samples<P: Program>(
    p: &P,
    run: &Run,
    device: bool,
    order: LineOrder,
    per_event: usize,
    seed: u64,
) -> Result<usize, (usize, Violation)> {
    let model = p.model(&run.ops);
    let (mut x86, mut crash, mut states) = (X86::default(), crash_point(run), 0);
    let mut rng = Stream::new(seed, "crash images");
    for (i, e) in run.events.iter().enumerate() {
        progress(&mut crash, e);
        x86.event(e, device);
        if matches!(e, Event::Begin { .. }) || !i.is_multiple_of(stride(run)) {
            continue;
        }
        for _ in 0..per_event {
            let image = x86.image(&run.initial, order, &mut rng);
            judge(p, &model, &image, &crash).map_err(|v| (states, v))?;
            states += 1;
        }
    }
    Ok(states)
}

/// Epoch persistency for one thread: everything before the last barrier but `n` is durable in order; of the epoch in which
/// the power failed each word is at a random place of its own history; nothing later is.
pub(crate) fn epoch_samples<P: Program>(
    p: &P,
    run: &Run,
    per_epoch: usize,
    seed: u64,
) -> Result<usize, (usize, Violation)> {
    assert_eq!(run.threads, 1);
    let model = p.model(&run.ops);
    let (mut image, mut crash, mut states) = (persistent(&run.initial), crash_point(run), 0);
    let (mut rng, mut epoch) = (Stream::new(seed, "epochs"), Vec::new());
    let fence = Event::Fence {
        thread: 0,
        kind: Fence::Dmb,
    };
    for e in run.events.iter().chain([&fence]) {
        match e {
            Event::Store { word, value, .. } => epoch.push((*word, *value)),
            Event::Fence { .. } => {
                for _ in 0..per_epoch {
                    let mut torn = image.clone();
                    // Per line nothing, everything, or each word up to a random place of its history.
                    let (mut modes, mut upto) = (BTreeMap::new(), BTreeMap::new());
                    for (i, (word, value)) in epoch.iter().enumerate() {
                        let last = match modes.entry(word / 64).or_insert_with(|| rng.below(3)) {
                            0 => 0,
                            1 => epoch.len() as u64,
                            _ => *upto.entry(*word).or_insert_with(|| rng.below(epoch.len() as u64 * 2)),
                        };
                        if (i as u64) < last {
                            torn.set_word(Addr(*word), *value, None);
                        }
                    }
                    judge(p, &model, &torn, &crash).map_err(|v| (states, v))?;
                    states += 1;
                }
                epoch.drain(..).for_each(|(w, v)| image.set_word(Addr(w), v, None));
            }
            _ => progress(&mut crash, e),
        }
    }
    Ok(states)
}
