//! Banks, bank groups, ranks and buses of one channel.

use super::delays::{Delays, Direction};
use super::refresh::RefreshTimer;
use crate::memory::spec::{MediaSpec, WritePolicy};
use fencepost_kernel::Ps;
use std::collections::VecDeque;

/// A bank and its row buffer.
#[derive(Clone, Debug, Default)]
pub struct Bank {
    /// The open row.
    pub row: Option<u64>,
    /// Column accesses since the row was opened.
    pub hits: u16,
    /// Its rank, and its bank group counted over all ranks.
    rank: u8,
    group: u8,
    next_activate: Ps,
    next_precharge: Ps,
    next_read: Ps,
    next_write: Ps,
}

/// Earliest times shared by several banks (a bank group, a rank).
#[derive(Clone, Debug, Default)]
struct Shared {
    next_activate: Ps,
    next_read: Ps,
    next_write: Ps,
}

#[derive(Clone, Debug, Default)]
struct Rank {
    shared: Shared,
    /// Times from which the next four activates are allowed, oldest at `faw_at`.
    faw: [Ps; 4],
    faw_at: usize,
}

/// A bank group of a rank.
#[derive(Clone, Debug)]
struct Group {
    times: Shared,
    rank: u8,
    /// Its banks, a bit each.
    banks: u64,
}

/// Timing state of one channel.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Banks, rank by rank.
    pub banks: Vec<Bank>,
    /// Banks with an open row, a bit each.
    open: u64,
    ranks: Vec<Rank>,
    groups: Vec<Group>,
    buffered: bool,
    /// Earliest next command: the command bus takes one per clock.
    pub next_command: Ps,
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
    pub fn new(m: &MediaSpec) -> Channel {
        let (ranks, banks, groups) = (m.ranks, m.banks, m.bank_groups);
        let of_bank = |b: u16| Bank {
            rank: (b / banks) as u8,
            group: (b / banks * groups + b % groups) as u8,
            ..Bank::default()
        };
        let all: Vec<Bank> = (0..ranks * banks).map(of_bank).collect();
        let of_group = |g: u16| Group {
            times: Shared::default(),
            rank: (g / groups) as u8,
            banks: (0..all.len())
                .filter(|b| u16::from(all[*b].group) == g)
                .fold(0, |m, b| m | 1 << b),
        };
        Channel {
            ranks: vec![Rank::default(); usize::from(ranks)],
            groups: (0..ranks * groups).map(of_group).collect(),
            buffered: m.writes == WritePolicy::Buffered,
            banks: all,
            open: 0,
            next_command: Ps::ZERO,
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

    /// Earliest time of a column command to the open row of `bank`.
    pub fn column_at(&self, bank: usize, direction: Direction) -> Ps {
        let group = usize::from(self.banks[bank].group);
        self.bank_column_at(bank, direction)
            .max(self.columns_at(group, direction))
    }
    /// Earliest time of a column command to the open row of `bank`, as far as the bank alone is concerned.
    #[inline]
    pub fn bank_column_at(&self, bank: usize, direction: Direction) -> Ps {
        match direction {
            Direction::Read => self.banks[bank].next_read,
            Direction::Write => self.banks[bank].next_write,
        }
    }
    /// Earliest time of the command that brings another row closer to being open, as far as the bank alone is concerned.
    #[inline]
    pub fn bank_row_at(&self, bank: usize) -> Ps {
        let b = &self.banks[bank];
        if self.precharges(bank) {
            b.next_precharge
        } else {
            b.next_activate
        }
    }
    /// Whether another row needs a precharge first. A medium with write buffers has row buffers for reads only: nothing
    /// need be closed.
    #[inline]
    pub fn precharges(&self, bank: usize) -> bool {
        self.banks[bank].row.is_some() && !self.buffered
    }
    /// The banks in which another row needs a precharge first, a bit each.
    #[inline]
    pub fn closes_first(&self) -> u64 {
        if self.buffered { 0 } else { self.open }
    }
    /// Earliest time of a column command to any bank of a group, as far as buses, group and rank are concerned.
    #[inline]
    pub fn columns_at(&self, group: usize, direction: Direction) -> Ps {
        let (g, r) = (
            &self.groups[group].times,
            &self.ranks[usize::from(self.groups[group].rank)],
        );
        let t = match direction {
            Direction::Read => g.next_read.max(r.shared.next_read),
            Direction::Write => g.next_write.max(r.shared.next_write),
        };
        t.max(self.next_command)
    }
    /// Earliest time of an activate in any bank of a group, as far as buses, group and rank are concerned.
    #[inline]
    pub fn activates_at(&self, group: usize) -> Ps {
        let (g, r) = (
            &self.groups[group].times,
            &self.ranks[usize::from(self.groups[group].rank)],
        );
        let shared = g.next_activate.max(r.shared.next_activate).max(r.faw[r.faw_at & 3]);
        shared.max(self.next_command)
    }
    /// Banks of every group, a bit each.
    pub fn groups(&self) -> impl Iterator<Item = u64> {
        self.groups.iter().map(|g| g.banks)
    }
    /// Earliest time of the command that brings another row closer to being open in `bank`.
    pub fn row_at(&self, bank: usize) -> Ps {
        let shared = match self.precharges(bank) {
            true => self.next_command,
            false => self.activates_at(usize::from(self.banks[bank].group)),
        };
        self.bank_row_at(bank).max(shared)
    }
    /// From when on the module takes data of another write, whatever its bank.
    pub fn write_buffer_free(&self) -> Ps {
        self.buffer.free_at()
    }
    /// From when on a bank could take a request: past its precharge, activation or write pulse.
    pub fn ready_at(&self, bank: usize) -> Ps {
        let b = &self.banks[bank];
        match b.row {
            Some(_) => b.next_read.min(b.next_write),
            None => b.next_activate,
        }
    }
    /// Opens `row` at `now`.
    pub fn activate(&mut self, t: &Delays, now: Ps, bank: usize, row: u64) {
        self.next_command = now + t.clock;
        self.open |= 1 << bank;
        let b = &mut self.banks[bank];
        b.row = Some(row);
        b.hits = 0;
        b.next_read = now + t.activate_to_column;
        b.next_write = now + t.activate_to_column;
        b.next_precharge = now + t.activate_to_precharge;
        let (rank, group) = (usize::from(b.rank), usize::from(b.group));
        self.groups[group].times.next_activate = now + t.activate_near;
        if t.buffered {
            self.banks[bank].next_activate = now + t.activate_to_column;
        }
        let r = &mut self.ranks[rank];
        r.shared.next_activate = now + t.activate_far;
        r.faw[r.faw_at] = now + t.four_activates;
        r.faw_at = (r.faw_at + 1) % 4;
    }
    /// Closes the row of `bank` at `now`.
    pub fn precharge(&mut self, t: &Delays, now: Ps, bank: usize) {
        self.next_command = now + t.clock;
        self.open &= !(1 << bank);
        self.banks[bank].close(t, now);
    }
    /// Reads or writes the open row of `bank` at `now`; with the closed-page policy the row is precharged after. Answers
    /// when the bytes have crossed the bus (read) or are stored (write).
    pub fn column(&mut self, t: &Delays, now: Ps, bank: usize, direction: Direction) -> Ps {
        self.next_command = now + t.clock;
        let b = &mut self.banks[bank];
        let (rank, group) = (usize::from(b.rank), usize::from(b.group));
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
                stored
            }
            Direction::Write => {
                b.next_precharge = b.next_precharge.max(now + t.write_to_precharge);
                b.next_read = b.next_read.max(now + t.write_to_column);
                b.next_write = b.next_write.max(now + t.write_to_column);
                now + t.write_data + t.write_pulse
            }
        };
        match direction {
            Direction::Read => self.spread_read(t, now, rank, group),
            Direction::Write => self.spread_write(t, now, rank, group),
        }
        if t.page.precharges_after_access() {
            self.open &= !(1 << bank);
            let b = &mut self.banks[bank];
            b.close(t, b.next_precharge);
        }
        done
    }
    /// A read that the module answers without a bank, at the first clock edge from `now` on at which the buses are free;
    /// answers when its data has arrived.
    pub fn query(&mut self, t: &Delays, now: Ps) -> Ps {
        let bus = self.ranks.first().map_or(Ps::ZERO, |r| r.shared.next_read);
        let at = t.edge(now.max(bus).max(self.next_command));
        self.next_command = at + t.clock;
        let group = self.banks.first().map_or(0, |b| usize::from(b.group));
        self.spread_read(t, at, 0, group);
        at + t.read_data
    }
    /// What a read at `now` means for the column commands of the whole channel.
    fn spread_read(&mut self, t: &Delays, now: Ps, rank: usize, group: usize) {
        for (i, r) in self.ranks.iter_mut().enumerate() {
            let gap = if i == rank { t.column_far } else { t.column_rank };
            r.shared.next_read = r.shared.next_read.max(now + gap);
            r.shared.next_write = r.shared.next_write.max(now + t.read_to_write);
        }
        self.groups[group].times.next_read = now + t.column_near;
    }
    /// What a write at `now` means for the column commands of the whole channel.
    fn spread_write(&mut self, t: &Delays, now: Ps, rank: usize, group: usize) {
        for (i, r) in self.ranks.iter_mut().enumerate() {
            let (write, read) = match i == rank {
                true => (t.column_far, t.write_to_read_far),
                false => (t.column_rank, t.write_to_read_rank),
            };
            r.shared.next_write = r.shared.next_write.max(now + write);
            r.shared.next_read = r.shared.next_read.max(now + read);
        }
        let g = &mut self.groups[group].times;
        g.next_write = now + t.column_near;
        g.next_read = g.next_read.max(now + t.write_to_read_near);
    }

    /// Performs every refresh that fell due up to `now` and tells when each began, with the first bank of its rank;
    /// returns how many fell due. Must be called before any command at `now`.
    ///
    /// A rank that is due takes no further command: its open rows are precharged as soon as they may be, then the
    /// refresh runs. All of that follows from the state at the due time, so it is computed at once, whenever noticed.
    pub fn refresh(&mut self, t: &Delays, now: Ps, mut began: impl FnMut(Ps, usize)) -> u64 {
        let mut done = 0;
        while let Some((rank, due, stands_for)) = self.refreshes.take(now) {
            let start = self.refresh_rank(t, rank, due);
            began(start, rank * self.banks.len() / self.ranks.len());
            done += stands_for;
        }
        done
    }
    /// When the next rank is due.
    pub fn next_refresh(&self) -> Option<Ps> {
        self.refreshes.next()
    }
    fn refresh_rank(&mut self, t: &Delays, rank: usize, due: Ps) -> Ps {
        let per_rank = self.banks.len() / self.ranks.len();
        self.open &= !((u64::MAX >> (64 - per_rank)) << (rank * per_rank));
        let banks = &mut self.banks[rank * per_rank..(rank + 1) * per_rank];
        let mut start = due;
        for b in banks.iter_mut() {
            if b.row.is_some() {
                b.close(t, b.next_precharge.max(due));
            }
            start = start.max(b.next_activate);
        }
        for b in banks {
            b.next_activate = start + t.refresh;
        }
        start
    }
}

impl Bank {
    fn close(&mut self, t: &Delays, at: Ps) {
        self.row = None;
        self.next_activate = self.next_activate.max(at + t.precharge);
    }
}
