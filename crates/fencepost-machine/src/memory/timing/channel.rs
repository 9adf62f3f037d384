//! Banks, ranks and buses of one channel.

use super::delays::{Delays, Direction};
use super::refresh::RefreshTimer;
use super::shared::{Kind, SharedTimes, Waits};
use crate::memory::spec::{MediaSpec, WritePolicy};
use fencepost_kernel::Ps;
use std::collections::VecDeque;

/// A bank and its row buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bank {
    /// The open row.
    pub row: Option<u64>,
    /// Column accesses since the row was opened.
    pub hits: u16,
    /// Its bank group, counted over all ranks.
    group: u8,
    next_activate: Ps,
    next_precharge: Ps,
    next_read: Ps,
    next_write: Ps,
}

/// A refresh of a rank.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Refresh {
    /// First bank of the rank.
    pub bank: usize,
    /// When its open rows were closed, if there were any.
    pub closed: Option<Ps>,
    /// When it began.
    pub start: Ps,
    /// When it fell due.
    pub due: Ps,
    /// Refreshes that followed while the rank was idle.
    pub idle: u64,
}
impl Refresh {
    /// When it and those that followed began, one `every` so often: each when it fell due, or as soon as the one before was over.
    pub(crate) fn starts(self, t: &Delays, every: Ps) -> impl Iterator<Item = Ps> {
        let over = t.refresh.max(t.clock);
        let mut at = self.start;
        (0..=self.idle).map(move |i| {
            at = if i == 0 {
                at
            } else {
                t.edge((at + over).max(self.due + every * i))
            };
            at
        })
    }
    /// When the last of them began.
    fn last(self, t: &Delays, every: Ps) -> Ps {
        let due = |i: u64| t.edge(self.due + every * i);
        let mut last = self.start;
        for (i, at) in (0..).zip(self.starts(t, every)) {
            // Behind one that began when it fell due all others do.
            if i > 0 && at == due(i) {
                return due(self.idle);
            }
            last = at;
        }
        last
    }
}

/// Timing state of one channel.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    /// Banks, rank by rank.
    pub banks: Vec<Bank>,
    /// Banks with an open row, a bit each.
    open: u64,
    ranks: usize,
    /// What the banks of a group wait for together.
    shared: SharedTimes,
    buffered: bool,
    /// Earliest next command: the command bus takes one per clock.
    pub next_command: Ps,
    /// When refreshes have the command bus, where others may want it: several ranks share it, or a module takes writes whatever its
    /// banks do.
    taken: Vec<Ps>,
    refreshes: RefreshTimer,
    buffer: WriteBuffer,
}

/// Writes that a module took from the bus and whose banks have not stored them.
#[derive(Clone, Debug)]
struct WriteBuffer {
    /// Entries it has; without bound where writes are not buffered.
    entries: usize,
    /// When each write is stored, earliest first.
    stored: VecDeque<Ps>,
}
impl WriteBuffer {
    /// From when on it takes another write.
    #[inline]
    fn free_at(&self) -> Ps {
        match self.stored.len().checked_sub(self.entries) {
            Some(excess) => self.stored[excess],
            None => Ps::ZERO,
        }
    }
    fn add(&mut self, now: Ps, stored: Ps) {
        while self.stored.front().is_some_and(|t| *t <= now) {
            self.stored.pop_front();
        }
        let at = self.stored.partition_point(|t| *t <= stored);
        self.stored.insert(at, stored);
    }
}

impl Channel {
    /// An idle channel with every row closed.
    pub(crate) fn new(m: &MediaSpec) -> Channel {
        let (ranks, banks, groups) = (m.ranks, m.banks, m.bank_groups);
        let of_bank = |b: u16| Bank {
            group: (b / banks * groups + b % groups) as u8,
            ..Bank::default()
        };
        Channel {
            ranks: ranks.into(),
            shared: SharedTimes::new(m),
            buffered: m.writes == WritePolicy::Buffered,
            banks: (0..ranks * banks).map(of_bank).collect(),
            open: 0,
            next_command: Ps::ZERO,
            taken: Vec::new(),
            refreshes: RefreshTimer::new(m.t_refi, ranks),
            buffer: WriteBuffer {
                entries: match m.writes {
                    WritePolicy::Buffered => usize::from(m.write_buffer),
                    _ => usize::MAX,
                },
                stored: VecDeque::new(),
            },
        }
    }

    /// When `bank` itself is ready for a column command to its open row, and what the command waits for with other banks.
    #[inline]
    pub(crate) fn column_waits(&self, bank: usize, direction: Direction) -> (Ps, Waits) {
        let b = &self.banks[bank];
        let ready = match direction {
            Direction::Read => b.next_read,
            Direction::Write => b.next_write,
        };
        (ready, Waits::new(direction.into(), b.group))
    }
    /// The same of the command that brings another row closer to being open.
    #[inline]
    pub(crate) fn row_waits(&self, bank: usize) -> (Ps, Waits) {
        let b = &self.banks[bank];
        if self.precharges(bank) {
            (b.next_precharge, Waits::ALONE)
        } else {
            (b.next_activate, Waits::new(Kind::Activate, b.group))
        }
    }
    /// Earliest time of a column command to the open row of `bank`.
    pub(crate) fn column_at(&self, bank: usize, direction: Direction) -> Ps {
        self.earliest(self.column_waits(bank, direction))
    }
    /// Earliest time of the command that brings another row closer to being open in `bank`.
    pub(crate) fn row_at(&self, bank: usize) -> Ps {
        self.earliest(self.row_waits(bank))
    }
    fn earliest(&self, (ready, waits): (Ps, Waits)) -> Ps {
        ready.max(self.shared.until(waits)).max(self.next_command)
    }
    /// Whether another row needs a precharge first. A medium with write buffers has row buffers for reads only: nothing
    /// need be closed.
    #[inline]
    pub(crate) fn precharges(&self, bank: usize) -> bool {
        self.banks[bank].row.is_some() && !self.buffered
    }
    /// The banks in which another row needs a precharge first, a bit each.
    #[inline]
    pub(crate) fn closes_first(&self) -> u64 {
        if self.buffered { 0 } else { self.open }
    }
    /// What the banks of a group share; every command also waits for [`Channel::next_command`].
    #[inline]
    pub(crate) fn shared(&self) -> &SharedTimes {
        &self.shared
    }
    /// From when on the module takes data of another write, whatever its bank.
    #[inline]
    pub(crate) fn write_buffer_free(&self) -> Ps {
        self.buffer.free_at()
    }
    /// From when on a bank could take a request: past its precharge, activation or write pulse.
    pub(crate) fn ready_at(&self, bank: usize) -> Ps {
        let b = &self.banks[bank];
        match b.row {
            Some(_) => b.next_read.min(b.next_write),
            None => b.next_activate,
        }
    }
    /// Opens `row` at `now`.
    pub(crate) fn activate(&mut self, t: &Delays, now: Ps, bank: usize, row: u64) {
        self.next_command = now + t.clock;
        self.open |= 1 << bank;
        let b = &mut self.banks[bank];
        b.row = Some(row);
        b.hits = 0;
        // A bank may take the next column command later than its next row.
        b.next_read = b.next_read.max(now + t.activate_to_column);
        b.next_write = b.next_write.max(now + t.activate_to_column);
        b.next_precharge = now + t.activate_to_precharge;
        if t.buffered {
            b.next_activate = now + t.activate_to_column;
        }
        self.shared.activated(t, now, b.group.into());
    }
    /// Closes the row of `bank` at `now`.
    pub(crate) fn precharge(&mut self, t: &Delays, now: Ps, bank: usize) {
        self.next_command = now + t.clock;
        self.open &= !(1 << bank);
        self.banks[bank].close(t, now);
    }
    /// Reads or writes the open row of `bank` at `now`; with the closed-page policy the row is precharged after. Returns
    /// when the bytes have crossed the bus (read) or are stored (write).
    pub(crate) fn column(&mut self, t: &Delays, now: Ps, bank: usize, direction: Direction) -> Ps {
        self.next_command = now + t.clock;
        let b = &mut self.banks[bank];
        let group = usize::from(b.group);
        b.hits = b.hits.saturating_add(1);
        let done = match direction {
            Direction::Read => {
                b.next_precharge = b.next_precharge.max(now + t.read_to_precharge);
                b.next_read = b.next_read.max(now + t.column_bank);
                b.next_write = b.next_write.max(now + t.column_bank);
                now + t.read_data
            }
            // The bank works off what its module has buffered, one write after the other, before it reads again. The
            // row buffer keeps the row that was read.
            Direction::Write if t.buffered => {
                let stored = b.next_activate.max(now + t.write_data) + t.write_pulse;
                b.next_activate = stored;
                b.next_precharge = b.next_precharge.max(stored);
                b.next_read = b.next_read.max(stored);
                self.buffer.add(now, stored);
                t.stored(now, stored)
            }
            Direction::Write => {
                b.next_precharge = b.next_precharge.max(now + t.write_to_precharge);
                b.next_read = b.next_read.max(now + t.write_to_column);
                b.next_write = b.next_write.max(now + t.write_to_column);
                t.stored(now, now + t.write_data + t.write_pulse)
            }
        };
        match direction {
            Direction::Read => self.shared.read(t, now, group),
            Direction::Write => self.shared.written(t, now, group),
        }
        if t.page.precharges_after_access() {
            self.open &= !(1 << bank);
            let b = &mut self.banks[bank];
            b.close(t, b.next_precharge);
        }
        done
    }
    /// A read that the module answers without a bank, at the first clock edge from `now` on at which the buses are free;
    /// returns when its data has arrived.
    pub(crate) fn query(&mut self, t: &Delays, now: Ps) -> Ps {
        let at = t.edge(now.max(self.shared.query()).max(self.next_command));
        self.next_command = at + t.clock;
        self.shared
            .read(t, at, self.banks.first().map_or(0, |b| b.group.into()));
        at + t.read_data
    }

    /// Performs every refresh that fell due up to `now` and tells of each; returns how many fell due. Must be called before any
    /// command at `now`.
    ///
    /// A rank that is due takes no further command: its open rows are precharged together as soon as they all may be, then the
    /// refresh runs. All of that follows from the state at the due time, so it is computed at once, whenever noticed.
    pub(crate) fn refresh(&mut self, t: &Delays, now: Ps, mut began: impl FnMut(Refresh)) -> u64 {
        let mut done = 0;
        self.taken.retain(|at| *at >= now);
        while let Some((rank, due, stands_for)) = self.refreshes.take(now) {
            let refresh = self.refresh_rank(t, rank, due, stands_for - 1);
            if self.ranks > 1 || self.buffered {
                self.taken.extend(refresh.closed);
                self.taken.push(refresh.start);
            }
            began(refresh);
            done += stands_for;
        }
        done
    }
    /// Whether no refresh has the command bus at `now`.
    #[inline]
    pub(crate) fn bus_free(&self, now: Ps) -> bool {
        self.taken.is_empty() || !self.taken.contains(&now)
    }
    /// Time between refreshes of a rank.
    pub(crate) fn refresh_interval(&self) -> Ps {
        self.refreshes.every()
    }
    /// When the next rank is due; `NEVER` if none ever is.
    #[inline]
    pub(crate) fn next_refresh(&self) -> Ps {
        self.refreshes.next()
    }
    /// Refreshes a rank that was due, and `idle` times more while nothing else happened.
    fn refresh_rank(&mut self, t: &Delays, rank: usize, due: Ps, idle: u64) -> Refresh {
        let per_rank = self.banks.len() / self.ranks;
        self.open &= !((u64::MAX >> (64 - per_rank)) << (rank * per_rank));
        let banks = &mut self.banks[rank * per_rank..(rank + 1) * per_rank];
        // All rows are closed by one command, which also waits for banks that close theirs by themselves.
        let open = banks.iter().any(|b| b.row.is_some());
        let may = |b: &Bank| t.edge(b.next_precharge.max(t.edge(due)));
        let closed = banks.iter().map(may).max().filter(|_| open);
        // The bus takes one command a clock, also where a row is closed at once.
        let mut start = closed.map_or(t.edge(due), |at| at + t.clock);
        for b in banks.iter_mut() {
            if let Some(at) = closed.filter(|_| b.row.is_some()) {
                b.close(t, at);
            }
            start = start.max(t.edge(b.next_activate));
        }
        let refresh = Refresh {
            bank: rank * per_rank,
            closed,
            start,
            due,
            idle,
        };
        let over = refresh.last(t, self.refreshes.every()) + t.refresh.max(t.clock);
        for b in banks {
            b.next_activate = over;
        }
        refresh
    }
}

impl Bank {
    fn close(&mut self, t: &Delays, at: Ps) {
        self.row = None;
        self.next_activate = self.next_activate.max(at + t.precharge);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each command has the command bus for a clock, that of a read which a module answers by itself too: an activation follows it.
    #[test]
    fn a_read_without_a_bank_takes_the_command_bus() {
        let media = MediaSpec::default();
        let (t, mut channel) = (Delays::new(&media), Channel::new(&media));
        assert_eq!(channel.row_at(0), Ps::ZERO);
        channel.query(&t, Ps::ZERO);
        assert_eq!(channel.row_at(0), t.clock);
    }
}
