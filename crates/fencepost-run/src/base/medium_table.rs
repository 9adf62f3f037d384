//! Commands and times of a medium in the words of the standard, as the judge takes them.

use fencepost_machine::memory::{CommandKind, CommandRecord, MediaSpec, PagePolicy, WritePolicy};
use fencepost_reference::dram::{Command, Geometry, Kind, Rows, Table};

/// A command as the trace has it. The controller numbers the banks of a channel through, groups in the low bits.
pub(crate) fn command(m: &MediaSpec, c: &CommandRecord) -> Command {
    let closes = m.page == PagePolicy::Closed && m.writes != WritePolicy::Buffered;
    let (kind, row, column) = match c.kind {
        CommandKind::Activate { row } => (Kind::Activate, row, 0),
        CommandKind::Precharge => (Kind::Precharge, 0, 0),
        CommandKind::PrechargeAll => (Kind::PrechargeAll, 0, 0),
        CommandKind::Refresh => (Kind::Refresh, 0, 0),
        CommandKind::Read { row, column } if closes => (Kind::ReadPrecharge, row, column),
        CommandKind::Read { row, column } => (Kind::Read, row, column),
        CommandKind::Write { row, column } if closes => (Kind::WritePrecharge, row, column),
        CommandKind::Write { row, column } => (Kind::Write, row, column),
    };
    let bank = c.bank % m.banks;
    Command {
        cycle: c.time.0.div_ceil(m.t_ck.0),
        kind,
        channel: c.channel,
        rank: c.bank / m.banks,
        group: bank % m.bank_groups,
        bank: bank / m.bank_groups,
        row,
        column: column.into(),
    }
}

/// A medium's times by their names in the standard.
pub(crate) fn table(m: &MediaSpec) -> Table {
    let (open, recovery, pulse) = (m.t_rcd.max(m.read_pulse).0, m.t_wr.0, m.write_pulse.0);
    let buffered = m.writes == WritePolicy::Buffered;
    Table {
        geometry: Geometry {
            channels: m.channels,
            ranks: m.ranks,
            groups: m.bank_groups,
            banks: m.banks / m.bank_groups,
        },
        rows: match m.writes {
            WritePolicy::Buffered => Rows::Buffered {
                entries: m.write_buffer,
                pulse,
            },
            _ => Rows::Closed,
        },
        tCK: m.t_ck.0,
        tCL: m.t_cl.0,
        tCWL: m.t_cwl.0,
        tBL: m.t_burst.0,
        tRCD: open,
        tRAS: m.t_ras.0,
        tRC: if buffered { open } else { m.t_ras.0 + m.t_rp.0 },
        tRP: m.t_rp.0,
        tRTP: m.t_rtp.0,
        // A row is closed when the array has what was written to it.
        tWR: if buffered { recovery } else { recovery.max(pulse) },
        tRRD_S: m.t_rrd.0,
        tRRD_L: m.t_rrd_l.0,
        tFAW: m.t_faw.0,
        tCCD_S: m.t_ccd.0,
        tCCD_L: m.t_ccd_l.0,
        tCCD_bank: m.t_ccd_bank.0,
        tWTR_S: m.t_wtr.0,
        tWTR_L: m.t_wtr_l.0,
        tRTW: m.t_rtw.0,
        tRTRS: m.t_rtrs.0,
        tREFI: m.t_refi.0,
        tRFC: m.t_rfc.0,
        write_pulse: if m.writes == WritePolicy::Through { pulse } else { 0 },
    }
}
