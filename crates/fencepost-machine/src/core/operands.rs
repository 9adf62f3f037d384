//! Operands and results: an entry of the window goes on when what it depends on is there, a load when no fence is before it.

use super::entry::Progress;
use super::outside::Outside;
use super::state::HardwareThread;
use super::stores::stores_pass_loads;
use fencepost_kernel::planted;

/// An entry of the window: its position and number, when it was dispatched, and the operation that it depends on.
#[derive(Copy, Clone)]
pub(super) struct Entered {
    pub at: usize,
    pub id: u32,
    pub since: u64,
    pub dep: u32,
}

impl HardwareThread {
    /// From which cycle on the operand of an entry is there. `None` if that is not known, and the entry waits for it.
    #[inline(always)] // into dispatch, which has what it needs at hand
    pub(super) fn operand(&mut self, Entered { at, since, dep, .. }: Entered) -> Option<u64> {
        let Some(producer) = self.producer(dep) else {
            return Some(since);
        };
        let p = &self.window[producer];
        if p.done() {
            return Some(since.max(p.result));
        }
        self.wait_for(producer, at);
        None
    }
    /// The operand of an entry is there from cycle `start` on: issue it.
    #[inline(always)] // into those who find what goes on
    fn go_on(&mut self, out: &mut impl Outside, at: usize, start: u64) {
        let e = &mut self.window[at];
        if e.op.kind.is_store() {
            self.complete(out, at, start + 1);
            if stores_pass_loads() {
                self.wake_stores(out, out.now());
            }
            return;
        }
        e.progress = Progress::Issued;
        let id = e.id;
        self.issue_load(out, at, id, start);
    }
    /// A load whose address is known in cycle `start` goes to the L1, or waits for a fence.
    #[inline(always)] // into dispatch
    pub(super) fn issue_load(&mut self, out: &mut impl Outside, at: usize, id: u32, start: u64) {
        match self.behind_fence(at, id) {
            true => {
                self.window[at].progress = Progress::Fence;
                self.fenced += 1;
            }
            false => self.load_at(out, at, start),
        }
    }

    /// The entry at `at` waits for the result of the one at `producer`. Entries come to wait in program order.
    #[inline(never)]
    pub(super) fn wait_for(&mut self, producer: usize, at: usize) {
        // Those who wait form a ring: the producer knows the youngest, and behind that comes the oldest.
        let this = (at - producer) as u32;
        let oldest = match std::mem::replace(&mut self.window[producer].awaited_by, this) {
            0 => this,
            last => std::mem::replace(&mut self.window[producer + last as usize].next_waiting, this),
        };
        let e = &mut self.window[at];
        (e.progress, e.next_waiting) = (Progress::Operand, oldest);
    }

    /// The entry is done: its result is (or will be) available in cycle `ready`.
    #[inline]
    pub(super) fn known(&mut self, at: usize, ready: u64) {
        let e = &mut self.window[at];
        e.result = ready;
        e.progress = Progress::Done;
        self.latest_result = self.latest_result.max(ready);
    }
    /// The result of an entry is (or will be) available in cycle `ready`.
    pub(crate) fn complete(&mut self, out: &mut impl Outside, at: usize, ready: u64) {
        self.known(at, ready);
        if self.window[at].op.kind.is_full_fence() {
            self.open_fences -= 1;
            self.leave_fence(out, at);
        }
        self.completed(out, at);
    }
    /// The result of an entry has become known: those go on that wait for it, and it commits if it is the oldest.
    #[inline(always)]
    pub(super) fn completed(&mut self, out: &mut impl Outside, at: usize) {
        let awaited_by = self.window[at].awaited_by;
        if awaited_by != 0 {
            self.wake_dependents(out, at, awaited_by as usize);
        }
        if at == self.committed {
            self.commit(out);
        }
    }

    /// The full fence at `at` completed: loads up to the next one go on.
    #[inline(never)]
    fn leave_fence(&mut self, out: &mut impl Outside, at: usize) {
        if self.fenced == 0 {
            return;
        }
        for i in at + 1..self.window.end() {
            let e = &self.window[i];
            if e.op.kind.is_full_fence() && !e.done() {
                break;
            }
            if e.progress == Progress::Fence {
                self.leave(out, i);
            }
        }
    }

    /// A full fence left the store queue: loads behind no other one go on.
    pub(crate) fn leave_queued_fence(&mut self, out: &mut impl Outside) {
        if self.fenced == 0 {
            return;
        }
        for i in self.window.first()..self.window.end() {
            if self.window[i].progress == Progress::Fence {
                self.leave(out, i);
            }
        }
    }

    /// A load behind a fence that is gone goes on.
    #[inline(never)] // few do
    fn leave(&mut self, out: &mut impl Outside, at: usize) {
        self.fenced -= 1;
        let e = &self.window[at];
        let (id, since, dep) = (e.id, e.since, e.op.dep);
        if let Some(start) = self.operand(Entered { at, id, since, dep }) {
            self.go_on(out, at, start);
        }
    }

    /// A result is known: the operations that wait for it go on, oldest first up to the youngest.
    #[inline(never)] // calls itself
    fn wake_dependents(&mut self, out: &mut impl Outside, producer: usize, youngest: usize) {
        let mut last = youngest;
        loop {
            let next = self.window[producer + last].next_waiting as usize;
            let at = producer + next;
            let start = self.window[producer].result.max(self.window[at].since);
            self.go_on(out, at, start);
            if next == youngest {
                return;
            }
            last = next;
        }
    }

    /// Whether a full fence older than the entry has not completed.
    #[inline(always)]
    fn behind_fence(&self, at: usize, id: u32) -> bool {
        (self.open_fences > 0 || self.stores.has_fence()) && self.waits_for_fence(at, id)
    }
    /// The same, where a fence is under way.
    #[inline(never)]
    fn waits_for_fence(&self, at: usize, id: u32) -> bool {
        let passes = planted!("core.load-passes-fence", "a load waits for an older full fence");
        if passes {
            return false;
        }
        // Behind the youngest entry there is none that could be younger than it.
        (self.open_fences > 0
            && (at + 1 == self.window.end()
                || (self.window.first()..at).any(|i| self.window[i].op.kind.is_full_fence() && !self.window[i].done())))
            || self.stores.full_fence_before(id)
    }
}
