//! Blocks that network channels bring, one barrier region each.

use crate::delegated::Seq;
use fencepost_kernel::LineAddr;
use std::collections::VecDeque;

/// An RDMA channel.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel(pub u8);

/// A block that is to be persisted as one barrier region.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Named by the sender; comes back when the block is durable.
    pub id: u64,
    /// Its first line.
    pub first: LineAddr,
    /// How many lines follow one another, at least one.
    pub lines: u32,
}

/// The block that a channel is receiving: the address range and the length counter.
#[derive(Copy, Clone, Debug)]
pub(super) struct Receiving {
    pub(super) region: Region,
    /// Lines that have not come.
    pub(super) left: u32,
}

/// One channel.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    pub(super) receiving: Option<Receiving>,
    /// FENCEs of blocks that are not durable.
    pub(super) closed: VecDeque<(Seq, u64)>,
}

/// All channels.
#[derive(Clone, Debug)]
pub(super) struct Remote {
    pub(super) channels: Vec<Stream>,
    /// Blocks that have become durable and were not asked for.
    pub(super) durable: VecDeque<(Channel, u64)>,
}
impl Remote {
    pub(super) fn new(channels: u8) -> Remote {
        Remote {
            channels: vec![Stream::default(); usize::from(channels)],
            durable: VecDeque::new(),
        }
    }
}
