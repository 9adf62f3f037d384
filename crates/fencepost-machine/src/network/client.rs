//! A client node: it computes, persists a transaction's epochs on the server, and goes on when it knows that they are durable.

use super::link::Link;
use super::spec::Protocol;
use fencepost_kernel::{EpochId, Ps, RemoteEpoch};

/// A message from a client to the server: one `rdma_pwrite`.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub id: EpochId,
    pub block: RemoteEpoch,
    /// The last epoch of its transaction.
    pub last: bool,
    /// Whether the client waits for its persist ACK.
    pub ack: bool,
}

/// What a client is doing.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// Executing the part of a transaction that needs no replica.
    Computing,
    /// Waiting for the persist ACK of this epoch.
    Waiting(u32),
    /// No transaction is left.
    Finished,
    /// Power failed.
    Crashed,
}

/// What a client did and what it took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientReport {
    /// Transactions finished, those that only read included.
    pub transactions: u64,
    /// Transactions that persisted something.
    pub persisted: u64,
    /// When the last of them finished.
    pub finished: Ps,
    /// Time spent computing.
    pub compute: Ps,
    /// Time spent waiting for persist ACKs.
    pub persist: Ps,
    /// Of it, the time from a block's arrival at the server to its durability: the rest is round trips.
    pub at_server: Ps,
    /// Round trips: persist ACKs waited for.
    pub round_trips: u64,
    /// Transactions persisted again because an ACK did not come.
    pub again: u64,
}

impl ClientReport {
    /// What was added since an earlier copy of it; times of day count from `begins`. A block whose first wait timed out before
    /// that may have been at the server for longer than was waited since: it counts for as long as the wait.
    pub(super) fn since(&self, start: &ClientReport, begins: Ps) -> ClientReport {
        let persist = self.persist - start.persist;
        ClientReport {
            transactions: self.transactions - start.transactions,
            persisted: self.persisted - start.persisted,
            finished: self.finished.saturating_sub(begins),
            compute: self.compute - start.compute,
            persist,
            at_server: (self.at_server - start.at_server).min(persist),
            round_trips: self.round_trips - start.round_trips,
            again: self.again - start.again,
        }
    }
}

/// A client node.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub link: Link,
    pub doing: Doing,
    /// The transaction it executes.
    pub tx: u32,
    pub epochs: Vec<RemoteEpoch>,
    /// Numbers the waits, so that a timeout knows whether its wait is over.
    pub wait: u32,
    /// Waits of this transaction that ended with a timeout.
    pub failures: u32,
    /// When the present wait began.
    pub since: Ps,
    /// Messages sent.
    pub sent: u32,
    pub report: ClientReport,
}

impl Client {
    pub(super) fn new() -> Client {
        Client {
            link: Link::default(),
            doing: Doing::Computing,
            tx: 0,
            epochs: Vec::new(),
            wait: 0,
            failures: 0,
            since: Ps::ZERO,
            sent: 0,
            report: ClientReport::default(),
        }
    }
    /// The messages to send now, when `first` is the oldest epoch that was not sent; sets what is waited for.
    pub(super) fn messages(&mut self, me: u8, protocol: Protocol, first: u32, now: Ps) -> Vec<Message> {
        let last = self.epochs.len() as u32 - 1;
        let upto = match protocol {
            Protocol::Sync => first,
            Protocol::Bsp => last,
        };
        self.doing = Doing::Waiting(upto);
        self.wait += 1;
        self.since = now;
        let (client, tx) = (me, self.tx);
        let message = |epoch| Message {
            id: EpochId { client, tx, epoch },
            block: self.epochs[epoch as usize].clone(),
            last: epoch == last,
            ack: epoch == upto,
        };
        (first..=upto).map(message).collect()
    }
    /// An ACK arrived: the next epoch to send, or `None` if the transaction is durable. `Err` for an ACK of something else: of a
    /// transaction that was persisted again, whose first ACK was only late.
    pub(super) fn acknowledged(&mut self, id: EpochId, at_server: Ps, now: Ps) -> Result<Option<u32>, ()> {
        if self.tx != id.tx || self.doing != Doing::Waiting(id.epoch) {
            return Err(());
        }
        self.report.round_trips += 1;
        self.report.persist += now.saturating_sub(self.since);
        self.report.at_server += at_server;
        let next = id.epoch + 1;
        Ok(((next as usize) < self.epochs.len()).then_some(next))
    }
}
