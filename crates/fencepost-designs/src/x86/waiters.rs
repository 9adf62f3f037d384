//! Who waits for entries of the write-combining buffers, and hears of it when they are sent or acknowledged: nobody else is asked.

use fencepost_kernel::{CoreId, HwThread, LineAddr, LineTable};
use fencepost_machine::seam::{Cause, Cx, Gate};

/// Hardware threads, lines and requests that wait. Fences, and stores without an entry, are known to their core.
#[derive(Clone, Debug)]
pub(super) struct Waiters {
    /// Hardware threads that wait for entries to be sent, and to be acknowledged: a bit each.
    sent: u64,
    acks: u64,
    /// Cores in whose caches a line waits for its core's entries: a bit each.
    lines: u64,
    /// A line waits for entries of several cores, or a request for one.
    requests: bool,
    /// Whether lines wait for entries of their own core only.
    pub(super) own_lines: bool,
}
impl Waiters {
    /// Nobody waits.
    pub(super) fn new() -> Waiters {
        Waiters {
            sent: 0,
            acks: 0,
            lines: 0,
            requests: false,
            own_lines: true,
        }
    }
    /// A hardware thread waits until some core's entries are sent.
    pub(super) fn until_sent(&mut self, hw_thread: HwThread, cause: Cause) -> Gate {
        self.sent |= 1 << hw_thread.0;
        Gate::Wait(cause)
    }
    /// A hardware thread waits until some core's entries are acknowledged.
    pub(super) fn until_acked(&mut self, hw_thread: HwThread, cause: Cause) -> Gate {
        self.acks |= 1 << hw_thread.0;
        Gate::Wait(cause)
    }
    /// A line in the caches of this core waits for its entries; `None`: for those of several, or a request does.
    pub(super) fn held(&mut self, until: Option<CoreId>, cause: Cause) -> Gate {
        match until {
            Some(core) => self.lines |= 1 << core.0,
            None => self.requests = true,
        }
        Gate::Wait(cause)
    }
    /// Entries of a core were sent.
    pub(super) fn wake_sent(&mut self, cx: &mut dyn Cx, core: CoreId) {
        kick_all(cx, &mut self.sent);
        self.release(cx, core);
    }
    /// Entries of a core were acknowledged.
    pub(super) fn wake_acked(&mut self, cx: &mut dyn Cx, core: CoreId) {
        kick_all(cx, &mut self.acks);
        self.release(cx, core);
    }
    fn release(&mut self, cx: &mut dyn Cx, core: CoreId) {
        let here = self.lines >> core.0 & 1 == 1;
        if std::mem::take(&mut self.requests) || here {
            self.lines &= !(1 << core.0);
            cx.release(self.own_lines.then_some(core));
        }
    }
}
/// Asks these hardware threads again.
pub(super) fn kick_all(cx: &mut dyn Cx, waiting: &mut u64) {
    let mut left = std::mem::take(waiting);
    while left != 0 {
        cx.kick(Some(HwThread(left.trailing_zeros() as u8)));
        left &= left - 1;
    }
}

/// Lines of entries that are not sent: how many there are, and their core (a line is in one buffer at a time until it is sent).
#[derive(Clone, Debug, Default)]
pub(super) struct Unsent(LineTable<(u32, u8)>);
impl Unsent {
    /// The core that has an entry for the line.
    #[inline]
    pub(super) fn core(&self, line: LineAddr) -> Option<CoreId> {
        match self.0.get(line) {
            (0, _) => None,
            (_, core) => Some(CoreId(core)),
        }
    }
    /// One more entry.
    pub(super) fn add(&mut self, core: CoreId, line: LineAddr) {
        let held = self.0.entry(line);
        debug_assert!(held.0 == 0 || held.1 == core.0, "a line is in one buffer at a time");
        *held = (held.0 + 1, core.0);
    }
    /// An entry was sent.
    pub(super) fn remove(&mut self, line: LineAddr) {
        let held = self.0.entry(line);
        held.0 = held.0.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_unsent_until_each_of_its_entries_is_sent() {
        let (mut unsent, line) = (Unsent::default(), LineAddr(5));
        unsent.add(CoreId(2), line);
        unsent.add(CoreId(2), line);
        unsent.remove(line);
        assert_eq!(unsent.core(line), Some(CoreId(2)), "one is left");
        unsent.remove(line);
        assert_eq!(unsent.core(line), None);
        unsent.add(CoreId(1), line);
        assert_eq!((unsent.core(line), unsent.core(LineAddr(6))), (Some(CoreId(1)), None));
    }
}
