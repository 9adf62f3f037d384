//! Replication over a network: what a client persists on another node, and what a run remembers of it for an audit.
//!
//! A client executes transactions. Each is a sequence of *epochs*, blocks of contiguous words that must become durable on the replica in
//! this order; one block is one `rdma_pwrite` (Hu et al., Persistence Parallelism Optimization, MICRO 2018, section IV-C).

use crate::units::{Addr, LINE_BYTES, LineAddr, Ps};
use std::rc::Rc;

/// One block that the network transports as one barrier region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteEpoch {
    /// First word on the replica.
    pub at: Addr,
    /// The words, in ascending order of address.
    pub words: Rc<[u64]>,
}
impl RemoteEpoch {
    /// Its length in bytes.
    pub fn bytes(&self) -> u64 {
        self.words.len() as u64 * 8
    }
    /// Lines that it touches, in order.
    pub fn lines(&self) -> impl Iterator<Item = LineAddr> + use<> {
        let end = self.at.0 + self.bytes();
        (self.at.line().0..end.div_ceil(LINE_BYTES)).map(LineAddr)
    }
    /// Its words that lie in one line: address and value.
    pub fn words_in(&self, line: LineAddr) -> impl Iterator<Item = (Addr, u64)> + '_ {
        let base = self.at.0;
        let all = (0u64..)
            .zip(self.words.iter())
            .map(move |(i, w)| (Addr(base + 8 * i), *w));
        all.filter(move |(at, _)| at.line() == line)
    }
}

/// What a client does between two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Time that the client computes before it persists anything.
    pub compute: Ps,
    /// What must become durable on the replica, in order; nothing for a transaction that only reads.
    pub epochs: Vec<RemoteEpoch>,
}

/// The transactions of all clients: number `tx` of `client` is a pure function of the two.
pub type Transactions = Rc<dyn Fn(u8, u32) -> Transaction>;

/// An epoch of a client's transaction. The order of a client's epochs is the order of these ids.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EpochId {
    /// The client.
    pub client: u8,
    /// Its transaction.
    pub tx: u32,
    /// Position in the transaction.
    pub epoch: u32,
}

/// What an audit has to know of a run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ReplicaEvent {
    /// The replica's caches took one line of an epoch; its bytes may become durable from now on.
    Applied {
        /// The epoch.
        id: EpochId,
        /// The channel over which it came.
        channel: u8,
        /// The line.
        line: LineAddr,
    },
    /// The client was told that everything of it up to this epoch is durable.
    Believed {
        /// The last epoch that the client takes to be durable.
        id: EpochId,
        /// Durable events of the replica up to then.
        durable_events: u64,
    },
    /// The replica sent the ACK of an epoch.
    AckSent {
        /// The epoch.
        id: EpochId,
        /// Whether the network loses it.
        lost: bool,
    },
    /// An ACK arrived at the client, whether the client still waited for it or not.
    AckArrived {
        /// The epoch.
        id: EpochId,
    },
}
