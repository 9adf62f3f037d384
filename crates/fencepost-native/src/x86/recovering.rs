//! Memory as recovery sees it, and recovery to its end.

use super::mapping::Mapping;
use super::memory::Raw;
use fencepost_kernel::{At, CrashPoint, Fence, Flow, Flush, Mem, OpRecord, Rmw, Val, Width};

/// The memory as recovery sees it: what is not mapped reads as zero, and stores there have no effect.
pub(super) struct Recovering<'a> {
    pub(super) raw: Raw,
    pub(super) mapping: &'a Mapping,
}
impl Mem for Recovering<'_> {
    type Dep = ();

    fn load_n(&mut self, at: At<()>, width: Width) -> Val<()> {
        match self.mapping.holds(at.addr) {
            true => Val::lit(self.raw.load(at.addr, width)),
            false => Val::lit(0),
        }
    }
    fn store_n(&mut self, at: At<()>, v: Val<()>, width: Width) {
        if self.mapping.holds(at.addr) {
            self.raw.store(at.addr, v.v, width);
        }
    }
    fn nt_store(&mut self, at: At<()>, v: Val<()>) {
        self.store(at, v);
    }
    fn flush(&mut self, at: At<()>, _: Flush) {
        if self.mapping.holds(at.addr) {
            self.raw.flush(at.addr);
        }
    }
    fn fence(&mut self, kind: Fence) {
        self.raw.fence(kind);
    }
    fn rmw(&mut self, at: At<()>, op: Rmw) -> Val<()> {
        match self.mapping.holds(at.addr) {
            true => Val::lit(self.raw.rmw(at.addr, op)),
            false => Val::lit(0),
        }
    }
    fn load_acquire(&mut self, at: At<()>) -> Val<()> {
        self.load(at)
    }
    fn store_release(&mut self, at: At<()>, v: Val<()>) {
        self.store(at, v);
    }
    fn lock(&mut self, _: At<()>) {}
    fn unlock(&mut self, _: At<()>) {}
}

/// Steps after which a recovery is taken to hang.
const STEPS: u64 = 1 << 32;

/// Steps until the last one, which may say why it failed.
pub(super) fn follow<S>(mut state: S, mut step: impl FnMut(S) -> Flow<S>) -> Option<String> {
    for _ in 0..STEPS {
        match step(state) {
            Flow::Next(next) => state = next,
            Flow::Done(result) => return result.err().map(|v| v.why),
        }
    }
    Some("recovery does not end".into())
}

/// What must be there after recovery.
pub(super) struct Expected<'a> {
    /// The operations of the run, in their order.
    pub ops: &'a [OpRecord],
    /// Which of them had begun and ended.
    pub crash: CrashPoint,
}
