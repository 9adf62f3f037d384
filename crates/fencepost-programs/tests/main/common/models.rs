//! Crash images: every strict prefix, random x86 states, random states within epochs.

use super::*;
use std::collections::BTreeMap;

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

/// Stores of a line that a failure may lose: of each word in coherence order, with their numbers among all stores.
type Newer = [Vec<(u64, u64)>; 8];

/// What is surely durable, and what was stored since.
struct X86 {
    durable: Image,
    newer: BTreeMap<u64, Newer>,
    flushed: BTreeMap<(u32, u64), u64>,
    accepted: BTreeMap<u64, u64>,
    count: u64,
}
impl X86 {
    fn new(initial: &Image) -> X86 {
        X86 {
            durable: persistent(initial),
            newer: BTreeMap::new(),
            flushed: BTreeMap::new(),
            accepted: BTreeMap::new(),
            count: 0,
        }
    }
    /// `device`: durable only once a pcommit followed acceptance.
    fn event(&mut self, e: &Event, device: bool) {
        match *e {
            Event::Store {
                thread,
                word,
                value,
                nt,
            } => {
                self.count += 1;
                self.newer.entry(word / 64).or_default()[place(word)].push((self.count, value));
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
                    if device {
                        let most = self.accepted.entry(key.1).or_default();
                        *most = n.max(*most);
                    } else {
                        self.settle(key.1, n);
                    }
                }
            }
            Event::Fence {
                kind: Fence::Pcommit, ..
            } => {
                for (line, n) in std::mem::take(&mut self.accepted) {
                    self.settle(line, n);
                }
            }
            _ => {}
        }
    }
    /// Stores of a line up to the `n`th of all are durable.
    fn settle(&mut self, line: u64, n: u64) {
        let Some(words) = self.newer.get_mut(&line) else { return };
        for (word, stores) in addresses(line).zip(words.iter_mut()) {
            let settled = stores.partition_point(|s| s.0 <= n);
            if let Some((_, value)) = stores.drain(..settled).next_back() {
                self.durable.set_word(Addr(word), value, None);
            }
        }
        if words.iter().all(Vec::is_empty) {
            self.newer.remove(&line);
        }
    }
    /// A crash image: every word at least as new as what is durable; newer at random, and as a whole rarely or mostly.
    fn image(&self, order: LineOrder, rng: &mut Stream) -> Image {
        let mut image = self.durable.clone();
        for (line, words) in &self.newer {
            // A line keeps what is durable, or gets everything, or stands anywhere between (each word for itself, if unordered).
            let all = match (rng.below(3), order) {
                (0, _) => continue,
                (1, _) => Some(u64::MAX),
                (_, LineOrder::Fifo) => Some(pick(rng, words)),
                (_, LineOrder::None) => None,
            };
            for (word, stores) in addresses(*line).zip(words).filter(|w| !w.1.is_empty()) {
                let upto = all.unwrap_or_else(|| pick(rng, std::slice::from_ref(stores)));
                let stored = stores.partition_point(|s| s.0 <= upto);
                if let Some((_, value)) = stored.checked_sub(1).map(|last| stores[last]) {
                    image.set_word(Addr(word), value, None);
                }
            }
        }
        image
    }
}

/// The addresses of a line's words.
fn addresses(line: u64) -> impl Iterator<Item = u64> {
    (line * 64..line * 64 + 64).step_by(8)
}

/// Which of its line's words this is.
fn place(word: u64) -> usize {
    (word % 64 / 8) as usize
}

/// The number of one of the words' stores, or 0.
fn pick(rng: &mut Stream, words: &[Vec<(u64, u64)>]) -> u64 {
    let drawn = rng.below(words.iter().map(|w| w.len() as u64).sum::<u64>() + 1);
    drawn
        .checked_sub(1)
        .map_or(0, |n| words.iter().flatten().nth(n as usize).expect("so many").0)
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
    let (mut x86, mut crash, mut states) = (X86::new(&run.initial), crash_point(run), 0);
    let mut rng = Stream::new(seed, "crash images");
    for (i, e) in run.events.iter().enumerate() {
        progress(&mut crash, e);
        x86.event(e, device);
        if matches!(e, Event::Begin { .. }) || !i.is_multiple_of(stride(run)) {
            continue;
        }
        for _ in 0..per_event {
            let image = x86.image(order, &mut rng);
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
