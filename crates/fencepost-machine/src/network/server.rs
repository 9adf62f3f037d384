//! The server's adapter: it puts arriving blocks into the caches (direct data I/O) and marks their ends as barriers.

use super::client::Message;
use super::link::Link;
use fencepost_kernel::{Addr, EpochId, LineAddr, Ps, planted};
use std::collections::VecDeque;

/// The range store of a remote persist buffer, 8 B: where the next line of the block goes (48 bits) and how many bytes of it are
/// missing (16 bits, the length counter). At zero the block is complete, which is where a barrier belongs.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Range {
    next: Addr,
    missing: u32,
}
impl Range {
    /// The range of a block whose length the adapter was told.
    pub(super) fn of(message: &Message) -> Range {
        Range {
            next: message.block.at,
            missing: message.block.bytes() as u32,
        }
    }
    /// The line that comes next, unless the block is complete.
    pub(super) fn line(&self) -> Option<LineAddr> {
        (self.missing > 0).then(|| self.next.line())
    }
    /// The line was taken.
    pub(super) fn advance(&mut self) {
        let end = (self.next.line().0 + 1) * fencepost_kernel::units::LINE_BYTES;
        let taken = ((end - self.next.0) as u32).min(self.missing);
        self.next = Addr(end);
        self.missing -= taken;
    }
}

/// A region whose end was recorded in the remote persist buffer and that is not durable yet.
#[derive(Copy, Clone, Debug)]
pub(super) struct Pending {
    pub id: EpochId,
    pub region: u32,
    pub ack: bool,
    pub arrived: Ps,
}

/// What the adapter keeps of a channel.
#[derive(Clone, Debug, Default)]
pub(super) struct Channel {
    /// Messages on the wire, with their arrival; the oldest first.
    pub wire: VecDeque<(Ps, Message)>,
    /// Arrived blocks, the oldest being taken line by line. A client has one transaction in flight, which bounds them.
    pub arrived: VecDeque<(Ps, Message)>,
    /// Of the oldest.
    pub range: Range,
    /// Whether a bus slot was asked for, or the oldest line was refused.
    pub busy: bool,
    /// Regions recorded and not durable, the oldest first.
    pub pending: VecDeque<Pending>,
    /// Regions ever recorded.
    pub regions: u32,
    /// The connection is broken: what is sent is lost.
    pub broken: bool,
}

/// What the server remembers of a client, so that nothing is applied twice.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Seen {
    /// The next epoch: transaction and position in it.
    next: (u32, u32),
    /// The last epoch known to be durable.
    pub durable: Option<EpochId>,
}
/// What is to be done with an arrived block.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It is the next one of its client.
    New,
    /// It was applied before.
    Again,
    /// Something before it was lost.
    Gap,
}
impl Seen {
    /// Classifies an arriving block and, if it is new, expects its successor.
    pub(super) fn arrives(&mut self, m: &Message) -> Arrival {
        let (id, expected) = ((m.id.tx, m.id.epoch), self.next);
        let fresh = id == expected || (m.id.tx > expected.0 && id.1 == 0 && expected.1 == 0);
        let again = id < expected;
        let reorders = planted!(
            "network.reorders",
            "a channel keeps the order in which messages were sent"
        );
        if reorders {
            return Arrival::New;
        }
        let applied_twice = again && planted!("network.applied-twice", "a block that was applied is not applied again");
        if applied_twice {
            return Arrival::New;
        }
        match (fresh, again) {
            (true, _) => {
                self.next = if m.last { (id.0 + 1, 0) } else { (id.0, id.1 + 1) };
                Arrival::New
            }
            (_, true) => Arrival::Again,
            _ => Arrival::Gap,
        }
    }
}

/// The adapter: its ends of the links, and its channels.
#[derive(Clone, Debug, Default)]
pub(super) struct Adapter {
    pub inbound: Link,
    pub outbound: Link,
    pub channels: Vec<Channel>,
    pub seen: Vec<Seen>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::RemoteEpoch;

    fn message(tx: u32, epoch: u32, last: bool) -> Message {
        let block = RemoteEpoch {
            at: Addr::pm(4096 + 24),
            words: vec![7; 20].into(),
        };
        let id = EpochId { client: 0, tx, epoch };
        Message {
            id,
            block,
            last,
            ack: last,
        }
    }

    #[test]
    fn the_length_counter_ends_a_block_at_its_last_byte() {
        // 160 bytes from byte 24 of a line: 40 there, 64 on the next, 56 on the third.
        let mut range = Range::of(&message(0, 0, false));
        let first = Addr::pm(4096).line().0;
        for (line, left) in [(first, 120), (first + 1, 56), (first + 2, 0)] {
            assert_eq!(range.line(), Some(LineAddr(line)));
            range.advance();
            assert_eq!(range.missing, left);
        }
        assert_eq!(range.line(), None);
    }

    #[test]
    fn what_comes_again_is_recognised_and_a_gap_is_not_filled() {
        let mut seen = Seen::default();
        let mut at = |tx, epoch, last| seen.arrives(&message(tx, epoch, last));
        assert_eq!(at(0, 0, false), Arrival::New);
        assert_eq!(at(0, 0, false), Arrival::Again);
        assert_eq!(at(0, 2, true), Arrival::Gap);
        assert_eq!(at(0, 1, false), Arrival::New);
        assert_eq!(at(1, 0, true), Arrival::Gap);
        assert_eq!(at(0, 2, true), Arrival::New);
        assert_eq!(at(0, 0, false), Arrival::Again);
        // Transactions that only read are never sent.
        assert_eq!(at(3, 0, true), Arrival::New);
    }
}
