//! Short batches of several sequences in turn, without those during which the thread did not run all the time.

use crate::native_report::Times;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

/// How often the calling thread was given a processor, as the kernel counts it.
#[derive(Debug)]
pub(super) struct Switches(Option<File>);
impl Switches {
    /// Of the calling thread. A kernel that does not say is asked in vain: every batch then counts as undisturbed.
    pub(super) fn new() -> Switches {
        Switches(File::open("/proc/thread-self/schedstat").ok())
    }
    /// The count now: it is the third number of the file. Two equal counts mean that the thread ran all the time between them.
    pub(super) fn count(&self) -> u64 {
        let mut text = [0; 96];
        let read = self.0.as_ref().and_then(|f| f.read_at(&mut text, 0).ok()).unwrap_or(0);
        let text = std::str::from_utf8(&text[..read]).unwrap_or_default();
        text.split_ascii_whitespace()
            .nth(2)
            .and_then(|n| n.parse().ok())
            .unwrap_or(0)
    }
}

/// A batch lasts this many nanoseconds at least: much longer than reading the clock, much shorter than a time slice.
const BATCH_NS: f64 = 10_000.0;
/// Repetitions of a batch at most.
const MOST: u32 = 1 << 14;
/// Batches of each sequence that count, and rounds at most to get them.
const WANTED: usize = 200;
const ROUNDS: usize = 1000;

/// A sequence to be timed: executes so many repetitions.
pub(super) struct Sequence<'a> {
    run: Box<dyn FnMut(u32) + 'a>,
}
/// A sequence of calls of `f`, which is given the number of the repetition.
pub(super) fn repeated<'a>(mut f: impl FnMut(u32) + 'a) -> Sequence<'a> {
    let mut done = 0u32;
    Sequence {
        run: Box::new(move |n| {
            for i in 0..n {
                f(done.wrapping_add(i));
            }
            done = done.wrapping_add(n);
        }),
    }
}

/// Times sequences on the calling thread.
#[derive(Debug)]
pub(super) struct Sampler {
    switches: Switches,
    /// Batches that were timed.
    pub batches: u64,
    /// Those of them during which the thread was switched out; they do not count.
    pub disturbed: u64,
}

impl Sampler {
    /// For the calling thread.
    pub(super) fn new() -> Sampler {
        Sampler {
            switches: Switches::new(),
            batches: 0,
            disturbed: 0,
        }
    }
    /// Nanoseconds of one repetition of each sequence. Batches of all of them are interleaved, so that what the machine does besides
    /// falls on all alike.
    pub(super) fn times<const N: usize>(&mut self, mut sequences: [Sequence<'_>; N]) -> [Times; N] {
        let lengths = std::array::from_fn::<u32, N, _>(|i| self.length(&mut sequences[i]));
        let mut samples = [const { Vec::new() }; N];
        for round in 0..ROUNDS {
            if samples.iter().all(|s| s.len() >= WANTED) {
                break;
            }
            for turn in 0..N {
                let i = (turn + round) % N;
                if let Some(ns) = self.batch(&mut sequences[i], lengths[i]) {
                    samples[i].push(ns);
                }
            }
        }
        samples.map(Times::of)
    }
    /// One sequence alone.
    pub(super) fn time(&mut self, f: impl FnMut(u32)) -> Times {
        self.times([repeated(f)])[0]
    }
    /// Repetitions of a batch that is long enough, a power of two.
    fn length(&mut self, sequence: &mut Sequence<'_>) -> u32 {
        let mut n = 1;
        while n < MOST && self.shortest_of_three(sequence, n) * f64::from(n) < BATCH_NS {
            n *= 2;
        }
        n
    }
    fn shortest_of_three(&mut self, sequence: &mut Sequence<'_>, n: u32) -> f64 {
        let tries = (0..3).filter_map(|_| self.batch(sequence, n));
        // None undisturbed: as if it were short.
        tries.reduce(f64::min).unwrap_or(0.0)
    }
    /// Nanoseconds of a repetition in one batch, unless the thread was switched out.
    fn batch(&mut self, sequence: &mut Sequence<'_>, n: u32) -> Option<f64> {
        let before = self.switches.count();
        // What asking the kernel displaced comes back first.
        (sequence.run)(n / 8);
        let begun = Instant::now();
        (sequence.run)(n);
        let ns = begun.elapsed().as_nanos() as f64 / f64::from(n);
        let undisturbed = self.switches.count() == before;
        self.batches += 1;
        self.disturbed += u64::from(!undisturbed);
        undisturbed.then_some(ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn sequences_take_turns_and_are_timed_by_the_repetition() {
        let (short, long) = (Cell::new(0u64), Cell::new(0u64));
        let spin = |n: u64| {
            let _ = (0..n).fold(0, |sum, i| std::hint::black_box(sum + i));
        };
        let mut sampler = Sampler::new();
        let [a, b] = sampler.times([
            repeated(|_| {
                short.set(short.get() + 1);
                spin(100);
            }),
            repeated(|_| {
                long.set(long.get() + 1);
                spin(10_000);
            }),
        ]);
        assert!(a.min <= a.median && b.min <= b.median);
        // A hundred times the work: batches of the longer one have fewer repetitions.
        assert!(b.min > a.min && short.get() > long.get(), "{a:?} {b:?}");
        assert!(sampler.batches >= sampler.disturbed);
    }
    #[test]
    fn a_thread_that_gives_its_processor_away_is_counted() {
        let switches = Switches::new();
        let before = switches.count();
        std::thread::sleep(std::time::Duration::from_millis(2));
        // Kernels without the count always say the same.
        assert!(before == 0 || switches.count() > before);
    }
}
