//! Writes of the caches' own on their way to memory: those that their queue has no entry for wait.

use super::bench::Bench;
use fencepost_kernel::{HwThread, LineAddr, LineData, Ps, WriteCause};
use fencepost_machine::seam::{Cx as _, Design, Write};

/// A write that has not entered its queue.
struct Waiting {
    write: Write,
    /// Cleans to report when it has.
    notify: Vec<(HwThread, u64)>,
}

/// What waits, oldest first.
#[derive(Default)]
pub(super) struct Outgoing {
    waiting: Vec<Waiting>,
}

impl Outgoing {
    /// The line as it is leaves for memory.
    pub(super) fn send<D: Design>(
        &mut self,
        bench: &mut Bench<D>,
        line: LineAddr,
        cause: WriteCause,
        notify: Vec<(HwThread, u64)>,
    ) {
        let data = bench.cx.coherent(line);
        if !line.is_persistent() {
            return tell(bench, &notify, Some(&data));
        }
        let write = Write {
            line,
            data,
            queue: 0,
            epoch: None,
            cause,
            hw_thread: notify.first().map(|n| n.0),
            delay: Ps::ZERO,
        };
        self.waiting.push(Waiting { write, notify });
        self.advance(bench);
    }
    /// A clean that found no dirty copy completes with the write that is on its way, or at once.
    pub(super) fn join<D: Design>(&mut self, bench: &mut Bench<D>, line: LineAddr, notify: Vec<(HwThread, u64)>) {
        match self.waiting.iter_mut().rfind(|w| w.write.line == line) {
            Some(w) => w.notify.extend(notify),
            None => tell(bench, &notify, None),
        }
    }
    /// Admits what can be admitted, oldest first, writes to one line in order; true if any was.
    pub(super) fn advance<D: Design>(&mut self, bench: &mut Bench<D>) -> bool {
        let (mut i, mut any) = (0, false);
        while i < self.waiting.len() {
            let line = self.waiting[i].write.line;
            let behind = self.waiting[..i].iter().any(|w| w.write.line == line);
            if behind || bench.cx.enqueue(self.waiting[i].write).is_err() {
                i += 1;
                continue;
            }
            let out = self.waiting.remove(i);
            self.note_lines(bench);
            bench.arrive_all_of(line);
            tell(bench, &out.notify, Some(&out.write.data));
            any = true;
        }
        self.note_lines(bench);
        any
    }
    fn note_lines<D: Design>(&self, bench: &mut Bench<D>) {
        bench.cx.outgoing_lines = self.waiting.iter().map(|w| w.write.line).collect();
    }
    /// The newest bytes of a line that wait.
    pub(super) fn newest(&self, line: LineAddr) -> Option<LineData> {
        self.waiting
            .iter()
            .rfind(|w| w.write.line == line)
            .map(|w| w.write.data)
    }
    /// Whether nothing waits.
    pub(super) fn idle(&self) -> bool {
        self.waiting.is_empty()
    }
}

/// Reports finished cleans.
pub(super) fn tell<D: Design>(bench: &mut Bench<D>, notify: &[(HwThread, u64)], found: Option<&LineData>) {
    for (hw_thread, tag) in notify {
        bench.design.cleaned(&mut bench.cx, *hw_thread, *tag, found);
    }
}
