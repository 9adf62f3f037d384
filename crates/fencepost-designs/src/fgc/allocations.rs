//! What the operating system knows of bound memory: the other side of `PersistenceMalloc` and `PersistenceRelease`.

use fencepost_kernel::{HwThread, QueueId, Span};
use fencepost_machine::memory::LineRange;

/// Bound memory.
#[derive(Clone, Debug)]
struct Allocation {
    span: Span,
    queue: u8,
    /// Who bound it first.
    hw_thread: HwThread,
    /// How often it was bound.
    times: u32,
}

/// Every bound range, and how many registers each queue has left.
#[derive(Clone, Debug)]
pub(super) struct Allocations {
    all: Vec<Allocation>,
    queues: u8,
    registers: u8,
    /// Writes that each queue has taken, by hardware thread; the last is what left the caches on nobody's account.
    traffic: Vec<Vec<u64>>,
}

impl Allocations {
    /// Nothing is bound; `queues` sub-queues of `registers` registers.
    pub(super) fn new(queues: u8, registers: u8, hw_threads: u8) -> Allocations {
        Allocations {
            all: Vec::new(),
            traffic: vec![vec![0; usize::from(hw_threads) + 1]; usize::from(queues) + 1],
            queues,
            registers,
        }
    }
    fn find(&mut self, span: Span) -> Option<&mut Allocation> {
        self.all.iter_mut().find(|a| a.span == span)
    }
    /// Binds a range once more, if it is bound.
    pub(super) fn again(&mut self, span: Span) -> Option<QueueId> {
        self.find(span).map(|a| {
            a.times += 1;
            QueueId(a.queue)
        })
    }
    /// A queue took a write.
    pub(super) fn wrote(&mut self, queue: u8, hw_thread: Option<HwThread>) {
        let of_queue = &mut self.traffic[usize::from(queue)];
        let nobody = of_queue.len() - 1;
        of_queue[hw_thread.map_or(nobody, HwThread::index)] += 1;
    }
    /// The queue for a new range of `hw_thread`: of those with a free register the one that others use least, so that threads use
    /// different queues. Use is what they write; before they have written anything, the ranges that they have bound. Of several the one
    /// with the fewest ranges of its own, then the lowest. `None` if no register is free, or the range is empty or shares a
    /// line with another one.
    pub(super) fn choose(&self, span: Span, hw_thread: HwThread) -> Option<u8> {
        let range = LineRange::touched(span);
        let shares = |a: &Allocation| LineRange::touched(a.span).meets(&range);
        if span.len == 0 || self.all.iter().any(shares) {
            return None;
        }
        let free = |q: &u8| self.bound(*q).count() < usize::from(self.registers);
        (1..=self.queues)
            .filter(free)
            .min_by_key(|q| self.utilisation(*q, hw_thread))
    }
    fn bound(&self, queue: u8) -> impl Iterator<Item = &Allocation> {
        self.all.iter().filter(move |a| a.queue == queue)
    }
    /// Writes of others to a queue, ranges of others, ranges of the thread's own.
    fn utilisation(&self, queue: u8, hw_thread: HwThread) -> (u64, usize, usize) {
        let traffic = (self.traffic[usize::from(queue)].iter().enumerate()).filter(|(h, _)| *h != hw_thread.index());
        let others = self.bound(queue).filter(|a| a.hw_thread != hw_thread).count();
        let own = self.bound(queue).count() - others;
        (traffic.map(|(_, n)| n).sum(), others, own)
    }
    /// A range was bound.
    pub(super) fn add(&mut self, span: Span, queue: u8, hw_thread: HwThread) {
        let times = 1;
        self.all.push(Allocation {
            span,
            queue,
            hw_thread,
            times,
        });
    }
    /// The queue of a range that is bound once: its register is to be cleared with the next release.
    pub(super) fn last(&self, span: Span) -> Option<u8> {
        self.all
            .iter()
            .find(|a| a.span == span && a.times == 1)
            .map(|a| a.queue)
    }
    /// What is wrong with the ranges, if anything is.
    pub(super) fn unsound(&self) -> Option<String> {
        let range = |a: &Allocation| LineRange::touched(a.span);
        let meets = |(i, a): (usize, &Allocation)| self.all[..i].iter().any(|b| range(b).meets(&range(a)));
        let overfull = (1..=self.queues).find(|q| self.bound(*q).count() > usize::from(self.registers));
        match overfull {
            Some(queue) => Some(format!("queue {queue} has more ranges than registers")),
            None if self.all.iter().enumerate().any(meets) => Some("two ranges share a line".to_owned()),
            None => self
                .all
                .iter()
                .any(|a| a.times == 0)
                .then(|| "a range that nobody bound".to_owned()),
        }
    }
    /// Undoes one binding; whether it was the last.
    pub(super) fn release(&mut self, span: Span) -> bool {
        if let Some(a) = self.find(span) {
            a.times -= 1;
        }
        let Some(at) = self.all.iter().position(|a| a.times == 0) else {
            return false;
        };
        let queue = self.all.remove(at).queue;
        if self.bound(queue).next().is_none() {
            self.traffic[usize::from(queue)].fill(0);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::Addr;

    fn span(at: u64, len: u64) -> Span {
        Span { at: Addr::pm(at), len }
    }

    const H: [HwThread; 3] = [HwThread(0), HwThread(1), HwThread(2)];

    /// Binds ranges of 64 bytes at `from` and so on, one by one; the queues that took them.
    fn bind(a: &mut Allocations, from: u64, hw_threads: &[HwThread]) -> Vec<Option<u8>> {
        let mut taken = Vec::new();
        for (i, hw_thread) in (0..).zip(hw_threads) {
            let at = span(from + i * 128, 64);
            let queue = a.choose(at, *hw_thread);
            taken.push(queue);
            if let Some(queue) = queue {
                a.add(at, queue, *hw_thread);
            }
        }
        taken
    }

    #[test]
    fn threads_use_different_queues_until_registers_run_out() {
        let mut a = Allocations::new(3, 2, 3);
        let taken = bind(&mut a, 0, &[H[0], H[1], H[2], H[0], H[1], H[1], H[1]]);
        // The third range of thread 1 finds its own queue full, and of the others' only one with a free register.
        let expected = [Some(1), Some(2), Some(3), Some(1), Some(2), Some(3), None];
        assert_eq!(taken, expected);
        assert_eq!((a.last(span(128, 64)), a.release(span(128, 64))), (Some(2), true));
        assert_eq!(a.choose(span(4096, 64), H[2]), Some(2));
        let mut alone = Allocations::new(2, 2, 3);
        assert_eq!(bind(&mut alone, 0, &[H[1]; 3]), [Some(1), Some(2), Some(1)]);
    }
    /// What counts is what others write, not how many ranges they have.
    #[test]
    fn the_queue_with_the_least_traffic_of_others_takes_a_range() {
        let mut a = Allocations::new(3, 4, 3);
        bind(&mut a, 0, &[H[0], H[1], H[0]]);
        for (queue, writes) in [(1, 2), (2, 9), (3, 3)] {
            (0..writes).for_each(|_| a.wrote(queue, Some(H[0])));
        }
        assert_eq!(a.choose(span(4096, 64), H[2]), Some(1));
        assert_eq!(a.choose(span(4096, 64), H[0]), Some(1), "its own writes do not count");
        (0..5).for_each(|_| a.wrote(1, None));
        assert_eq!(a.choose(span(4096, 64), H[2]), Some(3));
        // A queue that loses one of its ranges is used as before.
        a.add(span(8192, 64), 1, H[0]);
        assert!(a.release(span(8192, 64)));
        assert_eq!(a.choose(span(4096, 64), H[2]), Some(3));
        // A queue that nothing is bound to has no use.
        assert!(a.release(span(128, 64)));
        assert_eq!(a.choose(span(4096, 64), H[2]), Some(2));
    }
    #[test]
    fn a_range_is_bound_as_often_as_it_was_asked_for() {
        let mut a = Allocations::new(1, 4, 1);
        assert_eq!((a.again(span(0, 64)), a.release(span(0, 64))), (None, false));
        a.add(span(0, 64), 1, H[0]);
        assert_eq!((a.again(span(0, 64)), a.last(span(0, 64))), (Some(QueueId(1)), None));
        assert_eq!([0; 2].map(|_| a.release(span(0, 64))), [false, true]);
    }
    #[test]
    fn ranges_that_share_a_line_are_refused() {
        let mut a = Allocations::new(4, 4, 2);
        a.add(span(100, 40), 1, H[0]); // lines 1 and 2
        let chosen = |at, len| a.choose(span(at, len), H[1]);
        assert_eq!((chosen(0, 64), chosen(192, 8)), (Some(2), Some(2)));
        let refused = [(60, 8), (64, 8), (191, 2), (0, 640), (256, 0)];
        assert_eq!(refused.map(|(at, len)| chosen(at, len)), [None; 5]);
    }
    #[test]
    fn ranges_are_those_that_registers_hold() {
        let mut a = Allocations::new(2, 2, 2);
        bind(&mut a, 0, &[H[0], H[1], H[0]]);
        assert_eq!(a.unsound(), None);
        let mut twice = a.clone();
        twice.add(span(32, 8), 2, H[1]);
        assert_eq!(twice.unsound().as_deref(), Some("two ranges share a line"));
        (0..2).for_each(|i| a.add(span(4096 + i * 64, 64), 1, H[0]));
        assert_eq!(a.unsound().as_deref(), Some("queue 1 has more ranges than registers"));
    }
}
