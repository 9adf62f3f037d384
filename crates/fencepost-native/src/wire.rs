//! Clients that persist on another process: what is asked, and what such runs leave behind.
//!
//! Nothing here judges. The facts are what a checker needs: what the server noted, what it left in its file, what clients believe.

use crate::native_report::Memory;
use fencepost_kernel::units::PM_BASE;
use fencepost_kernel::{Addr, EpochId, LineAddr};
use fencepost_programs::clients::ClientParams;
use serde::Serialize;
use std::net::IpAddr;
use std::path::PathBuf;

/// Channels, each with a client of its own, at most.
pub const MOST_CHANNELS: u8 = 8;

/// When a client sends the next epoch of a transaction.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WireProtocol {
    /// After the acknowledgement of the epoch before it.
    Sync,
    /// At once; the last epoch of a transaction is acknowledged.
    Bsp,
}

/// What carries messages between the processes.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WireTransport {
    /// TCP sockets.
    #[default]
    Tcp,
    /// libfabric's tcp provider, found at run time.
    Libfabric,
}

/// Clients, and the server's memory that follows from them.
#[derive(Clone, Debug)]
pub struct WireRequest {
    /// What clients do.
    pub client: ClientParams,
    /// Connections, each with its client.
    pub channels: u8,
    /// What connects them.
    pub transport: WireTransport,
    /// Address of this machine at which the server listens; beyond the loopback network a token is asked for.
    pub address: IpAddr,
    /// File with the secret that server and clients share.
    pub token: Option<PathBuf>,
    /// Of what clients do.
    pub seed: u64,
}

/// What a server process is told.
#[derive(Clone, Debug)]
pub struct ServerPlan {
    /// The file of its persistent memory.
    pub pm: PathBuf,
    /// Where it says its port, and notes what it did.
    pub board: PathBuf,
    /// Whether it notes what it did.
    pub traced: bool,
    /// Whether the file outlives the run, so that the file system must be told of every flush unless it is a DAX one.
    pub kept: bool,
}

/// What a process of clients is told.
#[derive(Clone, Debug)]
pub struct ClientsPlan {
    /// Where the server notes what it did.
    pub board: PathBuf,
    /// Where clients note what they believe.
    pub beliefs: PathBuf,
    /// Where they connect, on this machine.
    pub port: u16,
    /// How they persist.
    pub protocol: WireProtocol,
}

/// The next epoch that a server expects of a client: transaction, and position in it.
pub type Next = (u32, u32);

/// What a server notes, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Noted {
    /// A server process began, and found this of each client in its memory.
    Started(Vec<Next>),
    /// The stores of an epoch begin.
    Applied {
        /// The epoch.
        id: EpochId,
        /// First byte of its block.
        at: Addr,
        /// Length of its block.
        bytes: u64,
    },
    /// A line was flushed and a fence followed.
    Durable {
        /// The line.
        line: LineAddr,
        /// What it held after the fence.
        words: [u64; 8],
    },
}

/// A client was told that everything of it up to `id` is durable.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Belief {
    /// The epoch.
    pub id: EpochId,
    /// What the server had noted by then.
    pub noted: u64,
}

/// What a killed server and its clients leave.
#[derive(Clone, Debug)]
pub struct WireLeft {
    /// Everything that server processes noted; empty if they were not told to.
    pub noted: Vec<Noted>,
    /// What each client believes, in order.
    pub beliefs: Vec<Vec<Belief>>,
    /// What the file says is the next epoch of each client.
    pub next: Vec<Next>,
    /// The file.
    pub file: Vec<u8>,
}

impl WireLeft {
    /// A word of the file.
    pub fn word(&self, at: Addr) -> u64 {
        let first = (at.0 - PM_BASE) as usize;
        let bytes = self.file.get(first..first + 8).and_then(|b| b.try_into().ok());
        bytes.map_or(0, u64::from_le_bytes)
    }
}

/// How long one protocol took.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProtocolTimes {
    /// Transactions.
    pub transactions: u64,
    /// Of those, transactions that persisted something.
    pub persisted: u64,
    /// Acknowledgements waited for.
    pub round_trips: u64,
    /// Nanoseconds from the first send of a transaction to its last acknowledgement: the fastest.
    pub persist_ns_min: f64,
    /// The same: the median.
    pub persist_ns_median: f64,
    /// Nanoseconds of a client per transaction, with what it computes: median of the rounds.
    pub transaction_ns: f64,
}

/// Clients timed under both protocols.
#[derive(Clone, Debug, Serialize)]
pub struct WireTimes {
    /// What carried the messages.
    pub transport: String,
    /// One round trip after the other.
    pub sync: ProtocolTimes,
    /// Pipelined.
    pub bsp: ProtocolTimes,
    /// Time per transaction of the first over that of the second: median of paired rounds.
    pub ratio: f64,
    /// Nanoseconds of an empty message and its answer: the fastest.
    pub round_trip_ns_min: f64,
    /// The same: the median.
    pub round_trip_ns_median: f64,
    /// What the server does to make an epoch durable.
    pub durable_by: String,
    /// The memory.
    pub memory: Memory,
    /// Why the file that the server left is wrong, if it is.
    pub why: Option<String>,
}

/// Servers and clients killed again and again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WireKills {
    /// What carried the messages.
    pub transport: String,
    /// Kills.
    pub kills: u32,
    /// Of those, of the server alone.
    pub servers: u32,
    /// Of the clients alone.
    pub clients: u32,
    /// Of both.
    pub both: u32,
    /// Epochs that took effect on servers.
    pub epochs: u64,
    /// Acknowledgements that clients believed.
    pub beliefs: u64,
    /// Transactions sent again after a lost connection or acknowledgement.
    pub again: u64,
    /// Kills after which the audit found something.
    pub violations: u32,
    /// What it found first.
    pub why: Option<String>,
}
