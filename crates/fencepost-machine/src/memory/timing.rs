//! Timing of one channel: banks, bank groups, ranks, buses and refresh, as earliest times of the next command.

use super::spec::{MediaSpec, PagePolicy, WritePolicy};
use fencepost_kernel::{Divider, Ps};

/// Direction of a column command.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the medium.
    Read,
    /// To the medium.
    Write,
}
impl Direction {
    /// The opposite direction.
    pub fn other(self) -> Direction {
        match self {
            Direction::Read => Direction::Write,
            Direction::Write => Direction::Read,
        }
    }
}

/// Delays between commands, derived once from a [`MediaSpec`].
#[derive(Clone, Debug)]
pub struct Timing {
    /// Clock period.
    pub clock: Ps,
    to_clocks: Divider,
    /// Read command to the end of its data.
    pub read_data: Ps,
    /// Write command to durable.
    pub write_done: Ps,
    /// Data bus time of a line.
    pub burst: Ps,
    /// A write-to-read and a read-to-write turnaround.
    pub turnarounds: Ps,
    activate_to_column: Ps,
    activate_to_precharge: Ps,
    precharge: Ps,
    dirty_precharge: Ps,
    read_to_precharge: Ps,
    write_to_precharge: Ps,
    write_to_column: Ps,
    column_bank: Ps,
    column_far: Ps,
    column_near: Ps,
    column_rank: Ps,
    read_to_write: Ps,
    write_to_read_far: Ps,
    write_to_read_near: Ps,
    write_to_read_rank: Ps,
    activate_far: Ps,
    activate_near: Ps,
    four_activates: Ps,
    refresh_every: Ps,
    refresh: Ps,
    closed: bool,
}

impl Timing {
    /// The delays of a medium.
    pub fn new(m: &MediaSpec) -> Timing {
        let through = m.writes == WritePolicy::Through;
        let pulse = if through { m.write_pulse } else { Ps::ZERO };
        let write_data = m.t_cwl + m.t_burst;
        let activate_to_column = m.t_rcd.max(m.read_pulse);
        let read_to_write = (m.t_cl + m.t_burst + m.t_rtw).saturating_sub(m.t_cwl);
        Timing {
            clock: m.t_ck,
            to_clocks: Divider::new(m.t_ck.0),
            read_data: m.t_cl + m.t_burst,
            write_done: write_data + pulse,
            burst: m.t_burst,
            turnarounds: write_data + m.t_wtr + read_to_write,
            activate_to_column,
            activate_to_precharge: m.t_ras.max(activate_to_column),
            precharge: m.t_rp,
            dirty_precharge: m.t_rp + if through { Ps::ZERO } else { m.write_pulse },
            read_to_precharge: m.t_rtp,
            write_to_precharge: write_data + m.t_wr.max(pulse),
            // A bank programs its array from the row buffer: no column access until the pulse has ended.
            write_to_column: if pulse > Ps::ZERO {
                m.t_ccd_bank.max(write_data + pulse)
            } else {
                m.t_ccd_bank
            },
            column_bank: m.t_ccd_bank,
            column_far: m.t_ccd.max(m.t_burst),
            column_near: m.t_ccd_l.max(m.t_burst),
            column_rank: m.t_burst + m.t_rtrs,
            read_to_write,
            write_to_read_far: write_data + m.t_wtr,
            write_to_read_near: write_data + m.t_wtr_l,
            write_to_read_rank: (write_data + m.t_rtrs).saturating_sub(m.t_cl),
            activate_far: m.t_rrd,
            activate_near: m.t_rrd_l,
            four_activates: m.t_faw,
            refresh_every: m.t_refi,
            refresh: m.t_rfc,
            closed: m.page == PagePolicy::Closed,
        }
    }
    /// The first clock edge at or after `t`.
    pub fn edge(&self, t: Ps) -> Ps {
        self.clock * self.to_clocks.ceil(t.0)
    }
}

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
    dirty: bool,
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
    refresh_due: Option<Ps>,
}

/// Timing state of one channel.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Banks, rank by rank.
    pub banks: Vec<Bank>,
    ranks: Vec<Rank>,
    groups: Vec<Shared>,
    /// Earliest next command: the command bus takes one per clock.
    pub next_command: Ps,
}

impl Channel {
    /// An idle channel with every row closed.
    pub fn new(m: &MediaSpec) -> Channel {
        let (ranks, banks, groups) = (m.ranks, m.banks, m.bank_groups);
        let of_rank = |r: u16| Rank {
            // Staggered, so that ranks do not all pause at once.
            refresh_due: (m.t_refi > Ps::ZERO).then(|| Ps(m.t_refi.0 * (u64::from(r) + 1) / u64::from(ranks))),
            ..Rank::default()
        };
        let of_bank = |b: u16| Bank {
            rank: (b / banks) as u8,
            group: (b / banks * groups + b % groups) as u8,
            ..Bank::default()
        };
        Channel {
            banks: (0..ranks * banks).map(of_bank).collect(),
            ranks: (0..ranks).map(of_rank).collect(),
            groups: vec![Shared::default(); usize::from(ranks * groups)],
            next_command: Ps::ZERO,
        }
    }

    /// Earliest time of a column command to the open row of `bank`.
    #[inline]
    pub fn column_at(&self, bank: usize, direction: Direction) -> Ps {
        let (b, g, r) = self.parts(bank);
        let t = match direction {
            Direction::Read => b.next_read.max(g.next_read).max(r.shared.next_read),
            Direction::Write => b.next_write.max(g.next_write).max(r.shared.next_write),
        };
        t.max(self.next_command)
    }
    /// Earliest time at which the closed `bank` may open a row.
    #[inline]
    pub fn activate_at(&self, bank: usize) -> Ps {
        let (b, g, r) = self.parts(bank);
        let shared = g.next_activate.max(r.shared.next_activate).max(r.faw[r.faw_at]);
        b.next_activate.max(shared).max(self.next_command)
    }
    /// Earliest time at which `bank` may close its row.
    #[inline]
    pub fn precharge_at(&self, bank: usize) -> Ps {
        self.banks[bank].next_precharge.max(self.next_command)
    }
    /// From when on a bank could take a request: past its precharge, activation or write pulse.
    pub fn ready_at(&self, bank: usize) -> Ps {
        let b = &self.banks[bank];
        match b.row {
            Some(_) => b.next_read.min(b.next_write),
            None => b.next_activate,
        }
    }
    #[inline]
    fn parts(&self, bank: usize) -> (&Bank, &Shared, &Rank) {
        let b = &self.banks[bank];
        (b, &self.groups[usize::from(b.group)], &self.ranks[usize::from(b.rank)])
    }

    /// Opens `row` at `now`.
    pub fn activate(&mut self, t: &Timing, now: Ps, bank: usize, row: u64) {
        self.next_command = now + t.clock;
        let b = &mut self.banks[bank];
        b.row = Some(row);
        b.hits = 0;
        b.dirty = false;
        b.next_read = now + t.activate_to_column;
        b.next_write = now + t.activate_to_column;
        b.next_precharge = now + t.activate_to_precharge;
        let (rank, group) = (usize::from(b.rank), usize::from(b.group));
        self.groups[group].next_activate = now + t.activate_near;
        let r = &mut self.ranks[rank];
        r.shared.next_activate = now + t.activate_far;
        r.faw[r.faw_at] = now + t.four_activates;
        r.faw_at = (r.faw_at + 1) % 4;
    }
    /// Closes the row of `bank` at `now`.
    pub fn precharge(&mut self, t: &Timing, now: Ps, bank: usize) {
        self.next_command = now + t.clock;
        self.banks[bank].close(t, now);
    }
    /// Reads or writes the open row of `bank` at `now`; with the closed-page policy the row is precharged after.
    pub fn column(&mut self, t: &Timing, now: Ps, bank: usize, direction: Direction) {
        self.next_command = now + t.clock;
        let b = &mut self.banks[bank];
        let (rank, group) = (usize::from(b.rank), usize::from(b.group));
        b.hits = b.hits.saturating_add(1);
        match direction {
            Direction::Read => {
                b.next_precharge = b.next_precharge.max(now + t.read_to_precharge);
                b.next_read = b.next_read.max(now + t.column_bank);
                b.next_write = b.next_write.max(now + t.column_bank);
                self.spread_read(t, now, rank, group);
            }
            Direction::Write => {
                b.dirty = true;
                b.next_precharge = b.next_precharge.max(now + t.write_to_precharge);
                b.next_read = b.next_read.max(now + t.write_to_column);
                b.next_write = b.next_write.max(now + t.write_to_column);
                self.spread_write(t, now, rank, group);
            }
        }
        if t.closed {
            let b = &mut self.banks[bank];
            b.close(t, b.next_precharge);
        }
    }
    /// What a read at `now` means for the column commands of the whole channel.
    fn spread_read(&mut self, t: &Timing, now: Ps, rank: usize, group: usize) {
        for (i, r) in self.ranks.iter_mut().enumerate() {
            let gap = if i == rank { t.column_far } else { t.column_rank };
            r.shared.next_read = r.shared.next_read.max(now + gap);
            r.shared.next_write = r.shared.next_write.max(now + t.read_to_write);
        }
        self.groups[group].next_read = now + t.column_near;
    }
    /// What a write at `now` means for the column commands of the whole channel.
    fn spread_write(&mut self, t: &Timing, now: Ps, rank: usize, group: usize) {
        for (i, r) in self.ranks.iter_mut().enumerate() {
            let (write, read) = match i == rank {
                true => (t.column_far, t.write_to_read_far),
                false => (t.column_rank, t.write_to_read_rank),
            };
            r.shared.next_write = r.shared.next_write.max(now + write);
            r.shared.next_read = r.shared.next_read.max(now + read);
        }
        let g = &mut self.groups[group];
        g.next_write = now + t.column_near;
        g.next_read = g.next_read.max(now + t.write_to_read_near);
    }

    /// Performs every refresh that fell due up to `now` and tells when each began, with the first bank of its rank;
    /// returns how many fell due. Must be called before any command at `now`.
    ///
    /// A rank that is due takes no further command: its open rows are precharged as soon as they may be, then the
    /// refresh runs. All of that follows from the state at the due time, so it is computed at once, whenever noticed.
    pub fn refresh(&mut self, t: &Timing, now: Ps, mut began: impl FnMut(Ps, usize)) -> u64 {
        let mut done = 0;
        for rank in 0..self.ranks.len() {
            while let Some(due) = self.ranks[rank].refresh_due.filter(|due| *due <= now) {
                let start = self.refresh_rank(t, rank, due);
                began(start, rank * self.banks.len() / self.ranks.len());
                // A long idle stretch leaves only its last refresh visible: skip to it.
                let missed = ((now - due).0 / t.refresh_every.0).max(1);
                let next = if missed > 2 { missed - 1 } else { 1 };
                self.ranks[rank].refresh_due = Some(due + t.refresh_every * next);
                done += next;
            }
        }
        done
    }
    /// When the next rank is due.
    pub fn next_refresh(&self) -> Option<Ps> {
        self.ranks.iter().filter_map(|r| r.refresh_due).min()
    }
    fn refresh_rank(&mut self, t: &Timing, rank: usize, due: Ps) -> Ps {
        let per_rank = self.banks.len() / self.ranks.len();
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
    fn close(&mut self, t: &Timing, at: Ps) {
        let precharge = if self.dirty { t.dirty_precharge } else { t.precharge };
        self.row = None;
        self.dirty = false;
        self.next_activate = self.next_activate.max(at + precharge);
    }
}
