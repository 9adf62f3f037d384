//! Phases of the engine, where it logs to, and what is left to log.

use super::config::{InPlace, LocFault};
use super::mechanism::Loc;
use super::memlog::MemLog;
use super::nv::NvStore;
use super::recover::Pairs;
use super::txs::Key;
use fencepost_kernel::{HartId, LineAddr, TxId};

/// What the commit logic is doing.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Transactions begin and commit.
    Open,
    /// The window is to close, but shares lines with transactions that still run; nothing begins.
    Gathering,
    /// The window's blocks and records go to the log.
    Logging,
    /// In-place writes and truncation, where they are strict.
    InPlace,
}

/// Where versions are kept through a power failure.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // a design has one
pub(super) enum Store {
    /// In memory; the area is known with the first call.
    Log(Option<MemLog>),
    /// In the last-level cache.
    Nv(NvStore),
}

/// A block of the closing window that has not been taken into the log.
#[derive(Copy, Clone, Debug)]
pub(super) struct Todo {
    pub key: Key,
    pub line: LineAddr,
    /// Carries the transaction's TxCnt.
    pub last: bool,
}

/// Timer of the non-volatile cache's write.
pub(super) const NV_WRITTEN: u64 = 1;

impl Loc {
    pub(super) fn strict(&self) -> bool {
        self.cfg.in_place == InPlace::Strict
    }
    /// Which dependency pairs recovery counts.
    pub(super) fn pairs_that_count(&self) -> Pairs {
        match self.cfg.fault {
            LocFault::PairFirst => Pairs::All,
            _ => Pairs::OfCommitted,
        }
    }
    /// Number of the running transaction of a hart, checked against the machine's.
    pub(super) fn running(&self, hart: HartId, id: TxId) -> Option<Key> {
        let key = self.txs.active(hart)?;
        debug_assert_eq!(self.txs.get(key).map(|t| t.id), Some(id));
        Some(key)
    }
}
