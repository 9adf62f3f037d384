//! What the network is made of: immutable parameters, declared once.

use fencepost_kernel::{Bytes, Ps, params};

fencepost_kernel::param_enum! {
    /// When a client sends the next epoch of a transaction.
    pub enum Protocol {
        /// After the persist ACK of the epoch before it: one round trip for each epoch.
        Sync = "sync",
        /// At once: all epochs of a transaction are in flight, in order, and the last one is acknowledged (buffered strict
        /// persistence).
        Bsp = "bsp",
    }
}

/// Client nodes of a network at most.
pub const MOST_CLIENTS: u8 = 32;

/// Doublings of a timeout at most: the longest timeout, doubled so often, is still a time.
const MOST_DOUBLINGS: u32 = 16;

params! {
    /// The network through which clients persist on this machine. Without clients there is none.
    pub struct NetworkSpec {
        /// Client nodes; 0: no network (designs of network persistence then take 4).
        #[range(0..=MOST_CLIENTS)]
        clients: u8 = 0,
        /// Connections to the server; clients are spread over them. Each keeps its messages in order and feeds a remote persist
        /// buffer.
        #[range(1..=16)]
        channels: u8 = 2,
        /// When the next epoch is sent. Designs of network persistence say it themselves.
        protocol: Protocol = Protocol::Bsp,
        /// Transactions of each client; 0: as many as the run asks operations for, or, beside local programs, until they have finished.
        transactions: u32 = 0,
        /// One way, from posting a message to its first byte in the memory of the other node: both adapters, wires, switch.
        latency: Ps = Ps::from_ns(1_000),
        /// Data rate of every link, in gigabits a second.
        #[range(1..=100_000)]
        gigabits: u32 = 54,
        /// Headers of one message.
        #[range(Bytes(0)..=Bytes(4096))]
        header: Bytes = Bytes(42),
        /// Size of a persist ACK with its headers.
        #[range(Bytes(0)..=Bytes(4096))]
        ack: Bytes = Bytes(30),
        /// A client that waits longer for an ACK aborts the transaction and persists it again; each time it waits twice as long.
        #[range(Ps(1)..=Ps::from_ns(1_000_000_000))]
        timeout: Ps = Ps::from_ns(200_000),
        /// Persist ACKs lost, of a thousand.
        #[range(0..=900)]
        lost_acks: u16 = 0,
        /// Messages with which their connection breaks, of a thousand: they and all that follows on the channel are lost until a client
        /// connects again.
        #[range(0..=900)]
        broken: u16 = 0,
        /// Every client crashes after it has sent this many messages, in the middle of a transaction if it comes to that; 0: never.
        crash_after: u32 = 0,
    }
}

impl NetworkSpec {
    /// Remote persist buffers: one for each channel that has a client.
    pub fn ports(&self) -> u8 {
        self.channels.min(self.clients)
    }
    /// The channel of a client.
    pub fn channel_of(&self, client: u8) -> u8 {
        client % self.ports().max(1)
    }
    /// How long a client waits for an ACK after so many timeouts of a transaction. Doubled each time, or clients that send again faster than the
    /// server answers would fill the links for ever.
    pub fn patience(&self, failures: u32) -> Ps {
        Ps(self.timeout.0 << failures.min(MOST_DOUBLINGS))
    }
    /// Time that so many bytes occupy a link.
    pub fn duration(&self, bytes: u64) -> Ps {
        Ps(bytes * 8_000 / u64::from(self.gigabits.max(1)))
    }
}
