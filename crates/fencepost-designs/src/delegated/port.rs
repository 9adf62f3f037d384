//! Which persist buffer an access goes to.

use crate::info::MachineShape;
use fencepost_kernel::HwThread;

/// A persist buffer: of a core, of a hardware thread, or of a channel of a network port.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PortId(pub u8);
impl PortId {
    /// The buffers whose bits are set in a mask, in order.
    #[inline]
    pub fn all_in(mut mask: u64) -> impl Iterator<Item = PortId> {
        std::iter::from_fn(move || {
            let port = (mask != 0).then(|| PortId(mask.trailing_zeros() as u8));
            mask &= mask.wrapping_sub(1);
            port
        })
    }
    /// For indexing arrays that have one entry per buffer.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

fencepost_kernel::param_enum! {
    /// Who has a persist buffer.
    pub enum BufferPer {
        /// Every core: its hardware threads share one.
        Core = "core",
        /// Every hardware thread.
        Thread = "thread",
        /// Every core, but each hardware thread has an order of its own in it: entries name their thread, and share what the buffer holds.
        Shared = "shared",
    }
}

/// The buffers of a machine: those of its cores or hardware threads first, then those of its network channels.
#[derive(Copy, Clone, Debug)]
pub struct Ports {
    hw_threads: u8,
    /// Hardware threads that share a core, and that share a buffer.
    threads_per_core: u8,
    threads_per_port: u8,
    /// Whether the threads of a core share what their buffers hold.
    pub pooled: bool,
    /// Buffers of cores or hardware threads.
    pub local: u8,
    /// Buffers of network channels.
    pub remote: u8,
}
impl Ports {
    /// The most buffers a machine may have: sets of them are words.
    pub const MAX: u16 = 64;

    /// One for each core or hardware thread, and `remote` more.
    pub fn new(shape: MachineShape, per: BufferPer, remote: u8) -> Ports {
        let threads_per_core = shape.hw_threads.div_ceil(shape.cores.max(1)).max(1);
        let threads_per_port = match per {
            BufferPer::Core => threads_per_core,
            BufferPer::Thread | BufferPer::Shared => 1,
        };
        Ports {
            hw_threads: shape.hw_threads,
            threads_per_core,
            threads_per_port,
            pooled: per == BufferPer::Shared && threads_per_core > 1,
            local: shape.hw_threads.div_ceil(threads_per_port),
            remote,
        }
    }
    /// How many there are.
    pub fn count(&self) -> usize {
        usize::from(self.local) + usize::from(self.remote)
    }
    /// The buffer of a hardware thread.
    #[inline]
    pub fn of(&self, hw_thread: HwThread) -> PortId {
        match self.threads_per_port {
            1 => PortId(hw_thread.0),
            n => PortId(hw_thread.0 / n),
        }
    }
    /// The hardware threads whose accesses go to a buffer; none for a network channel's.
    pub fn hw_threads(&self, port: PortId) -> impl Iterator<Item = HwThread> + use<> {
        let first = u16::from(port.0) * u16::from(self.threads_per_port);
        let end = (first + u16::from(self.threads_per_port)).min(u16::from(self.hw_threads));
        (first..end).map(|h| HwThread(h as u8))
    }
    /// The buffer of a port of the network, which the machine names behind all hardware threads.
    pub fn of_network(&self, port: HwThread) -> PortId {
        PortId(self.local + (port.0 - self.hw_threads))
    }
    /// The port of the network that a buffer belongs to, if it is one's.
    pub fn in_network(&self, port: PortId) -> Option<HwThread> {
        let channel = port.0.checked_sub(self.local)?;
        Some(HwThread(self.hw_threads + channel))
    }
    /// Whether several buffers belong to one core, behind one L1.
    pub fn share_caches(&self) -> bool {
        self.threads_per_port < self.threads_per_core
    }
    /// The buffers that share their entries with this one, itself included.
    #[inline]
    pub fn pool(&self, port: PortId) -> impl Iterator<Item = PortId> + use<> {
        let first = self.first_of_pool(port).0;
        let count = match self.pooled && port.0 < self.local {
            true => self.threads_per_core,
            false => 1,
        };
        (first..(first + count).min(self.local.max(port.0 + 1))).map(PortId)
    }
    /// The first of the buffers that share their entries with this one.
    #[inline]
    pub fn first_of_pool(&self, port: PortId) -> PortId {
        match self.pooled && port.0 < self.local {
            true => PortId(port.0 - port.0 % self.threads_per_core),
            false => port,
        }
    }
    /// Physical buffers of cores or hardware threads: pooled ones are one.
    pub fn physical(&self) -> u8 {
        match self.pooled {
            true => self.local.div_ceil(self.threads_per_core),
            false => self.local,
        }
    }
    /// The buffers of a hardware thread's core, a bit each.
    #[inline]
    pub fn of_core(&self, hw_thread: HwThread) -> u64 {
        let per_core = self.threads_per_core / self.threads_per_port;
        let first = u32::from(hw_thread.0 / self.threads_per_core) * u32::from(per_core);
        (u64::MAX >> (64 - u32::from(per_core))) << first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(hw_threads: u8, cores: u8, per: BufferPer) -> Ports {
        let shape = MachineShape {
            hw_threads,
            cores,
            ..MachineShape::default()
        };
        Ports::new(shape, per, 2)
    }

    #[test]
    fn every_hardware_thread_has_one_buffer_and_every_buffer_its_threads() {
        for (hw_threads, cores) in [(8, 8), (8, 4), (6, 2), (62, 31), (1, 1)] {
            for per in [BufferPer::Core, BufferPer::Thread, BufferPer::Shared] {
                let p = ports(hw_threads, cores, per);
                assert_eq!(p.local, if per == BufferPer::Core { cores } else { hw_threads });
                assert_eq!(p.count(), usize::from(p.local) + 2);
                for hw_thread in (0..hw_threads).map(HwThread) {
                    assert!(p.hw_threads(p.of(hw_thread)).any(|h| h == hw_thread));
                    let mine = PortId::all_in(p.of_core(hw_thread)).flat_map(|port| p.hw_threads(port));
                    let mine: Vec<u8> = mine.map(|h| h.0 / (hw_threads / cores)).collect();
                    assert_eq!(
                        mine,
                        vec![hw_thread.0 / (hw_threads / cores); usize::from(hw_threads / cores)]
                    );
                }
                let all: usize = (0..p.count()).map(|i| p.hw_threads(PortId(i as u8)).count()).sum();
                assert_eq!(all, usize::from(hw_threads), "a channel's buffer has no thread");
                assert_eq!(p.of_network(HwThread(hw_threads + 1)), PortId(p.local + 1));
                assert_eq!(p.in_network(PortId(p.local + 1)), Some(HwThread(hw_threads + 1)));
                assert_eq!(p.share_caches(), per != BufferPer::Core && hw_threads > cores);
                let shared = per == BufferPer::Shared && hw_threads > cores;
                assert_eq!(p.pooled, shared);
                assert_eq!(p.physical(), if per == BufferPer::Thread { hw_threads } else { cores });
                for hw_thread in (0..hw_threads).map(HwThread) {
                    let pool: Vec<u8> = p.pool(p.of(hw_thread)).map(|port| port.0).collect();
                    let own = hw_thread.0 / (hw_threads / cores) * (hw_threads / cores);
                    let core: Vec<u8> = (own..own + hw_threads / cores).collect();
                    assert_eq!(pool, if shared { core } else { vec![p.of(hw_thread).0] });
                }
                let channel = p.of_network(HwThread(hw_threads + 1));
                assert_eq!(p.pool(channel).collect::<Vec<_>>(), [channel]);
            }
        }
    }
}
