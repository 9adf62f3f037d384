//! Synchronous flushes (`clflush`) of one hardware thread, between their first question and their answer.
//!
//! On cores that do not keep program order several are under way at a time, and each must be answered by its own flush: one that
//! took another's completion would leave its line unflushed.

use fencepost_kernel::{HwThread, LineAddr, LineData};
use fencepost_machine::seam::{CleanKind, Cx};

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct SyncFlush {
    line: LineAddr,
    serial: u32,
    /// The line when the flush set out. A line that has changed since is flushed again: the flush acts when it completes.
    words: [u64; 8],
    done: bool,
}

/// The synchronous flushes of one hardware thread. The machine asks for one flush of a line at a time: same-line order holds in every
/// store queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct SyncFlushes {
    under_way: Vec<SyncFlush>,
    next: u32,
}

impl SyncFlushes {
    /// The hardware thread asks for a flush of the line: it is complete, or under way. If none was, one is sent out now as
    /// `tag(serial)`; [`SyncFlushes::finished`] takes that serial number.
    pub(crate) fn ask(
        &mut self,
        cx: &mut dyn Cx,
        hw_thread: HwThread,
        line: LineAddr,
        tag: impl FnOnce(u32) -> u64,
    ) -> Asked {
        let known = self.under_way.iter().position(|f| f.line == line);
        if known.is_some_and(|i| !self.under_way[i].done) {
            return Asked::UnderWay;
        }
        let words = cx.coherent(line).words;
        match known {
            Some(i) if self.under_way.swap_remove(i).words == words => return Asked::Complete,
            _ => {}
        }
        let serial = self.next;
        self.next = serial.wrapping_add(1);
        self.under_way.push(SyncFlush {
            line,
            serial,
            words,
            done: false,
        });
        cx.clean(hw_thread, line, CleanKind::Invalidate, tag(serial));
        Asked::SentOut
    }
    /// Whether a flush of the line is complete and waits to be asked for again.
    pub(crate) fn is_complete(&self, line: LineAddr, now: &LineData) -> bool {
        self.under_way
            .iter()
            .any(|f| f.line == line && f.done && f.words == now.words)
    }
    /// The flush with this number reached memory, or found nothing dirty.
    pub(crate) fn finished(&mut self, serial: u32) {
        if let Some(f) = self.under_way.iter_mut().find(|f| f.serial == serial) {
            f.done = true;
        }
    }
}

/// Answer to a question for a synchronous flush.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// It is complete.
    Complete,
    /// It was sent out now.
    SentOut,
    /// It had been sent out before.
    UnderWay,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{MockCx, pm_line};

    /// Two flushes under way, the younger of which is answered first; its line changes before it is asked for again.
    #[test]
    fn each_flush_takes_its_own_answer() {
        let (mut cx, mut flushes) = (MockCx::new(1, 1, 1, 8), SyncFlushes::default());
        let ask =
            |flushes: &mut SyncFlushes, cx: &mut MockCx, n: u64| flushes.ask(cx, HwThread(0), pm_line(n), u64::from);
        let now = |cx: &MockCx, n: u64| cx.coherent(pm_line(n));
        let complete =
            |flushes: &SyncFlushes, cx: &MockCx| [1, 2, 3].map(|n| flushes.is_complete(pm_line(n), &now(cx, n)));
        assert_eq!([1, 2].map(|n| ask(&mut flushes, &mut cx, n)), [Asked::SentOut; 2]);
        assert_eq!(complete(&flushes, &cx), [false; 3]);
        flushes.finished(1);
        // All three lines hold the same bytes.
        assert_eq!(complete(&flushes, &cx), [false, true, false]);
        assert_eq!(ask(&mut flushes, &mut cx, 1), Asked::UnderWay);
        flushes.finished(0);
        assert_eq!(complete(&flushes, &cx), [true, true, false]);
        cx.lines.entry(pm_line(2)).or_default().words[3] = 5;
        assert_eq!(complete(&flushes, &cx), [true, false, false]);
        assert_eq!(
            [1, 2].map(|n| ask(&mut flushes, &mut cx, n)),
            [Asked::Complete, Asked::SentOut]
        );
        flushes.finished(2);
        assert_eq!(ask(&mut flushes, &mut cx, 2), Asked::Complete);
        assert_eq!(cx.cleans.iter().map(|c| c.tag).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
