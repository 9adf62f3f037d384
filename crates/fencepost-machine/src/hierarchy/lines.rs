//! What the bus knows of every line: who may hold it, and who waits for it.

use super::directory::Directory;
use fencepost_kernel::{CoreId, LineAddr};
use prefetch_index::prefetch_index;
use std::collections::VecDeque;

/// What waits behind a busy line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Behind {
    Miss(CoreId, u8),
    Clean(u32),
    /// A line from the network, of this port.
    Remote(u8),
}

/// Where the table has a line, for good: a request looks once.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry(u32);

/// No data of the line is under way.
const IDLE: u32 = 0;
/// Data is under way, and nobody waits behind it.
const BUSY: u32 = 1;
/// The same, and this or a larger number, less this one, is the index of the queue of who waits.
const QUEUE: u32 = 2;

#[derive(Copy, Clone, Debug, Default)]
struct Line {
    /// A bit for each core whose private caches may hold the line.
    holders: u64,
    /// [`IDLE`], [`BUSY`] or [`QUEUE`] and more.
    state: u32,
}

/// The state of all lines.
///
/// A snoop goes to every core, but only those that may hold the line have to be asked: a core is noted when a line is
/// installed there, and forgotten when a snoop finds the line gone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    directory: Directory,
    lines: Vec<Line>,
    queues: Vec<VecDeque<Behind>>,
    free: Vec<u32>,
}

impl Lines {
    /// Where the table has a line, if it has. Of others nobody knows anything.
    #[inline]
    pub(super) fn find(&self, line: LineAddr) -> Option<Entry> {
        self.directory.find(line).map(Entry)
    }
    /// A line will be looked up before long: has the host fetch its entry.
    #[inline]
    pub(super) fn host_prefetch(&self, line: LineAddr) {
        if let Some(at) = self.find(line) {
            prefetch_index(&self.lines, at.0 as usize);
        }
    }
    /// Where the table has a line.
    #[inline]
    pub(super) fn entry(&mut self, line: LineAddr) -> Entry {
        match self.find(line) {
            Some(at) => at,
            None => self.new_entry(line),
        }
    }
    #[cold]
    fn new_entry(&mut self, line: LineAddr) -> Entry {
        let number = self.directory.add(line);
        self.lines.resize(self.directory.len(), Line::default());
        Entry(number)
    }
    #[inline]
    fn at(&mut self, at: Entry) -> &mut Line {
        &mut self.lines[at.0 as usize]
    }

    /// Whether the line's data is under way.
    #[inline]
    pub(super) fn is_busy(&self, at: Entry) -> bool {
        self.lines[at.0 as usize].state != IDLE
    }
    /// Lets a request wait behind a line's data; false if none is under way.
    #[inline]
    pub(super) fn wait(&mut self, at: Entry, who: Behind) -> bool {
        let busy = self.is_busy(at);
        if busy {
            self.line_up(at, who);
        }
        busy
    }
    #[inline(never)] // few requests find their line busy
    fn line_up(&mut self, at: Entry, who: Behind) {
        if self.at(at).state == BUSY {
            let index = self.free.pop().unwrap_or_else(|| {
                self.queues.push(VecDeque::new());
                self.queues.len() as u32 - 1
            });
            self.at(at).state = QUEUE + index;
        }
        let index = self.at(at).state - QUEUE;
        self.queues[index as usize].push_back(who);
    }
    /// The data of a line of which none was is under way from now on.
    #[inline]
    pub(super) fn set_busy(&mut self, at: Entry) {
        debug_assert!(!self.is_busy(at));
        self.at(at).state = BUSY;
    }
    /// The line's data has arrived: who waited behind it, oldest first, to be handed back to [`Lines::put_back`].
    #[inline]
    pub(super) fn set_free(&mut self, at: Entry) -> Option<(u32, VecDeque<Behind>)> {
        let index = std::mem::take(&mut self.at(at).state).checked_sub(QUEUE)?;
        Some((index, std::mem::take(&mut self.queues[index as usize])))
    }
    /// Takes back an emptied queue.
    pub(super) fn put_back(&mut self, index: u32, queue: VecDeque<Behind>) {
        self.queues[index as usize] = queue;
        self.free.push(index);
    }

    /// A core installs the line.
    #[inline]
    pub(super) fn add_holder(&mut self, at: Entry, core: CoreId) {
        self.at(at).holders |= 1 << core.0;
    }
    /// A core does not hold the line.
    #[inline]
    pub(super) fn drop_holder(&mut self, at: Entry, core: CoreId) {
        self.at(at).holders &= !(1 << core.0);
    }
    /// Whether a core's private caches may hold the line.
    #[inline]
    pub(super) fn may_hold(&self, at: Entry, core: CoreId) -> bool {
        self.lines[at.0 as usize].holders >> core.0 & 1 != 0
    }
    /// Cores whose private caches may hold the line, in order.
    #[inline]
    pub(super) fn holders(&self, at: Entry) -> impl Iterator<Item = CoreId> + use<> {
        CoreId::all_in(self.holders_mask(at))
    }
    /// The same, a bit each.
    #[inline]
    pub(super) fn holders_mask(&self, at: Entry) -> u64 {
        self.lines[at.0 as usize].holders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_wait_behind_data_in_order_and_holders_are_noted() {
        let mut lines = Lines::default();
        let [a, b] = [LineAddr(3), LineAddr(700)].map(|l| lines.entry(l));
        assert_eq!(
            (lines.find(LineAddr(3)), lines.find(LineAddr(1 << 30))),
            (Some(a), None)
        );
        assert!(!lines.wait(a, Behind::Clean(0)), "nothing is under way");
        for round in 0..3 {
            lines.set_busy(a);
            lines.set_busy(b);
            let all = [Behind::Clean(round), Behind::Miss(CoreId(1), 2), Behind::Remote(0)];
            assert!(all.iter().all(|who| lines.wait(a, *who)));
            assert_eq!(lines.set_free(b), None);
            let (index, mut queue) = lines.set_free(a).unwrap();
            assert_eq!(queue.drain(..).collect::<Vec<_>>(), all);
            lines.put_back(index, queue);
            assert!(!lines.is_busy(a) && !lines.is_busy(b));
        }
        assert_eq!(lines.queues.len(), 1, "a queue is used again");
        lines.add_holder(a, CoreId(5));
        lines.add_holder(a, CoreId(63));
        lines.drop_holder(a, CoreId(5));
        assert_eq!(lines.holders(a).collect::<Vec<_>>(), [CoreId(63)]);
        assert!(lines.may_hold(a, CoreId(63)) && !lines.may_hold(b, CoreId(63)));
    }
}
