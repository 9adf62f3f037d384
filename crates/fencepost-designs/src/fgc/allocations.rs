//! What the operating system knows of bound memory: the other side of `PersistenceMalloc` and `PersistenceRelease`.

use fencepost_kernel::{QueueId, Span};
use fencepost_machine::memory::LineRange;

/// Bound memory.
#[derive(Clone, Debug)]
struct Allocation {
    span: Span,
    queue: u8,
    /// How often it was bound.
    times: u32,
}

/// Every bound range, and how many registers each queue has left.
#[derive(Clone, Debug)]
pub(super) struct Allocations {
    all: Vec<Allocation>,
    queues: u8,
    registers: u8,
}

impl Allocations {
    /// Nothing is bound; `queues` sub-queues of `registers` registers.
    pub fn new(queues: u8, registers: u8) -> Allocations {
        Allocations {
            all: Vec::new(),
            queues,
            registers,
        }
    }
    fn find(&mut self, span: Span) -> Option<&mut Allocation> {
        self.all.iter_mut().find(|a| a.span == span)
    }
    /// Binds a range once more, if it is bound.
    pub fn again(&mut self, span: Span) -> Option<QueueId> {
        self.find(span).map(|a| {
            a.times += 1;
            QueueId(a.queue)
        })
    }
    /// The queue for a new range: of those with a free register the one with the fewest ranges, the lowest of several. `None`
    /// if no register is free, or the range is empty or shares a line with another one.
    pub fn choose(&self, span: Span) -> Option<u8> {
        let range = LineRange::touched(span);
        let shares = |a: &Allocation| LineRange::touched(a.span).meets(&range);
        if span.len == 0 || self.all.iter().any(shares) {
            return None;
        }
        let used = |queue: u8| self.all.iter().filter(|a| a.queue == queue).count();
        let free = (1..=self.queues).filter(|q| used(*q) < usize::from(self.registers));
        free.min_by_key(|q| used(*q))
    }
    /// A range was bound.
    pub fn add(&mut self, span: Span, queue: u8) {
        self.all.push(Allocation { span, queue, times: 1 });
    }
    /// The queue of a range that is bound once: its register is to be cleared with the next release.
    pub fn last(&self, span: Span) -> Option<u8> {
        self.all
            .iter()
            .find(|a| a.span == span && a.times == 1)
            .map(|a| a.queue)
    }
    /// Undoes one binding; whether it was the last.
    pub fn release(&mut self, span: Span) -> bool {
        if let Some(a) = self.find(span) {
            a.times -= 1;
        }
        let before = self.all.len();
        self.all.retain(|a| a.times > 0);
        self.all.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::Addr;

    fn span(at: u64, len: u64) -> Span {
        Span { at: Addr::pm(at), len }
    }

    #[test]
    fn the_least_used_queue_takes_a_new_range_until_registers_run_out() {
        let mut a = Allocations::new(2, 2);
        let mut taken = Vec::new();
        for i in 0..5 {
            let at = span(i * 128, 64);
            let queue = a.choose(at);
            taken.push(queue);
            if let Some(queue) = queue {
                a.add(at, queue);
            }
        }
        assert_eq!(taken, [Some(1), Some(2), Some(1), Some(2), None]);
        assert_eq!((a.last(span(128, 64)), a.release(span(128, 64))), (Some(2), true));
        assert_eq!(a.choose(span(1024, 64)), Some(2));
    }
    #[test]
    fn a_range_is_bound_as_often_as_it_was_asked_for() {
        let mut a = Allocations::new(1, 4);
        assert_eq!((a.again(span(0, 64)), a.release(span(0, 64))), (None, false));
        a.add(span(0, 64), 1);
        assert_eq!((a.again(span(0, 64)), a.last(span(0, 64))), (Some(QueueId(1)), None));
        assert_eq!([0; 2].map(|_| a.release(span(0, 64))), [false, true]);
    }
    #[test]
    fn ranges_that_share_a_line_are_refused() {
        let mut a = Allocations::new(4, 4);
        a.add(span(100, 40), 1); // lines 1 and 2
        assert_eq!((a.choose(span(0, 64)), a.choose(span(192, 8))), (Some(2), Some(2)));
        let refused = [span(60, 8), span(64, 8), span(191, 2), span(0, 640), span(256, 0)];
        assert_eq!(refused.map(|s| a.choose(s)), [None; 5]);
    }
}
