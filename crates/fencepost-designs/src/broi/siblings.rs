//! Hardware threads with persist buffers of their own behind one L1.
//!
//! A hit makes no bus request, so nobody would ask the sibling's buffer about the line. A hit therefore counts as a request if the
//! thread does not know the line: it has not used it since the line came into the L1, or since a sibling stored to it. In
//! hardware that is one bit per thread and L1 line.

use crate::delegated::{PortId, Ports};
use fencepost_kernel::{HwThread, LineAddr, LineTable};
use fencepost_machine::seam::{Access, Snoop};

/// Which threads know each line.
#[derive(Clone, Debug, Default)]
pub(super) struct Siblings {
    /// Buffers of the threads that know a line, a bit each.
    known: LineTable<u64>,
}

impl Siblings {
    /// A thread's bus request brought the line into its core's L1, or made it exclusive there.
    pub(super) fn requested(&mut self, ports: &Ports, hw_thread: HwThread, line: LineAddr) {
        let known = self.known.entry(line);
        *known = *known & !ports.of_core(hw_thread) | 1 << ports.of(hw_thread).0;
    }
    /// A thread's access performs: the request that it counts as, if it is a conflict with a sibling.
    pub(super) fn performed(
        &mut self,
        ports: &Ports,
        hw_thread: HwThread,
        line: LineAddr,
        access: Access,
    ) -> Option<(PortId, Snoop)> {
        let (port, core) = (ports.of(hw_thread), ports.of_core(hw_thread));
        let own = 1 << port.0;
        let known = self.known.get(line);
        let (asks, now, kind) = match access {
            Access::Load => (known & own == 0, known | own, Snoop::Read),
            Access::Store => (known & core != own, known & !core | own, Snoop::Upgrade),
        };
        if now != known {
            *self.known.entry(line) = now;
        }
        asks.then_some((port, kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delegated::BufferPer;
    use crate::info::MachineShape;
    use Access::{Load, Store};

    #[test]
    fn a_hit_asks_when_a_sibling_has_had_the_line() {
        let shape = MachineShape {
            hw_threads: 4,
            cores: 2,
            ..MachineShape::default()
        };
        let ports = Ports::new(shape, BufferPer::Thread, 0);
        let mut s = Siblings::default();
        let line = LineAddr(7);
        let access =
            |s: &mut Siblings, hw_thread, access| s.performed(&ports, HwThread(hw_thread), line, access).map(|r| r.1);
        s.requested(&ports, HwThread(0), line);
        assert_eq!(access(&mut s, 0, Load), None, "its own request asked");
        assert_eq!(access(&mut s, 0, Store), None);
        assert_eq!(access(&mut s, 1, Load), Some(Snoop::Read), "the sibling's did not");
        assert_eq!(access(&mut s, 1, Load), None);
        assert_eq!(access(&mut s, 0, Load), None);
        assert_eq!(
            access(&mut s, 0, Store),
            Some(Snoop::Upgrade),
            "the sibling has read it"
        );
        assert_eq!(access(&mut s, 0, Store), None);
        assert_eq!(
            access(&mut s, 1, Load),
            Some(Snoop::Read),
            "and sees what was stored since"
        );
        assert_eq!(access(&mut s, 1, Store), Some(Snoop::Upgrade));
        // Another core's request leaves this core's L1 without the line; its next access asks over the bus.
        s.requested(&ports, HwThread(2), line);
        s.requested(&ports, HwThread(0), line);
        assert_eq!(access(&mut s, 0, Load), None);
        assert_eq!(access(&mut s, 1, Store), Some(Snoop::Upgrade));
    }
}
