//! What the network needs of the rest of the machine, and what it hands back to itself later.

use fencepost_kernel::{LineAddr, Ps, RemoteEpoch};

/// What is going to happen in the network.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A client has computed and begins to persist.
    Begin(u8),
    /// A client may have waited too long; the number tells which wait.
    Timeout(u8, u32),
    /// The oldest message of a channel arrives at the server.
    Deliver(u8),
    /// The oldest ACK on its way to a client arrives.
    Ack(u8),
    /// The server's adapter has the bus for the next line of a channel.
    Line(u8),
    /// Everything of a channel up to this region is durable.
    Durable(u8, u32),
}

/// The rest of the machine as the network sees it.
pub(crate) trait Outside {
    /// The present.
    fn now(&self) -> Ps;
    /// Has `step` handed back at `at`.
    fn schedule(&mut self, at: Ps, step: Step);
    /// The first time from `at` on at which the server's coherence bus is free for a line.
    fn bus_slot(&mut self, at: Ps) -> Ps;
    /// A line of `epoch` takes effect in the server's caches and enters the remote persist buffer of `port`. False if it cannot yet:
    /// the port is asked again ([`super::Network::resume`]).
    fn take_line(&mut self, port: u8, epoch: &RemoteEpoch, line: LineAddr) -> bool;
    /// A barrier region of `port` ends; [`Step::Durable`] follows with its number. False if the end cannot be recorded yet.
    fn end_region(&mut self, port: u8, region: u32) -> bool;
    /// Durable events of the server so far.
    fn durable_events(&self) -> u64;
}
