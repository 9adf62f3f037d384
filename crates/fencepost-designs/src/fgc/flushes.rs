//! What leaves the caches for the controller on a thread's own account, until the controller has accepted it: flushed lines and
//! non-temporal stores. Fences wait for it.

use crate::persist_path::Waiting;
use crate::sync_flush::{Asked, SyncFlushes};
use fencepost_kernel::{Flush, HwThread, LineAddr, LineData, Ps, WriteCause};
use fencepost_machine::seam::{Cause, CleanKind, Cx, Gate, Write};

/// Kinds of tags that [`Flushes`] gives to its cleans. A design's own tags have larger kinds.
const FLUSH: u64 = 0;
const SYNC_FLUSH: u64 = 1;

#[derive(Clone, Debug, Default)]
struct PerThread {
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
    hw_threads: Vec<PerThread>,
    waiting: Waiting,
    /// Hardware threads whose non-temporal store the controller refused: a bit each.
    refused: u64,
}

impl Flushes {
    pub(super) fn new(hw_threads: u8) -> Flushes {
        Flushes {
            hw_threads: vec![PerThread::default(); usize::from(hw_threads)],
            waiting: Waiting::default(),
            refused: 0,
        }
    }
    /// A flush instruction. All but `clwb` and `DC CVAP` invalidate the line.
    pub(super) fn flush(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, flush: Flush) -> Gate {
        let h = &mut self.hw_threads[hw_thread.index()];
        let kind = match flush {
            Flush::Clwb | Flush::CvAp => CleanKind::KeepShared,
            Flush::ClflushOpt => CleanKind::Invalidate,
            Flush::Clflush => {
                let tag = |serial| SYNC_FLUSH << 40 | u64::from(serial) << 8 | u64::from(hw_thread.0);
                return match h.sync.ask(cx, hw_thread, line, tag) {
                    Asked::Complete => Gate::Go,
                    Asked::SentOut | Asked::UnderWay => self.waiting.wait(hw_thread, Cause::FlushPending),
                };
            }
        };
        h.flushes += 1;
        cx.clean(hw_thread, line, kind, FLUSH << 40 | u64::from(hw_thread.0));
        Gate::Go
    }
    /// A fence or locked instruction waits until all of it has been accepted.
    pub(super) fn fence(&mut self, hw_thread: HwThread) -> Gate {
        let h = &self.hw_threads[hw_thread.index()];
        if h.flushes > 0 {
            return self.waiting.wait(hw_thread, Cause::FlushPending);
        }
        match h.nt_stores {
            0 => Gate::Go,
            _ => self.waiting.wait(hw_thread, Cause::WcbPending),
        }
    }
    /// A non-temporal store goes to the controller.
    pub(super) fn nt_store(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, data: &LineData) -> Gate {
        let write = Write {
            line,
            data: *data,
            queue: 0,
            epoch: None,
            cause: WriteCause::NonTemporal,
            hw_thread: Some(hw_thread),
            delay: Ps::ZERO,
        };
        match cx.write(write) {
            Ok(_) => {
                self.hw_threads[hw_thread.index()].nt_stores += 1;
                Gate::Go
            }
            Err(cause) => {
                self.refused |= 1 << hw_thread.0;
                self.waiting.wait(hw_thread, cause)
            }
        }
    }
    /// A queue of the controller takes writes again: who was refused asks again.
    pub(super) fn queue_freed(&mut self, cx: &mut dyn Cx) {
        let mut refused = std::mem::take(&mut self.refused);
        while refused != 0 {
            self.waiting.wake(cx, HwThread(refused.trailing_zeros() as u8));
            refused &= refused - 1;
        }
    }
    /// A flush reached the controller, or found nothing dirty.
    pub(super) fn cleaned(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, tag: u64) {
        let h = &mut self.hw_threads[hw_thread.index()];
        match tag >> 40 {
            FLUSH => h.flushes -= 1,
            _ => h.sync.finished((tag >> 8) as u32),
        }
        if tag >> 40 != FLUSH || h.flushes == 0 {
            self.waiting.wake(cx, hw_thread);
        }
    }
    /// The controller accepted a write.
    pub(super) fn accepted(&mut self, cx: &mut dyn Cx, write: &Write) {
        if let (Some(hw_thread), WriteCause::NonTemporal) = (write.hw_thread, write.cause) {
            self.hw_threads[hw_thread.index()].nt_stores -= 1;
            self.waiting.wake(cx, hw_thread);
        }
    }
    /// Whether nothing is under way.
    pub(super) fn idle(&self) -> bool {
        self.hw_threads.iter().all(|h| h.flushes == 0 && h.nt_stores == 0)
    }
}
