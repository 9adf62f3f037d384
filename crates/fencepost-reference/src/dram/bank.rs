//! The rows of a channel's banks, and the lines that its module has taken and its banks have not stored.

use super::command::{Command, Kind};
use super::table::{Rows, Table};

#[derive(Clone, Debug, Default)]
struct Bank {
    row: Option<u64>,
    /// When it has stored what it took.
    stored: u64,
}

/// All banks of a channel.
#[derive(Clone, Debug)]
pub(super) struct Banks {
    banks: Vec<Bank>,
    /// When each line in the module's buffer is stored.
    buffer: Vec<u64>,
}

impl Banks {
    pub(super) fn new(t: &Table) -> Banks {
        Banks {
            banks: vec![Bank::default(); t.geometry.of_rank() * usize::from(t.geometry.ranks)],
            buffer: Vec::new(),
        }
    }
    /// Takes a command at time `now` to these banks; what is wrong with it, by rule.
    pub(super) fn take(
        &mut self,
        t: &Table,
        c: &Command,
        now: u64,
        banks: std::ops::Range<usize>,
    ) -> Vec<(&'static str, String)> {
        match t.rows {
            Rows::Closed => self.rows(c, banks),
            Rows::Buffered { entries, pulse } => self.buffered(t, c, now, (banks.start, entries, pulse)),
        }
    }
    fn rows(&mut self, c: &Command, of: std::ops::Range<usize>) -> Vec<(&'static str, String)> {
        let mut wrong = Vec::new();
        for bank in &mut self.banks[of] {
            let open = bank.row;
            match c.kind {
                Kind::Activate => {
                    if let Some(row) = open {
                        wrong.push(("row", format!("row {row:#x} is open")));
                    }
                    bank.row = Some(c.row);
                }
                Kind::Precharge | Kind::PrechargeAll => bank.row = None,
                Kind::Refresh => {
                    if let Some(row) = open.filter(|_| wrong.is_empty()) {
                        wrong.push(("row", format!("row {row:#x} is open in a bank of the rank")));
                    }
                }
                Kind::Read | Kind::ReadPrecharge | Kind::Write | Kind::WritePrecharge => {
                    if open != Some(c.row) {
                        let found = open.map_or("none".into(), |row| format!("row {row:#x}"));
                        wrong.push(("row", format!("the open row is {found}")));
                    }
                    if c.kind.closes_behind() {
                        bank.row = None;
                    }
                }
            }
        }
        wrong
    }
    /// A module with buffers: reads need their row, and their bank idle.
    fn buffered(
        &mut self,
        t: &Table,
        c: &Command,
        now: u64,
        (at, entries, pulse): (usize, u16, u64),
    ) -> Vec<(&'static str, String)> {
        let mut wrong = Vec::new();
        let bank = &mut self.banks[at];
        if (c.kind == Kind::Activate || c.kind.reads()) && now < bank.stored {
            let why = format!("the bank stores until {} ps", bank.stored);
            wrong.push(("bank stores", why));
        }
        if c.kind == Kind::Activate {
            bank.row = Some(c.row);
        } else if c.kind.reads() && bank.row != Some(c.row) {
            wrong.push(("row", "another row is in the row buffer".into()));
        } else if c.kind.writes() {
            bank.stored = bank.stored.max(now + t.tCWL + t.tBL) + pulse;
            let stored = bank.stored;
            self.buffer.retain(|s| *s > now);
            if self.buffer.len() >= usize::from(entries) {
                wrong.push(("write buffer", format!("all {entries} entries are in use")));
            }
            self.buffer.push(stored);
        }
        wrong
    }
}
