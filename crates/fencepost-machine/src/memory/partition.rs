//! Address-range registers: which write queue takes a line, where a controller has several.

use fencepost_kernel::{LineAddr, Span, planted};

/// Every register of the queue holds a range.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct NoFreeRegister;

/// The lines from `first` on, `count` of them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LineRange {
    /// First line.
    pub first: LineAddr,
    /// Number of lines.
    pub count: u64,
}
impl LineRange {
    /// The lines that a range of bytes touches.
    pub fn touched(span: Span) -> LineRange {
        let (first, count) = span.lines();
        LineRange { first, count }
    }
    /// Whether the line is one of them.
    pub fn holds(&self, line: LineAddr) -> bool {
        line.0.wrapping_sub(self.first.0) < self.count
    }
    /// Whether some line is in both.
    pub fn meets(&self, other: &LineRange) -> bool {
        self.first.0 < other.first.0 + other.count && other.first.0 < self.first.0 + self.count
    }
}

/// What a special write does to a register of a queue from 1 on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum RegisterWrite {
    /// Writes the range into a free register.
    Bind(u8, LineRange),
    /// Clears the register that holds exactly this range.
    Release(u8, LineRange),
}

/// The range registers of a controller's queues (four each in the per-task-committing paper, section IV-A). Queue 0
/// has none: it takes what no range holds. Where ranges overlap, the lowest queue takes the line.
#[derive(Clone, Debug)]
pub struct RangeRegisters {
    each: usize,
    /// Ranges of queue 1, 2 and so on, in the order in which they were written.
    queues: Vec<Vec<LineRange>>,
    /// All of them with their queues, the lowest queue first.
    all: Vec<(LineRange, u8)>,
}

impl RangeRegisters {
    /// Empty registers, `each` for every queue but queue 0.
    pub fn new(queues: u8, each: usize) -> RangeRegisters {
        RangeRegisters {
            each,
            queues: vec![Vec::with_capacity(each); usize::from(queues.saturating_sub(1))],
            all: Vec::new(),
        }
    }
    /// The queue of a line.
    pub fn route(&self, line: LineAddr) -> u8 {
        let last_missed =
            !self.all.is_empty() && planted!("ranges.last-line-missed", "a register holds every line of its range");
        let missed = |r: &LineRange| last_missed && line.0 == r.first.0 + r.count - 1;
        let holds = |r: &LineRange| r.holds(line) && !missed(r);
        self.all.iter().find(|(r, _)| holds(r)).map_or(0, |(_, queue)| *queue)
    }
    /// The registers changed.
    fn line_up(&mut self) {
        self.all.clear();
        for (ranges, queue) in self.queues.iter().zip(1..) {
            self.all.extend(ranges.iter().map(|r| (*r, queue)));
        }
    }
    /// Writes a range into a free register of a queue from 1 on.
    pub fn bind(&mut self, queue: u8, range: LineRange) -> Result<(), NoFreeRegister> {
        let registers = queue.checked_sub(1).and_then(|q| self.queues.get_mut(usize::from(q)));
        let registers = registers.filter(|r| r.len() < self.each).ok_or(NoFreeRegister)?;
        registers.push(range);
        self.line_up();
        Ok(())
    }
    /// Clears the register of a queue that holds exactly this range; false if none does.
    pub fn release(&mut self, queue: u8, range: LineRange) -> bool {
        let registers = queue.checked_sub(1).and_then(|q| self.queues.get_mut(usize::from(q)));
        let Some(registers) = registers else {
            return false;
        };
        let Some(i) = registers.iter().position(|r| *r == range) else {
            return false;
        };
        registers.remove(i);
        self.line_up();
        true
    }
    /// Does what a special write says; false where it cannot be done.
    pub fn write(&mut self, write: RegisterWrite) -> bool {
        match write {
            RegisterWrite::Bind(queue, range) => self.bind(queue, range).is_ok(),
            RegisterWrite::Release(queue, range) => self.release(queue, range),
        }
    }
    /// Registers of a queue in use.
    pub fn used(&self, queue: u8) -> usize {
        let registers = queue.checked_sub(1).and_then(|q| self.queues.get(usize::from(q)));
        registers.map_or(0, Vec::len)
    }
    /// The queue from 1 on with the fewest ranges and a free register, the lowest of several.
    pub fn least_used(&self) -> Option<u8> {
        let free = (0..self.queues.len()).filter(|q| self.queues[*q].len() < self.each);
        free.min_by_key(|q| self.queues[*q].len()).map(|q| q as u8 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::Addr;

    fn range(first: u64, count: u64) -> LineRange {
        let first = LineAddr(first);
        LineRange { first, count }
    }

    #[test]
    fn lines_go_where_their_range_says_and_the_rest_to_queue_zero() {
        let mut r = RangeRegisters::new(3, 2);
        assert_eq!((r.bind(1, range(10, 2)), r.bind(2, range(12, 1))), (Ok(()), Ok(())));
        let routes: Vec<_> = (9..14).map(|l| r.route(LineAddr(l))).collect();
        assert_eq!(routes, [0, 1, 1, 2, 0]);
        assert!(r.release(1, range(10, 2)) && !r.release(1, range(10, 2)));
        assert_eq!(r.route(LineAddr(10)), 0);
    }
    #[test]
    fn a_range_of_bytes_is_bound_with_every_line_that_it_touches() {
        let touched = |at, len| LineRange::touched(Span { at: Addr(at), len });
        assert_eq!(touched(60, 8), range(0, 2));
        assert!(touched(60, 8).meets(&touched(64, 1)) && !touched(0, 64).meets(&touched(64, 64)));
    }
    #[test]
    fn registers_run_out() {
        let mut r = RangeRegisters::new(2, 2);
        assert_eq!((r.bind(1, range(0, 1)), r.bind(1, range(9, 1))), (Ok(()), Ok(())));
        assert_eq!(
            (r.bind(1, range(20, 1)), r.route(LineAddr(20)), r.used(1)),
            (Err(NoFreeRegister), 0, 2)
        );
        assert_eq!(
            (r.bind(0, range(20, 1)), r.bind(2, range(20, 1))),
            (Err(NoFreeRegister), Err(NoFreeRegister))
        );
    }
    #[test]
    fn the_least_used_queue_is_the_lowest_with_fewest_ranges() {
        let mut r = RangeRegisters::new(3, 1);
        assert_eq!(r.least_used(), Some(1));
        r.bind(1, range(0, 1)).unwrap();
        assert_eq!(r.least_used(), Some(2));
        r.bind(2, range(1, 1)).unwrap();
        assert_eq!((r.least_used(), RangeRegisters::new(1, 4).least_used()), (None, None));
    }
    #[test]
    fn where_ranges_overlap_the_lowest_queue_wins() {
        let mut r = RangeRegisters::new(3, 1);
        r.bind(2, range(0, 8)).unwrap();
        r.bind(1, range(4, 8)).unwrap();
        assert_eq!((r.route(LineAddr(3)), r.route(LineAddr(4))), (2, 1));
    }
}
