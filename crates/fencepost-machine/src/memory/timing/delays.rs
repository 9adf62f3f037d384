//! Delays between commands, derived once from a medium.

use crate::memory::spec::{MediaSpec, PagePolicy, StoredAt, WritePolicy};
use fencepost_kernel::{Divider, Ps};

/// Direction of a column command.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the medium.
    Read,
    /// To the medium.
    Write,
}
impl Direction {
    /// The opposite direction.
    pub(crate) fn other(self) -> Direction {
        match self {
            Direction::Read => Direction::Write,
            Direction::Write => Direction::Read,
        }
    }
}

/// Delays between commands.
#[derive(Clone, Debug)]
pub(crate) struct Delays {
    /// Clock period.
    pub clock: Ps,
    to_clocks: Divider,
    /// Read command to the end of its data.
    pub read_data: Ps,
    /// Write command to the end of its data.
    pub write_data: Ps,
    /// Time in which the array takes a line.
    pub write_pulse: Ps,
    /// Whether a write counts as stored when its data has crossed the bus.
    pub stored_at_burst: bool,
    /// The module buffers writes: their data needs the bus only.
    pub buffered: bool,
    /// Data bus time of a line.
    pub burst: Ps,
    /// A write-to-read and a read-to-write turnaround.
    pub turnarounds: Ps,
    pub(super) activate_to_column: Ps,
    pub(super) activate_to_precharge: Ps,
    pub(super) precharge: Ps,
    pub(super) read_to_precharge: Ps,
    pub(super) write_to_precharge: Ps,
    pub(super) write_to_column: Ps,
    pub(super) column_bank: Ps,
    pub(super) column_far: Ps,
    pub(super) column_near: Ps,
    pub(super) column_rank: Ps,
    pub read_to_write: Ps,
    pub(super) write_to_read_far: Ps,
    pub(super) write_to_read_near: Ps,
    pub(super) write_to_read_rank: Ps,
    pub(super) activate_far: Ps,
    pub(super) activate_near: Ps,
    pub(super) four_activates: Ps,
    pub(super) refresh: Ps,
    pub(super) page: PagePolicy,
}

impl Delays {
    /// When a write whose command is given at `now` counts as stored; its pulse ends at `pulse`.
    pub(super) fn stored(&self, now: Ps, pulse: Ps) -> Ps {
        match self.stored_at_burst {
            true => now + self.write_data,
            false => pulse,
        }
    }
    /// How long after a read that needs no bank the next one goes at the earliest, if it is sent as soon as that one is answered.
    pub(crate) fn query_again(&self) -> Ps {
        self.edge(self.read_data.max(self.column_far))
    }
    /// How long after a read that needs no bank a column command goes at the latest, whatever its bank, if nothing else is in its way.
    pub(crate) fn behind_query(&self, direction: Direction) -> Ps {
        let bus = match direction {
            Direction::Read => self.column_near.max(self.column_far).max(self.column_rank),
            Direction::Write => self.read_to_write,
        };
        self.edge(bus.max(self.clock))
    }
    /// The delays of a medium.
    pub(crate) fn new(m: &MediaSpec) -> Delays {
        let write_data = m.t_cwl + m.t_burst;
        let activate_to_column = m.t_rcd.max(m.read_pulse);
        let read_to_write = (m.t_cl + m.t_burst + m.t_rtw).saturating_sub(m.t_cwl);
        let buffered = m.writes == WritePolicy::Buffered;
        // A DRAM bank must have taken the data before it can read; a module with buffers only needs the bus to turn.
        let write_to_read = |gap: Ps| match buffered {
            true => (write_data + gap).saturating_sub(m.t_cl),
            false => write_data + gap,
        };
        Delays {
            clock: m.t_ck,
            to_clocks: Divider::new(m.t_ck.0),
            read_data: m.t_cl + m.t_burst,
            write_data,
            write_pulse: m.write_pulse,
            stored_at_burst: m.stored_at == StoredAt::Burst,
            buffered,
            burst: m.t_burst,
            turnarounds: write_to_read(m.t_wtr) + read_to_write,
            activate_to_column,
            activate_to_precharge: m.t_ras.max(activate_to_column),
            precharge: m.t_rp,
            read_to_precharge: m.t_rtp,
            write_to_precharge: write_data + m.t_wr.max(m.write_pulse),
            write_to_column: match m.writes {
                // The bank programs its array from the row buffer: no column access until the pulse has ended.
                WritePolicy::Through if m.write_pulse > Ps::ZERO => m.t_ccd_bank.max(write_data + m.write_pulse),
                _ => m.t_ccd_bank,
            },
            column_bank: m.t_ccd_bank,
            column_far: m.t_ccd.max(m.t_burst),
            column_near: m.t_ccd_l.max(m.t_burst),
            column_rank: m.t_burst + m.t_rtrs,
            read_to_write,
            write_to_read_far: write_to_read(m.t_wtr),
            write_to_read_near: write_to_read(m.t_wtr_l),
            write_to_read_rank: (write_data + m.t_rtrs).saturating_sub(m.t_cl),
            activate_far: m.t_rrd,
            activate_near: m.t_rrd_l,
            four_activates: m.t_faw,
            refresh: m.t_rfc,
            // Where writes are buffered a row buffer is for reads alone: nothing is closed.
            page: if m.writes == WritePolicy::Buffered {
                PagePolicy::Open
            } else {
                m.page
            },
        }
    }
    /// The first clock edge at or after `t`.
    #[inline]
    pub(crate) fn edge(&self, t: Ps) -> Ps {
        self.clock * self.to_clocks.ceil(t.0)
    }
}
