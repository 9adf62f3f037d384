//! What a scheduler is shown of a bank, and what it returns.

/// Names a request while it waits for its bank.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Handle(pub(in crate::memory) u16);

/// The row buffer of a bank, as a scheduler sees it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct OpenRow {
    /// Bank, counted over all channels and ranks as [`Controller::bank`](crate::memory::Controller::bank) counts.
    pub bank: u16,
    /// The open row.
    pub row: Option<u64>,
    /// Column accesses since it was opened.
    pub hits: u16,
    /// Hits that may pass an older request of the bank, by the controller's policy; 0 means any number.
    pub hits_max: u16,
}

/// The request that is next for its bank.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Which.
    pub handle: Handle,
    /// Among the banks that are ready at the same moment, the smallest rank has the command bus first.
    pub rank: u64,
}
