//! What is remembered of a block that came over the network until it is durable.

use super::deps::Seq;
use super::port::PortId;
use fencepost_kernel::HwThread;
use fencepost_machine::seam::WriteId;

/// A barrier region whose FENCE is in the buffer, or whose persists are not durable.
#[derive(Copy, Clone, Debug)]
pub(super) struct Region {
    pub(super) network: HwThread,
    pub(super) port: PortId,
    pub(super) region: u32,
    pub(super) fence: Seq,
    /// Once the FENCE has left: the last write that must become durable.
    pub(super) last: Option<WriteId>,
}
