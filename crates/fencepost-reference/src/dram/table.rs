//! The times of a medium, by their names in the standard.

/// How many of what a channel has.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Channels.
    pub channels: u16,
    /// Ranks of a channel.
    pub ranks: u16,
    /// Bank groups of a rank.
    pub groups: u16,
    /// Banks of a group.
    pub banks: u16,
}

/// What a bank does with its rows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// As DRAM: a row is closed before another one is opened, and reads and writes need it open.
    Closed,
    /// As a module with write buffers: rows are opened for reads and need no closing; writes go to a buffer of so many entries for a
    /// channel, from which every bank takes its own one after the other.
    Buffered {
        /// Entries.
        entries: u16,
        /// Time in which a bank stores a line.
        pulse: u64,
    },
}

/// Times of a medium, in picoseconds where nothing else is said. A time of 0 asks for nothing.
#[allow(non_snake_case)] // the names are the standard's
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its parts.
    pub geometry: Geometry,
    /// What banks do with rows.
    pub rows: Rows,
    /// Clock period.
    pub tCK: u64,
    /// Read command to data.
    pub tCL: u64,
    /// Write command to data.
    pub tCWL: u64,
    /// Data of a line on the bus.
    pub tBL: u64,
    /// Activate to read or write.
    pub tRCD: u64,
    /// Activate to precharge.
    pub tRAS: u64,
    /// Activate to activate of a bank.
    pub tRC: u64,
    /// Precharge to activate or refresh.
    pub tRP: u64,
    /// Read to precharge.
    pub tRTP: u64,
    /// End of write data to precharge.
    pub tWR: u64,
    /// Activate to activate in a rank.
    pub tRRD_S: u64,
    /// The same in a bank group.
    pub tRRD_L: u64,
    /// Window in which a rank takes four activates.
    pub tFAW: u64,
    /// Column command to the next of the same direction in a rank.
    pub tCCD_S: u64,
    /// The same in a bank group.
    pub tCCD_L: u64,
    /// Column command to any column command in a bank.
    pub tCCD_bank: u64,
    /// End of write data to read in a rank.
    pub tWTR_S: u64,
    /// The same in a bank group.
    pub tWTR_L: u64,
    /// Idle data bus between read data and write data.
    pub tRTW: u64,
    /// Idle data bus between data of two ranks.
    pub tRTRS: u64,
    /// Average time between refreshes of a rank.
    pub tREFI: u64,
    /// Refresh to activate or refresh.
    pub tRFC: u64,
    /// End of write data to any column command of the bank: of memories whose array is slower than their interface.
    pub write_pulse: u64,
}

impl Table {
    /// Refreshes of a rank that may be put off (DDR3 and DDR4: eight).
    pub const PUT_OFF: u64 = 8;
}

impl Geometry {
    /// Banks of a rank.
    pub(super) fn of_rank(&self) -> usize {
        usize::from(self.groups) * usize::from(self.banks)
    }
}
