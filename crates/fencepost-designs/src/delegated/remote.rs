//! The network port: a persist buffer for each channel, whose FENCEs are the ends of barrier regions.

use super::deps::Seq;
use super::front::Front;
use super::port::PortId;
use super::region::Region;
use super::stats::REGIONS;
use fencepost_kernel::{HwThread, LineAddr, LineData, planted};
use fencepost_machine::seam::{Cx, Epoch, Gate, Snoop, WriteId};

impl Front {
    /// A line of a region: coherence tells which persists of other buffers it follows, as for a core's store.
    pub fn remote_line(
        &mut self,
        cx: &mut dyn Cx,
        network: HwThread,
        line: LineAddr,
        data: &LineData,
        active: Epoch,
    ) -> Gate {
        let port = self.ports.of_network(network);
        if let Some(cause) = self.full(port) {
            return self.waiting.wait(network, cause);
        }
        let ordered = !planted!(
            "delegated.remote-unordered",
            "a line from the network follows the persists that it overwrites"
        );
        if ordered {
            self.requested(cx, port, line, Snoop::ReadExclusive, active);
        }
        self.persist(cx, None, port, line, data, active);
        Gate::Go
    }
    /// The end of a region: a FENCE.
    pub fn remote_end(&mut self, cx: &mut dyn Cx, network: HwThread, region: u32) -> Gate {
        let port = self.ports.of_network(network);
        match self.fence(cx, port) {
            Err(cause) => self.waiting.wait(network, cause),
            Ok(fence) => {
                self.regions.push_back(Region {
                    network,
                    port,
                    region,
                    fence,
                    last: None,
                });
                Gate::Go
            }
        }
    }
    /// The FENCE of a region has left its buffer: every write up to `last` must become durable.
    pub(super) fn region_left(&mut self, cx: &mut dyn Cx, port: PortId, fence: Seq, last: WriteId) {
        let ended = self.regions.iter_mut().find(|r| (r.port, r.fence) == (port, fence));
        if let Some(r) = ended {
            r.last = Some(last);
            self.report_regions(cx);
        }
    }
    /// Reports the regions whose writes are durable; the adapter hears of it a path's latency later.
    pub(super) fn report_regions(&mut self, cx: &mut dyn Cx) {
        if self.regions.is_empty() {
            return;
        }
        let oldest = self.path.outstanding().map(|o| o.0);
        let (at, before) = (cx.now() + self.latency, self.regions.len());
        self.regions.retain(|r| {
            let durable = r.last.is_some_and(|last| oldest.is_none_or(|o| o > last));
            if durable {
                cx.region_durable(r.network, r.region, at);
            }
            !durable
        });
        cx.count(REGIONS, (before - self.regions.len()) as u64);
    }
}
