//! What leaves the caches for the controller on a thread's own account, until the controller has accepted it: flushed lines and
//! non-temporal stores. Fences wait for it.

use crate::persist_path::Waiting;
use crate::sync_flush::{Asked, SyncFlushes};
use fencepost_kernel::{Flush, HartId, LineAddr, LineData, Ps, WriteCause};
use fencepost_machine::seam::{Cause, CleanKind, Cx, Gate, Write};

/// Kinds of tags that [`Flushes`] gives to its cleans. A design's own tags have larger kinds.
const FLUSH: u64 = 0;
const SYNC_FLUSH: u64 = 1;

#[derive(Clone, Debug, Default)]
struct Hart {
    /// Weakly ordered flushes that are under way.
    flushes: u32,
    /// Non-temporal stores that have not reached the controller.
    nt_stores: u32,
    /// `clflush`, which completes with its write.
    sync: SyncFlushes,
}

/// The flushes and non-temporal stores under way, by hardware thread.
#[derive(Clone, Debug)]
pub(super) struct Flushes {
    harts: Vec<Hart>,
    waiting: Waiting,
    /// Hardware threads whose non-temporal store the controller refused: a bit each.
    refused: u64,
}

impl Flushes {
    pub fn new(harts: u8) -> Flushes {
        Flushes {
            harts: vec![Hart::default(); usize::from(harts)],
            waiting: Waiting::default(),
            refused: 0,
        }
    }
    /// A flush instruction. All but `clwb` and `DC CVAP` invalidate the line.
    pub fn flush(&mut self, cx: &mut dyn Cx, hart: HartId, line: LineAddr, flush: Flush) -> Gate {
        let h = &mut self.harts[hart.index()];
        let kind = match flush {
            Flush::Clwb | Flush::CvAp => CleanKind::KeepShared,
            Flush::ClflushOpt => CleanKind::Invalidate,
            Flush::Clflush => {
                let tag = |serial| SYNC_FLUSH << 40 | u64::from(serial) << 8 | u64::from(hart.0);
                return match h.sync.ask(cx, hart, line, tag) {
                    Asked::Complete => Gate::Go,
                    Asked::SentOut | Asked::UnderWay => self.waiting.wait(hart, Cause::FlushPending),
                };
            }
        };
        h.flushes += 1;
        cx.clean(hart, line, kind, FLUSH << 40 | u64::from(hart.0));
        Gate::Go
    }
    /// A fence or locked instruction waits until all of it has been accepted.
    pub fn fence(&mut self, hart: HartId) -> Gate {
        let h = &self.harts[hart.index()];
        if h.flushes > 0 {
            return self.waiting.wait(hart, Cause::FlushPending);
        }
        match h.nt_stores {
            0 => Gate::Go,
            _ => self.waiting.wait(hart, Cause::WcbPending),
        }
    }
    /// A non-temporal store goes to the controller.
    pub fn nt_store(&mut self, cx: &mut dyn Cx, hart: HartId, line: LineAddr, data: &LineData) -> Gate {
        let write = Write {
            line,
            data: *data,
            queue: 0,
            epoch: None,
            cause: WriteCause::NonTemporal,
            hart: Some(hart),
            delay: Ps::ZERO,
        };
        match cx.write(write) {
            Ok(_) => {
                self.harts[hart.index()].nt_stores += 1;
                Gate::Go
            }
            Err(cause) => {
                self.refused |= 1 << hart.0;
                self.waiting.wait(hart, cause)
            }
        }
    }
    /// A queue of the controller takes writes again: who was refused asks again.
    pub fn queue_freed(&mut self, cx: &mut dyn Cx) {
        let mut refused = std::mem::take(&mut self.refused);
        while refused != 0 {
            self.waiting.wake(cx, HartId(refused.trailing_zeros() as u8));
            refused &= refused - 1;
        }
    }
    /// A flush reached the controller, or found nothing dirty.
    pub fn cleaned(&mut self, cx: &mut dyn Cx, hart: HartId, tag: u64) {
        let h = &mut self.harts[hart.index()];
        match tag >> 40 {
            FLUSH => h.flushes -= 1,
            _ => h.sync.finished((tag >> 8) as u32),
        }
        if tag >> 40 != FLUSH || h.flushes == 0 {
            self.waiting.wake(cx, hart);
        }
    }
    /// The controller accepted a write.
    pub fn accepted(&mut self, cx: &mut dyn Cx, write: &Write) {
        if let (Some(hart), WriteCause::NonTemporal) = (write.hart, write.cause) {
            self.harts[hart.index()].nt_stores -= 1;
            self.waiting.wake(cx, hart);
        }
    }
    /// Whether nothing is under way.
    pub fn idle(&self) -> bool {
        self.harts.iter().all(|h| h.flushes == 0 && h.nt_stores == 0)
    }
}
