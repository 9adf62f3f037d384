//! A command on a channel's command bus.

/// What a command does.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Opens a row.
    Activate,
    /// Closes the row of a bank.
    Precharge,
    /// Closes the rows of a rank.
    PrechargeAll,
    /// Reads from the open row.
    Read,
    /// The same; the bank then closes its row by itself.
    ReadPrecharge,
    /// Writes to the open row.
    Write,
    /// The same; the bank then closes its row by itself.
    WritePrecharge,
    /// Refreshes a rank.
    Refresh,
}

impl Kind {
    /// Every kind with its word in a trace.
    pub const WORDS: [(Kind, &'static str); 8] = [
        (Kind::Activate, "activate"),
        (Kind::Precharge, "precharge"),
        (Kind::PrechargeAll, "precharge_all"),
        (Kind::Read, "read"),
        (Kind::ReadPrecharge, "read_p"),
        (Kind::Write, "write"),
        (Kind::WritePrecharge, "write_p"),
        (Kind::Refresh, "refresh"),
    ];
    /// Whether it moves a line from the medium.
    pub fn reads(self) -> bool {
        matches!(self, Kind::Read | Kind::ReadPrecharge)
    }
    /// Whether it moves a line to the medium.
    pub fn writes(self) -> bool {
        matches!(self, Kind::Write | Kind::WritePrecharge)
    }
    /// Whether it moves a line.
    pub fn is_column(self) -> bool {
        self.reads() || self.writes()
    }
    /// Whether the bank closes its row behind it.
    pub fn closes_behind(self) -> bool {
        matches!(self, Kind::ReadPrecharge | Kind::WritePrecharge)
    }
    /// Whether it concerns all banks of a rank.
    pub fn of_rank(self) -> bool {
        matches!(self, Kind::PrechargeAll | Kind::Refresh)
    }
    /// Its word in a trace.
    pub fn word(self) -> &'static str {
        // Every kind has a word; a test says so.
        Kind::WORDS
            .iter()
            .find(|(k, _)| *k == self)
            .map_or("", |(_, word)| word)
    }
}

/// One command.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Clock of the command bus.
    pub cycle: u64,
    /// What it does.
    pub kind: Kind,
    /// Channel.
    pub channel: u16,
    /// Rank of the channel.
    pub rank: u16,
    /// Bank group of the rank.
    pub group: u16,
    /// Bank of the group.
    pub bank: u16,
    /// Row: of commands that name one.
    pub row: u64,
    /// Column, in lines: of commands that move one.
    pub column: u64,
}
