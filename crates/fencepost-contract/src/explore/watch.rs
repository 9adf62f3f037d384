//! Watching what recovery does: addresses that no memory has, runs without end, and a trace of its stores.

use super::stop::{Fault, Place, Stop};
use crate::graph::Extent;
use fencepost_kernel::{Addr, Fence, Flush, HwThread, StoreId, StoreInfo, Trace, TraceKind, Violation};
use std::time::Instant;

/// The clock is read once in so many accesses (a power of two).
const CLOCK_EVERY: u64 = 1 << 12;

/// What one run of recovery may do, and what it did.
pub struct Watch {
    /// The memory that exists.
    pub extent: Extent,
    /// When the run has to stop, if ever.
    pub until: Option<Instant>,
    /// Recovery's own execution, where it is wanted.
    pub tape: Option<Trace>,
    allowed: u64,
    left: u64,
    /// Accesses of all runs before.
    before: u64,
    last: Option<Place>,
}
impl Watch {
    /// Watches nothing but the null page.
    pub fn new() -> Watch {
        Watch {
            extent: Extent::ALL,
            until: None,
            tape: None,
            allowed: u64::MAX,
            left: u64::MAX,
            before: 0,
            last: None,
        }
    }
    /// Begins a run that counts as endless after so many accesses.
    pub fn allow(&mut self, accesses: u64) {
        self.before = self.total();
        (self.allowed, self.left) = (accesses, accesses);
    }
    /// The same watch for another run of the same image: what a tape holds of the last one is taken off it.
    pub fn anew(last: Watch) -> Watch {
        Watch {
            tape: last.tape.is_some().then(Trace::default),
            ..last
        }
    }
    /// Whether the run counts as endless.
    pub fn is_spent(&self) -> bool {
        self.left == 0
    }
    /// Accesses of the run so far.
    pub fn accesses(&self) -> u64 {
        self.allowed - self.left
    }
    /// So many accesses of the run need not be made: they count as made.
    pub fn pass_over(&mut self, accesses: u64) {
        self.allowed += accesses;
    }
    /// Accesses of all runs so far.
    pub fn total(&self) -> u64 {
        self.before + self.accesses()
    }
    /// Recovery loads from or stores to (`access`) memory.
    #[inline]
    pub fn access(&mut self, access: &'static str, at: Addr, bytes: u64, place: Place) {
        self.count(place);
        if let Some(problem) = self.extent.fault(at, bytes) {
            Stop::Fault(Fault {
                access,
                problem,
                at,
                place,
            })
            .unwind();
        }
    }
    /// Recovery executes an instruction.
    #[inline]
    pub fn count(&mut self, place: Place) {
        self.last = Some(place);
        self.left -= 1;
        if self.left == 0 {
            Stop::Endless.unwind();
        }
        if self.left.is_multiple_of(CLOCK_EVERY) && self.until.is_some_and(|t| Instant::now() >= t) {
            Stop::OutOfTime.unwind();
        }
    }
    /// The violation of a recovery that goes on for ever, with the place that it reached last.
    pub fn endless(&self) -> Violation {
        let place = self
            .last
            .map(|p| format!("; it was stopped at {}:{}", p.file(), p.line()));
        Violation {
            why: format!("recovery does not end{}", place.unwrap_or_default()),
            at: None,
        }
    }
    /// Puts a store of a whole word on the tape.
    pub fn stored(&mut self, at: Addr, value: u64, nt: bool, place: Place) {
        let Some(tape) = &mut self.tape else { return };
        let Some(id) = StoreId::from_index(tape.stores.len()) else {
            return;
        };
        tape.stores.push(StoreInfo {
            thread: HwThread(0),
            addr: at,
            value,
            nt,
            tx: None,
            source: place.into(),
        });
        tape.push(HwThread(0), TraceKind::Store(id));
    }
    /// Puts a flush on the tape.
    pub fn flushed(&mut self, at: Addr, kind: Flush, place: Place) {
        self.count(place);
        if let Some(tape) = &mut self.tape {
            tape.push(HwThread(0), TraceKind::Flush { line: at.line(), kind });
        }
    }
    /// Puts a fence on the tape.
    pub fn fenced(&mut self, kind: Fence, place: Place) {
        self.count(place);
        if let Some(tape) = &mut self.tape {
            tape.push(HwThread(0), TraceKind::Fence(kind));
        }
    }
    /// Starts a tape.
    pub fn start_tape(&mut self) {
        self.tape = Some(Trace {
            threads: 1,
            ..Trace::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::Stream;

    /// A second failure is searched in what the tape says: everything that recovery did, as it did it.
    #[test]
    fn a_tape_has_every_store_flush_and_fence_in_order() {
        let mut rng = Stream::new(1, "tapes");
        for _ in 0..200 {
            let mut watch = Watch::new();
            watch.start_tape();
            let mut done = Vec::new();
            for value in 0..=rng.below(8) {
                let at = Addr::pm(8 * rng.below(16));
                let place = std::panic::Location::caller();
                match rng.below(4) {
                    0 | 1 => {
                        let nt = rng.chance(1, 2);
                        watch.stored(at, value, nt, place);
                        done.push(format!("{at:?} {value} {nt}"));
                    }
                    2 => {
                        watch.flushed(at, Flush::Clwb, place);
                        done.push(format!("flush {:?}", at.line()));
                    }
                    _ => {
                        watch.fenced(Fence::Sfence, place);
                        done.push("fence".into());
                    }
                }
            }
            let tape = watch.tape.expect("it was started");
            let taped = tape.events.iter().map(|e| match e.kind {
                TraceKind::Store(id) => {
                    let s = tape.store(id);
                    format!("{:?} {} {}", s.addr, s.value, s.nt)
                }
                TraceKind::Flush {
                    line,
                    kind: Flush::Clwb,
                } => format!("flush {line:?}"),
                TraceKind::Fence(Fence::Sfence) => "fence".into(),
                other => panic!("{other:?}"),
            });
            assert_eq!(taped.collect::<Vec<_>>(), done);
        }
    }
}
