//! The private caches of a core: what they hold, what they miss, and what leaves them.

use super::held::Words;
use super::lines::Entry;
use super::notify::Notify;
use super::registers::MissRegisters;
use super::tags::{State, Tags, WayRef};
use crate::seam::{Cause, Level, Way, Why};
use crate::spec::CacheSpec;
use fencepost_kernel::{HwThread, LineAddr, LineData, Ps};
use std::collections::VecDeque;

/// Who waits for a line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// A load, by its position in the thread's window (the lower half of it).
    Load(HwThread, u32),
    /// The store queue's entry of this operation.
    Store(HwThread, u32),
    /// The instruction at the head of the reorder buffer.
    Head(HwThread),
}
impl Waiter {
    pub(crate) fn hw_thread(self) -> HwThread {
        match self {
            Waiter::Load(h, _) | Waiter::Store(h, _) | Waiter::Head(h) => h,
        }
    }
}

/// An outstanding miss of a core.
#[derive(Clone, Debug)]
pub(super) struct Miss {
    pub line: LineAddr,
    /// Where the bus has the line.
    pub at: Entry,
    pub exclusive: bool,
    /// The bytes are not wanted, only everybody else's copies gone (non-temporal stores).
    pub drop_copies: bool,
    pub waiters: Vec<Waiter>,
    pub cause: Cause,
    pub granted: bool,
    /// Installed on arrival.
    pub fill: Option<FillState>,
    pub since: Ps,
    /// Where memory is read: elsewhere, when the line's newest bytes are not at home.
    pub from: LineAddr,
    /// The bytes that arrive, where bytes are kept.
    pub words: Option<Box<Words>>,
}
impl Default for Miss {
    fn default() -> Miss {
        Miss {
            line: LineAddr(0),
            at: Entry::default(),
            exclusive: false,
            drop_copies: false,
            waiters: Vec::new(),
            cause: Cause::LoadCache,
            granted: false,
            fill: None,
            since: Ps::ZERO,
            from: LineAddr(0),
            words: None,
        }
    }
}

/// What a granted miss installs when its data arrives.
#[derive(Copy, Clone, Debug)]
pub(super) struct FillState {
    pub state: State,
    pub dirty: bool,
    pub meta: u32,
    /// The private caches may hold the line already.
    pub held: bool,
}

/// A dirty line between caches: refused by the design or on its way to memory.
#[derive(Clone, Debug)]
pub(super) struct Departure {
    pub from: Level,
    pub way: Way,
    pub data: LineData,
    pub why: Why,
    /// Cleans that wait for it; with any, the line goes on to memory.
    pub notify: Notify,
    pub since: Ps,
}
impl Departure {
    /// Whether it makes room for another line, so that its core may take it back; no clean waits for it.
    pub(super) fn is_victim(&self) -> bool {
        self.notify.is_empty() && !self.way.frozen
    }
}

/// The private caches of a core, shared by its hardware threads, with their miss registers and write-back buffer.
pub(super) struct Private {
    pub l1: Tags,
    pub l2: Option<Tags>,
    pub misses: MissRegisters<Miss>,
    /// Accesses that found no free miss register.
    pub starved: VecDeque<Waiter>,
    pub write_back: VecDeque<Departure>,
    /// Fills that found the write-back buffer full.
    pub stuck_fills: Vec<u8>,
}

/// Where a core's private caches have a line.
#[derive(Copy, Clone)]
pub(super) struct Ways {
    l1: Option<WayRef>,
    l2: Option<WayRef>,
}

#[cfg(test)]
impl Ways {
    pub(super) fn is_nowhere(self) -> bool {
        self.l1.is_none() && self.l2.is_none()
    }
}

impl Private {
    /// Empty caches.
    pub(super) fn new(l1: &CacheSpec, l2: Option<&CacheSpec>) -> Private {
        Private {
            l1: Tags::new(l1),
            l2: l2.map(Tags::new),
            misses: MissRegisters::new(l1.mshrs as usize),
            starved: VecDeque::new(),
            write_back: VecDeque::new(),
            stuck_fills: Vec::new(),
        }
    }
    /// Where a line is.
    #[inline]
    pub(super) fn ways(&self, line: LineAddr) -> Ways {
        Ways {
            l1: self.l1.find_recent(line),
            l2: self.l2.as_ref().and_then(|l2| l2.find(line)),
        }
    }
    /// The caches that have a line, with its way there.
    #[inline]
    pub(super) fn copies(&mut self, ways: Ways) -> impl Iterator<Item = (&mut Tags, WayRef)> {
        let l1 = ways.l1.map(|w| (&mut self.l1, w));
        let l2 = ways.l2.and_then(|w| self.l2.as_mut().map(|l2| (l2, w)));
        l1.into_iter().chain(l2)
    }
    /// With which permission a line is there, whether dirty, and its mark.
    #[inline]
    pub(super) fn state(&self, ways: Ways) -> Option<(State, bool, u32)> {
        let l1 = &self.l1;
        let above = ways.l1.map(|w| (l1.state(w), l1.dirty(w), l1.meta(w)));
        let (Some(l2), Some(w)) = (&self.l2, ways.l2) else {
            return above;
        };
        let below = (l2.state(w), l2.dirty(w), l2.meta(w));
        match above {
            Some(above) => Some((above.0, above.1 || below.1, if above.1 { above.2 } else { below.2 })),
            None => Some(below),
        }
    }
    /// Whether a write-back of the line waits to leave.
    #[inline]
    pub(super) fn waits_to_leave(&self, line: LineAddr) -> bool {
        self.write_back.iter().any(|d| d.way.line == line)
    }
    /// Whether newer bytes of the line than the second level's are between the levels: a victim of the first waits to leave, or a
    /// fill brings one back.
    pub(super) fn newer_between_levels(&self, line: LineAddr) -> bool {
        let waits = |d: &Departure| d.way.line == line && d.is_victim() && matches!(d.from, Level::L1(_));
        let comes_back = |m: &Miss| m.line == line && m.fill.is_some_and(|f| f.dirty);
        self.l2.is_some() && (self.write_back.iter().any(waits) || self.misses.iter().any(comes_back))
    }
}
