//! What the bus knows of every line: who may hold it, and who waits for it.

use fencepost_kernel::{CoreId, LineAddr, LineTable};
use std::collections::VecDeque;

/// What waits behind a busy line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Behind {
    Miss(CoreId, u8),
    Clean(u32),
    /// A line from the network, of this port.
    Remote(u8),
}

#[derive(Copy, Clone, Default)]
struct Line {
    /// A bit for each core whose private caches may hold the line.
    holders: u64,
    /// One more than the index of the line's queue; 0 while no data is under way.
    queue: u32,
}

/// The state of all lines.
///
/// A snoop goes to every core, but only those that may hold the line have to be asked: a core is noted when a line is
/// installed there, and forgotten when a snoop finds the line gone.
#[derive(Default)]
pub(crate) struct Lines {
    lines: LineTable<Line>,
    queues: Vec<VecDeque<Behind>>,
    free: Vec<u32>,
}

impl Lines {
    /// Whether the line's data is under way.
    #[inline]
    pub fn is_busy(&self, line: LineAddr) -> bool {
        self.lines.get(line).queue != 0
    }
    /// Lets a request wait behind a line's data; false if none is under way.
    #[inline]
    pub fn wait(&mut self, line: LineAddr, who: Behind) -> bool {
        let queue = self.lines.get(line).queue;
        if queue != 0 {
            self.queues[queue as usize - 1].push_back(who);
        }
        queue != 0
    }
    /// The line's data is under way from now on.
    pub fn set_busy(&mut self, line: LineAddr) {
        let entry = self.lines.entry(line);
        if entry.queue != 0 {
            return;
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.queues.push(VecDeque::new());
            self.queues.len() as u32 - 1
        });
        entry.queue = index + 1;
    }
    /// The line's data has arrived: who waited behind it, oldest first, to be handed back to [`Lines::put_back`].
    pub fn set_free(&mut self, line: LineAddr) -> Option<(u32, VecDeque<Behind>)> {
        let index = std::mem::take(&mut self.lines.entry(line).queue).checked_sub(1)?;
        if self.queues[index as usize].is_empty() {
            self.free.push(index);
            return None;
        }
        Some((index, std::mem::take(&mut self.queues[index as usize])))
    }
    /// Takes back an emptied queue.
    pub fn put_back(&mut self, index: u32, queue: VecDeque<Behind>) {
        self.queues[index as usize] = queue;
        self.free.push(index);
    }

    /// A core installs the line.
    #[inline]
    pub fn add_holder(&mut self, line: LineAddr, core: CoreId) {
        self.lines.entry(line).holders |= 1 << core.0;
    }
    /// A core does not hold the line.
    #[inline]
    pub fn drop_holder(&mut self, line: LineAddr, core: CoreId) {
        self.lines.entry(line).holders &= !(1 << core.0);
    }
    /// Cores whose private caches may hold the line, in order.
    #[inline]
    pub fn holders(&self, line: LineAddr) -> impl Iterator<Item = CoreId> + use<> {
        CoreId::all_in(self.lines.get(line).holders)
    }
}
