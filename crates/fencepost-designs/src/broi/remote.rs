//! Requests from a network: one channel, one persist buffer, one remote BROI entry (paper: IV-C, IV-E).
//!
//! The network port announces a block ([`Broi::begin_region`]), hands over its lines in order ([`Broi::remote_line`]) and asks
//! which blocks have become durable ([`Broi::durable_region`]). The block of one `rdma_pwrite` is one barrier region: a length
//! counter finds its end, and a FENCE is recorded there. What a buffer cannot take is refused and offered again; nothing is
//! dropped. Lines of a block are in order behind those of the block before it, and behind every local persist that they conflict with.

use super::mechanism::{Broi, REGION};
use super::region::{Channel, Receiving, Region, Stream};
use crate::delegated::{PortId, Seq};
use fencepost_kernel::{LineAddr, LineData};
use fencepost_machine::seam::{Cause, Cx, Epoch, Snoop};

impl Broi {
    fn port_of(&self, channel: Channel) -> PortId {
        PortId(self.front.ports.local + channel.0)
    }
    fn stream(&mut self, port: PortId) -> Option<&mut Stream> {
        let channel = port.0.checked_sub(self.front.ports.local)?;
        self.remote.channels.get_mut(usize::from(channel))
    }
    /// Announces the next block of a channel.
    ///
    /// # Errors
    /// The block before it has not been received completely.
    pub fn begin_region(&mut self, channel: Channel, region: Region) -> Result<(), Cause> {
        let stream = &mut self.remote.channels[usize::from(channel.0)];
        if stream.receiving.is_some() {
            return Err(Cause::PersistBufferFull);
        }
        let left = region.lines.max(1);
        stream.receiving = Some(Receiving { region, left });
        Ok(())
    }
    /// Takes the next line of the announced block, as a request that invalidates every cached copy; answers which line it is. The
    /// caller has written the line to the last level and invalidated the others.
    ///
    /// # Errors
    /// The channel's buffer is full, or no block was announced; the line is to be offered again.
    pub fn remote_line(&mut self, cx: &mut dyn Cx, channel: Channel, data: &LineData) -> Result<LineAddr, Cause> {
        let port = self.port_of(channel);
        let stream = &self.remote.channels[usize::from(channel.0)];
        let Some(Receiving { region, left }) = stream.receiving.filter(|r| r.left > 0) else {
            return Err(Cause::PersistBufferFull);
        };
        if let Some(cause) = self.front.full(port) {
            return Err(cause);
        }
        let line = LineAddr(region.first.0 + u64::from(region.lines.max(1) - left));
        self.front
            .requested(cx, port, line, Snoop::ReadExclusive, Epoch::default());
        self.front.persist(cx, None, port, line, data, Epoch::default());
        self.remote.channels[usize::from(channel.0)].receiving = Some(Receiving { region, left: left - 1 });
        self.continue_region(cx, port);
        self.schedule(cx);
        Ok(line)
    }
    /// Whether a channel's buffer takes a line now.
    pub fn takes_line(&self, channel: Channel) -> bool {
        let receives = self.remote.channels[usize::from(channel.0)].receiving;
        receives.is_some_and(|r| r.left > 0) && self.front.full(self.port_of(channel)).is_none()
    }
    /// A block that has become durable since the last call, with everything before it on its channel.
    pub fn durable_region(&mut self) -> Option<(Channel, u64)> {
        self.remote.durable.pop_front()
    }

    /// The length counter is at its end: the region's FENCE follows, as soon as the buffer has an entry for it.
    pub(super) fn continue_region(&mut self, cx: &mut dyn Cx, port: PortId) {
        let Some(Receiving { region, left: 0 }) = self.stream(port).and_then(|s| s.receiving) else {
            return;
        };
        let Ok(fence) = self.front.fence(cx, port) else { return };
        if let Some(stream) = self.stream(port) {
            stream.receiving = None;
            stream.closed.push_back((fence, region.id));
        }
    }
    /// A FENCE has been freed: everything before it is durable.
    pub(super) fn region_durable(&mut self, cx: &mut dyn Cx, port: PortId, fence: Seq) {
        let channel = Channel(port.0.saturating_sub(self.front.ports.local));
        let Some(stream) = self.stream(port) else { return };
        if stream.closed.front().is_some_and(|c| c.0 == fence)
            && let Some((_, id)) = stream.closed.pop_front()
        {
            cx.count(REGION, 1);
            self.remote.durable.push_back((channel, id));
        }
    }
}
