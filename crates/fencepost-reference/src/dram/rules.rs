//! What must lie between two commands.

use super::command::Kind;
use super::table::{Rows, Table};

/// Which earlier commands a rule looks at.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Those of the bank; a command of a rank concerns all its banks.
    Bank,
    /// Those of the bank group.
    Group,
    /// Those of the rank.
    Rank,
}

/// Which commands are meant.
type These = fn(Kind) -> bool;

/// A distance between commands.
#[derive(Copy, Clone, Debug)]
pub struct Rule {
    /// Its name in the standard.
    pub name: &'static str,
    /// What it is there for.
    pub about: &'static str,
    pub(super) from: These,
    pub(super) to: These,
    pub(super) scope: Scope,
    pub(super) gap: fn(&Table) -> u64,
}

const fn rule(
    name: &'static str,
    about: &'static str,
    (from, to): (These, These),
    scope: Scope,
    gap: fn(&Table) -> u64,
) -> Rule {
    Rule {
        name,
        about,
        from,
        to,
        scope,
        gap,
    }
}

fn activate(k: Kind) -> bool {
    k == Kind::Activate
}
fn precharge(k: Kind) -> bool {
    matches!(k, Kind::Precharge | Kind::PrechargeAll)
}
fn refresh(k: Kind) -> bool {
    k == Kind::Refresh
}
fn opens_or_refreshes(k: Kind) -> bool {
    activate(k) || refresh(k)
}
fn not_write(k: Kind) -> bool {
    !k.writes()
}
/// From a write to a read behind it, where `wait` lies between the end of the data and the read. Behind buffers only the bus turns.
fn write_to_read(t: &Table, wait: u64) -> u64 {
    let until_read = t.tCWL + t.tBL + wait;
    match t.rows {
        Rows::Closed => until_read,
        Rows::Buffered { .. } => until_read.saturating_sub(t.tCL),
    }
}
/// A time that a write owes its bank: nothing, behind a module that buffers and takes writes whatever their banks do.
fn of_written(t: &Table, time: u64) -> u64 {
    match t.rows {
        Rows::Closed => time,
        Rows::Buffered { .. } => 0,
    }
}

/// Every rule about a pair of commands.
pub const RULES: &[Rule] = &[
    rule(
        "tRCD",
        "a row is open before it is used",
        (activate, Kind::is_column),
        Scope::Bank,
        |t| t.tRCD,
    ),
    rule(
        "tRAS",
        "a row is restored before it is closed",
        (activate, precharge),
        Scope::Bank,
        |t| t.tRAS,
    ),
    rule(
        "tRC",
        "a bank opens one row after the other",
        (activate, activate),
        Scope::Bank,
        |t| t.tRC,
    ),
    rule(
        "tRP",
        "a row is closed before another is opened",
        (precharge, opens_or_refreshes),
        Scope::Bank,
        |t| t.tRP,
    ),
    rule(
        "tRTP",
        "a row is read before it is closed",
        (Kind::reads, precharge),
        Scope::Bank,
        |t| t.tRTP,
    ),
    rule(
        "tWR",
        "data is in the row before it is closed",
        (Kind::writes, precharge),
        Scope::Bank,
        |t| of_written(t, t.tCWL + t.tBL + t.tWR),
    ),
    rule(
        "tRRD_S",
        "rows of a rank are opened one by one",
        (activate, activate),
        Scope::Rank,
        |t| t.tRRD_S,
    ),
    rule(
        "tRRD_L",
        "rows of a bank group are opened one by one",
        (activate, activate),
        Scope::Group,
        |t| t.tRRD_L,
    ),
    rule(
        "tCCD_S",
        "reads of a rank follow one another",
        (Kind::reads, Kind::reads),
        Scope::Rank,
        |t| t.tCCD_S,
    ),
    rule(
        "tCCD_S",
        "writes of a rank follow one another",
        (Kind::writes, Kind::writes),
        Scope::Rank,
        |t| t.tCCD_S,
    ),
    rule(
        "tCCD_L",
        "reads of a bank group follow one another",
        (Kind::reads, Kind::reads),
        Scope::Group,
        |t| t.tCCD_L,
    ),
    rule(
        "tCCD_L",
        "writes of a bank group follow one another",
        (Kind::writes, Kind::writes),
        Scope::Group,
        |t| t.tCCD_L,
    ),
    rule(
        "tCCD_bank",
        "a bank takes one read after the other",
        (Kind::reads, Kind::reads),
        Scope::Bank,
        |t| t.tCCD_bank,
    ),
    rule(
        "tCCD_bank",
        "a bank takes a write after what it took before",
        (Kind::is_column, Kind::writes),
        Scope::Bank,
        |t| of_written(t, t.tCCD_bank),
    ),
    rule(
        "tCCD_bank",
        "a bank takes a read after a write",
        (Kind::writes, Kind::reads),
        Scope::Bank,
        |t| of_written(t, t.tCCD_bank),
    ),
    rule(
        "tWTR_S",
        "data is in the rank before it is read from",
        (Kind::writes, Kind::reads),
        Scope::Rank,
        |t| write_to_read(t, t.tWTR_S),
    ),
    rule(
        "tWTR_L",
        "data is in the bank group before it is read from",
        (Kind::writes, Kind::reads),
        Scope::Group,
        |t| write_to_read(t, t.tWTR_L),
    ),
    rule(
        "tRFC",
        "a refresh ends before the rank is used",
        (refresh, not_write),
        Scope::Rank,
        |t| t.tRFC,
    ),
    rule(
        "tRFC",
        "a refresh ends before the rank is written",
        (refresh, Kind::writes),
        Scope::Rank,
        |t| of_written(t, t.tRFC),
    ),
    rule(
        "write pulse",
        "the array has stored a line before the bank is used",
        (Kind::writes, Kind::is_column),
        Scope::Bank,
        |t| match t.write_pulse {
            0 => 0,
            pulse => t.tCWL + t.tBL + pulse,
        },
    ),
];
