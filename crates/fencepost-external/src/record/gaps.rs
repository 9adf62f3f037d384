//! Operations of a program that nobody marks: they end where a thread leaves the persistent files alone for a while.

use crate::recording::Noted;
use std::collections::BTreeMap;

/// Finds where operations end.
pub(super) struct Gaps {
    /// Instructions without anything done to the files.
    gap: u64,
    threads: BTreeMap<u32, Thread>,
}
#[derive(Default)]
struct Thread {
    /// The operation that it is in.
    operation: u32,
    /// Instructions since it did something to the files.
    since: u64,
}

impl Gaps {
    pub(super) fn new(gap: u64) -> Gaps {
        let threads = BTreeMap::new();
        Gaps { gap, threads }
    }
    /// What the log says before an event.
    pub(super) fn before(&mut self, event: &Noted) -> Vec<String> {
        let changes = event.what.contains(" f") && !event.what.starts_with("load ");
        let reaches = changes || event.what.ends_with("fence");
        let known = self.threads.get_mut(&event.thread);
        match (known, reaches) {
            (None, false) => Vec::new(),
            (None, true) => {
                self.threads.insert(event.thread, Thread::default());
                vec!["begin 0".into()]
            }
            (Some(thread), _) => {
                thread.since += event.work;
                let is_over = reaches && thread.since >= self.gap;
                if reaches {
                    thread.since = 0;
                }
                if !is_over {
                    return Vec::new();
                }
                let ended = thread.operation;
                thread.operation += 1;
                vec![
                    format!("end {ended}"),
                    format!("ack {ended}"),
                    format!("begin {}", ended + 1),
                ]
            }
        }
    }
    /// What it says at its end: threads, and what they do last.
    pub(super) fn at_end(self) -> Vec<(u32, String)> {
        let threads = self.threads.into_iter();
        let last = |(t, thread): (u32, Thread)| {
            let k = thread.operation;
            [(t, format!("end {k}")), (t, format!("ack {k}"))]
        };
        threads.flat_map(last).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_ends_where_the_files_are_left_alone() {
        let event = |thread: u32, work: u64, what: &str| Noted {
            number: 0,
            late: false,
            thread,
            work,
            what: what.into(),
            process: 0,
            place: String::new(),
        };
        let mut gaps = Gaps::new(100);
        let mut said = |thread, work, what| gaps.before(&event(thread, work, what)).join("; ");
        assert_eq!(said(0, 500, "store 0x40 0x1"), "");
        assert_eq!(said(0, 500, "store f0+0x40 0x1"), "begin 0");
        assert_eq!(said(0, 99, "sfence"), "");
        // What it does elsewhere is a part of the gap.
        assert_eq!(said(0, 30, "rmw 0x80 0x1"), "");
        assert_eq!(said(0, 30, "load f0+0x40"), "");
        assert_eq!(said(1, 60, "clwb f0+0x40"), "begin 0");
        assert_eq!(said(0, 40, "store f0+0x80 0x1"), "end 0; ack 0; begin 1");
        assert_eq!(said(0, 40, "sync f0+0x0 4096"), "");
        let end = gaps.at_end();
        let wanted = [(0, "end 1"), (0, "ack 1"), (1, "end 0"), (1, "ack 0")];
        assert_eq!(end, wanted.map(|(t, w)| (t, w.to_owned())));
    }
}
