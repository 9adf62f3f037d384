//! What watched operations did, in words that another process can read: a heap, or a shared file that outlives a kill.

use super::words::Words;
use crate::error::NativeError;
use fencepost_kernel::{OpRecord, Outcome};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

// Words of the whole: set when the operations begin; the newest stamp.
const RUNNING: usize = 0;
const STAMP: usize = 1;
/// Words before the threads, of a thread before its records, and of a record: lines of their own.
const LINE: usize = 8;
// Words of a thread: operations begun and ended.
const BEGUN: usize = 0;
const ENDED: usize = 1;
// Words of a record.
const STAMPED: usize = 0;
const RELEASED: usize = 1;
const KIND: usize = 2;
const WORDS: usize = 3;

/// Records of every thread's operations.
pub(super) struct Progress {
    all: Words,
    threads: u32,
    capacity: u32,
}
/// How far an operation got that was not recorded as ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Unfinished {
    /// It had let others see its effects: it stands at this stamp.
    Released(u64),
    /// Nobody can have seen it. It holds its last lock since this stamp, or none yet.
    Hidden(Option<u64>),
}

impl Progress {
    fn words(threads: u32, capacity: u32) -> usize {
        LINE + threads as usize * (LINE + capacity as usize * LINE)
    }
    /// In private memory, for so many operations of each thread.
    pub(super) fn heap(threads: u32, capacity: u32) -> Progress {
        Progress {
            all: Words::heap(Self::words(threads, capacity)),
            threads,
            capacity,
        }
    }
    /// In a file, made if absent.
    pub(super) fn file(path: &Path, threads: u32, capacity: u32) -> Result<Progress, NativeError> {
        Ok(Progress {
            all: Words::file(path, Self::words(threads, capacity))?,
            threads,
            capacity,
        })
    }
    fn thread(&self, t: u32) -> &[AtomicU64] {
        let size = LINE + self.capacity as usize * LINE;
        &self.all[LINE + t as usize * size..][..size]
    }
    fn record(&self, t: u32, k: u32) -> &[AtomicU64] {
        &self.thread(t)[LINE + k as usize * LINE..][..LINE]
    }
    /// Whether the operations have begun.
    pub(super) fn running(&self) -> bool {
        self.all[RUNNING].load(Ordering::Acquire) != 0
    }
    /// The operations begin now.
    pub(super) fn run(&self) {
        self.all[RUNNING].store(1, Ordering::Release);
    }
    /// Operation `k` of thread `t` begins.
    pub(super) fn begin(&self, t: u32, k: u32) {
        self.thread(t)[BEGUN].store(u64::from(k) + 1, Ordering::Release);
    }
    /// It is about to wait for a lock. If nobody has seen it so far, its place in the order is after the operation it waits for.
    pub(super) fn wait(&self, t: u32, k: u32) {
        let r = self.record(t, k);
        if r[RELEASED].load(Ordering::Relaxed) == 0 {
            r[STAMPED].store(0, Ordering::Release);
        }
    }
    /// It took a lock, or read what another operation released: its place in the order is now.
    pub(super) fn stamp(&self, t: u32, k: u32) {
        let now = self.all[STAMP].fetch_add(1, Ordering::AcqRel) + 1;
        self.record(t, k)[STAMPED].store(now, Ordering::Release);
    }
    /// It is about to let others see what it did.
    pub(super) fn release(&self, t: u32, k: u32) {
        self.record(t, k)[RELEASED].store(1, Ordering::Release);
    }
    /// It has ended.
    pub(super) fn end(&self, t: u32, k: u32, outcome: Outcome) {
        let r = self.record(t, k);
        if r[STAMPED].load(Ordering::Relaxed) == 0 {
            self.stamp(t, k);
        }
        r[KIND].store(outcome.kind.into(), Ordering::Relaxed);
        for (i, w) in outcome.words.into_iter().enumerate() {
            r[WORDS + i].store(w, Ordering::Relaxed);
        }
        self.thread(t)[ENDED].store(u64::from(k) + 1, Ordering::Release);
    }
    /// Threads recorded.
    pub(super) fn threads(&self) -> u32 {
        self.threads
    }
    /// Operations that each thread had ended.
    pub(super) fn ended(&self, t: u32) -> u32 {
        self.thread(t)[ENDED].load(Ordering::Acquire) as u32
    }
    /// The operation that thread `t` had begun and not ended.
    pub(super) fn unfinished(&self, t: u32) -> Option<(u32, Unfinished)> {
        let k = self.ended(t);
        if self.thread(t)[BEGUN].load(Ordering::Acquire) as u32 <= k {
            return None;
        }
        let r = self.record(t, k);
        let stamp = r[STAMPED].load(Ordering::Acquire);
        let seen = stamp != 0 && r[RELEASED].load(Ordering::Acquire) != 0;
        Some((
            k,
            if seen {
                Unfinished::Released(stamp)
            } else {
                Unfinished::Hidden((stamp != 0).then_some(stamp))
            },
        ))
    }
    /// The operation `k` of thread `t`, which has ended.
    pub(super) fn ended_record(&self, t: u32, k: u32) -> OpRecord {
        let word = |i: usize| self.record(t, k)[i].load(Ordering::Relaxed);
        OpRecord {
            thread: t,
            k,
            stamp: word(STAMPED),
            outcome: Outcome {
                kind: word(KIND) as u8,
                words: [word(WORDS), word(WORDS + 1), word(WORDS + 2)],
            },
        }
    }
    /// Every operation that has ended, in the order of their stamps.
    pub(super) fn history(&self) -> Vec<OpRecord> {
        let of = |t: u32| (0..self.ended(t)).map(move |k| self.ended_record(t, k));
        let mut all: Vec<OpRecord> = (0..self.threads).flat_map(of).collect();
        all.sort_unstable_by_key(|r| r.stamp);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn an_operation_killed_before_it_let_others_see_it_has_no_place_of_its_own() {
        let p = Progress::heap(2, 4);
        let outcome = |n| Outcome {
            kind: 1,
            words: [n, 0, 0],
        };
        p.begin(0, 0);
        p.stamp(0, 0);
        p.begin(1, 0);
        p.end(1, 0, outcome(5)); // no lock: stamped at its end
        p.end(0, 0, outcome(4));
        assert_eq!(
            p.history()
                .iter()
                .map(|r| (r.thread, r.outcome.words[0]))
                .collect::<Vec<_>>(),
            [(0, 4), (1, 5)]
        );
        p.begin(0, 1);
        assert_eq!(p.unfinished(0), Some((1, Unfinished::Hidden(None))));
        p.stamp(0, 1);
        assert_eq!(p.unfinished(0), Some((1, Unfinished::Hidden(Some(3)))));
        p.wait(0, 1);
        assert_eq!(p.unfinished(0), Some((1, Unfinished::Hidden(None))));
        p.stamp(0, 1);
        p.release(0, 1);
        p.wait(0, 1); // too late to stand after any other
        assert_eq!(
            (p.unfinished(0), p.unfinished(1)),
            (Some((1, Unfinished::Released(4))), None)
        );
    }
    #[test]
    fn a_file_is_read_by_whoever_maps_it_next() {
        let scratch = super::super::scratch::Scratch::new("progress-test");
        let path = scratch.path();
        let writer = Progress::file(path, 1, 10).unwrap();
        writer.run();
        writer.begin(0, 0);
        writer.stamp(0, 0);
        drop(writer);
        let reader = Progress::file(path, 1, 10).unwrap();
        assert!(reader.running() && reader.history().is_empty());
        assert_eq!(reader.unfinished(0), Some((0, Unfinished::Hidden(Some(1)))));
    }
}
