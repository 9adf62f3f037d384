//! What a machine is made of: immutable parameters, declared once.

use crate::memory::{ControllerSpec, MediaSpec, ModuleSpec};
use crate::network::NetworkSpec;
use crate::seam::{FenceAction, FenceExecution};
use fencepost_kernel::{Bytes, CoreId, Hertz, HwThread, Ps, params};

fencepost_kernel::param_enum! {
    /// Order in which a thread's stores perform.
    pub enum StoreOrder {
        /// Arm-like: committed stores to different lines perform in any order between fences.
        Relaxed = "relaxed",
        /// x86-like: stores perform in program order.
        Tso = "tso",
    }
}
fencepost_kernel::param_enum! {
    /// How a core overlaps its instructions.
    pub enum Pipeline {
        /// Out of order within the reorder buffer.
        OutOfOrder = "out-of-order",
        /// One instruction at a time; every access completes before the next instruction starts.
        InOrder = "in-order",
    }
}

fencepost_kernel::param_enum! {
    /// Who says how fences execute.
    pub enum Fences {
        /// The design, for each kind of fence.
        Declared = "declared",
        /// Every fence holds up retirement behind it.
        Retire = "retire",
        /// Nothing behind any fence is dispatched before it commits.
        Serialize = "serialize",
        /// Every fence that waits for stores does so in the store queue.
        Buffered = "buffered",
    }
}
impl Fences {
    /// How a fence executes for which the design declares `declared`. One that is declared a marker among the stores stays one: it
    /// makes no thread wait on any machine.
    pub fn execution(self, declared: FenceAction) -> FenceExecution {
        match self {
            _ if declared == FenceAction::MARKER => FenceExecution::Buffered,
            Fences::Declared => declared.execution,
            Fences::Retire => FenceExecution::Retire,
            Fences::Serialize => FenceExecution::Serialize,
            Fences::Buffered => FenceExecution::Buffered,
        }
    }
}

fencepost_kernel::param_enum! {
    /// What a line flush pays on its way.
    pub enum CleanPath {
        /// The flush goes to the bus at once, and its answer is there when the controller takes the line.
        Acceptance = "acceptance",
        /// A look-up of every level below the first, memory, and the answer's way back over the buses.
        Levels = "levels",
    }
}

params! {
    /// Cores.
    pub struct CoreSpec {
        /// Number of cores.
        #[range(1..=64)]
        cores: u8 = 8,
        /// Hardware threads per core; they share the core's private caches.
        #[range(1..=64)]
        threads_per_core: u8 = 1,
        /// Core clock.
        clock: Hertz = Hertz(2_000_000_000),
        /// How instructions overlap.
        pipeline: Pipeline = Pipeline::OutOfOrder,
        /// Order in which stores perform.
        store_order: StoreOrder = StoreOrder::Relaxed,
        /// Instructions dispatched per cycle.
        #[range(1..=256)]
        dispatch_width: u32 = 6,
        /// Instructions fetched, decoded and renamed per cycle: dispatch is no faster.
        #[range(1..=256)]
        front_end_width: u32 = 6,
        /// Instructions committed per cycle.
        #[range(1..=256)]
        commit_width: u32 = 8,
        /// Sustained instructions per cycle between memory operations (their own dependences limit them).
        #[range(1..=256)]
        compute_ipc: u32 = 2,
        /// What instructions behind a fence may do before it completes.
        fence_execution: Fences = Fences::Declared,
        /// Reorder buffer entries.
        #[range(1..=1 << 16)]
        rob: u32 = 40,
        /// Load queue entries.
        #[range(1..=1 << 16)]
        load_queue: u32 = 16,
        /// Store queue entries.
        #[range(1..=1 << 16)]
        store_queue: u32 = 16,
    }
}

params! {
    /// One cache.
    pub struct CacheSpec {
        /// Capacity.
        #[range(Bytes(64)..=Bytes(1 << 30))]
        size: Bytes = Bytes(64 << 10),
        /// Associativity.
        #[range(1..=1 << 16)]
        ways: u32 = 4,
        /// Hit latency.
        latency: Ps = Ps::from_ns(2),
        /// Outstanding misses.
        #[range(1..=1 << 16)]
        mshrs: u32 = 6,
        /// Lines that may wait in the write-back buffer.
        #[range(1..=1 << 16)]
        writeback_buffer: u32 = 16,
    }
}
impl CacheSpec {
    /// Number of sets.
    pub fn sets(&self) -> u64 {
        self.size.0 / 64 / u64::from(self.ways)
    }
}

params! {
    /// The coherence bus.
    pub struct BusSpec {
        /// Time between two grants.
        occupancy: Ps = Ps(500),
        /// From a miss in the private caches to the grant of an idle bus.
        arbitration: Ps = Ps::from_ns(1),
        /// From the grant to every cache's snoop result.
        snoop: Ps = Ps::from_ns(4),
        /// Transfer of a line from one core's cache to another's, after the snoop result.
        transfer: Ps = Ps::from_ns(4),
        /// From the bus to a memory controller, and back with data, each way.
        to_memory: Ps = Ps::from_ns(2),
        /// What a line flush pays on its way through the levels.
        clean_path: CleanPath = CleanPath::Acceptance,
    }
}

/// A memory: a controller and the media behind it.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct MemorySpec {
    /// The controller.
    pub controller: ControllerSpec,
    /// The media.
    pub media: MediaSpec,
    /// The module stage between controller and media, if it has entries.
    pub module: ModuleSpec,
}

/// A whole machine.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineSpec {
    /// Cores.
    pub core: CoreSpec,
    /// Private first-level data caches.
    pub l1: CacheSpec,
    /// Private second-level caches, if the machine has them.
    pub l2: Option<CacheSpec>,
    /// Shared last-level cache.
    pub llc: CacheSpec,
    /// Coherence bus.
    pub bus: BusSpec,
    /// Volatile memory.
    pub dram: MemorySpec,
    /// Persistent memory.
    pub pm: MemorySpec,
    /// Bytes reserved for a hardware log, at the top of persistent memory.
    pub log_area: Bytes,
    /// Clients that persist on this machine.
    pub network: NetworkSpec,
}
impl Default for MachineSpec {
    fn default() -> Self {
        MachineSpec {
            core: CoreSpec::default(),
            l1: CacheSpec::default(),
            l2: None,
            llc: CacheSpec {
                size: Bytes(8 << 20),
                ways: 16,
                latency: Ps::from_ns(16),
                mshrs: 16,
                writeback_buffer: 16,
            },
            bus: BusSpec::default(),
            dram: MemorySpec::default(),
            pm: MemorySpec::default(),
            log_area: Bytes(32 << 20),
            network: NetworkSpec::default(),
        }
    }
}

/// Why a machine cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {why}")]
pub struct SpecError {
    /// Section and parameter, as configuration files name it ("l1.ways").
    pub path: &'static str,
    /// What is wrong, and what would do.
    pub why: String,
}

impl MachineSpec {
    /// Number of hardware threads.
    pub fn hw_threads(&self) -> u8 {
        self.core.cores.saturating_mul(self.core.threads_per_core)
    }
    /// The core of a thread: siblings are numbered next to each other.
    #[inline]
    pub fn core_of(&self, hw_thread: HwThread) -> CoreId {
        match self.core.threads_per_core {
            0 | 1 => CoreId(hw_thread.0),
            n => CoreId(hw_thread.0 / n),
        }
    }
    /// Checks every size; the first impossible one is reported.
    pub fn validate(&self) -> Result<(), SpecError> {
        let fail = |path, why: &str| {
            Err(SpecError {
                path,
                why: why.to_string(),
            })
        };
        if self.core.cores == 0 || self.core.threads_per_core == 0 {
            return fail(
                "core.cores",
                "a machine needs at least one core and one thread per core",
            );
        }
        if u32::from(self.core.cores) * u32::from(self.core.threads_per_core) > 64 {
            return fail("core.cores", "at most 64 hardware threads are supported");
        }
        if u32::from(self.hw_threads()) + u32::from(self.network.ports()) > 64 {
            return fail(
                "network.channels",
                "hardware threads and network channels are at most 64 together",
            );
        }
        if !(1 << 10..=1 << 37).contains(&self.log_area.0) {
            return fail(
                "machine.log_area",
                "a hardware log needs at least 1 KiB (its head and one block group) and at most 128 GiB",
            );
        }
        let positive = [
            ("core.dispatch_width", self.core.dispatch_width),
            ("core.front_end_width", self.core.front_end_width),
            ("core.commit_width", self.core.commit_width),
            ("core.compute_ipc", self.core.compute_ipc),
            ("core.rob", self.core.rob),
            ("core.load_queue", self.core.load_queue),
            ("core.store_queue", self.core.store_queue),
        ];
        if let Some((path, _)) = positive.iter().find(|p| p.1 == 0) {
            return fail(path, "must be at least 1");
        }
        let widths = [
            ("core.dispatch_width", self.core.dispatch_width, 256),
            ("core.front_end_width", self.core.front_end_width, 256),
            ("core.commit_width", self.core.commit_width, 256),
            ("core.compute_ipc", self.core.compute_ipc, 256),
            ("core.rob", self.core.rob, 1 << 16),
            ("core.load_queue", self.core.load_queue, 1 << 16),
            ("core.store_queue", self.core.store_queue, 1 << 16),
            ("l1.mshrs", self.l1.mshrs, 255),
            ("llc.mshrs", self.llc.mshrs, 1 << 16),
        ];
        if let Some((path, _, most)) = widths.iter().find(|p| p.1 > p.2) {
            return fail(path, &format!("must be at most {most}"));
        }
        if self.core.clock.0 > 1_000_000_000_000 {
            return fail("core.clock", "must be at most 1000GHz (time is counted in picoseconds)");
        }
        check_cache(["l1.size", "l1.ways", "l1.mshrs", "l1.writeback_buffer"], &self.l1)?;
        self.check_private("l1.size", &self.l1)?;
        if let Some(l2) = &self.l2 {
            check_cache(["l2.size", "l2.ways", "l2.mshrs", "l2.writeback_buffer"], l2)?;
            self.check_private("l2.size", l2)?;
        }
        check_cache(["llc.size", "llc.ways", "llc.mshrs", "llc.writeback_buffer"], &self.llc)
    }
    fn check_private(&self, path: &'static str, cache: &CacheSpec) -> Result<(), SpecError> {
        let most = PRIVATE_BYTES / u64::from(self.core.cores);
        if cache.size.0 <= most {
            return Ok(());
        }
        let why = format!(
            "with {} cores a private cache holds at most {most} B (1 GiB in all)",
            self.core.cores
        );
        Err(SpecError { path, why })
    }
}

/// Most bytes that the private caches of one level may hold, all cores together: the simulator keeps tags for every line.
const PRIVATE_BYTES: u64 = 1 << 30;

fn check_cache(paths: [&'static str; 4], c: &CacheSpec) -> Result<(), SpecError> {
    let fail = |path, why: String| Err(SpecError { path, why });
    if c.ways == 0 {
        return fail(paths[1], "a cache needs at least one way".into());
    }
    let sets = c.sets();
    if sets == 0 || !sets.is_power_of_two() || sets * 64 * u64::from(c.ways) != c.size.0 {
        let why = format!(
            "{} bytes in {} ways of 64 B lines do not make a power of two of sets",
            c.size.0, c.ways
        );
        return fail(paths[0], why);
    }
    if c.mshrs == 0 {
        return fail(paths[2], "a cache needs at least one outstanding miss".into());
    }
    if c.writeback_buffer == 0 {
        return fail(paths[3], "a write-back buffer needs at least one entry".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A setting of one number, and the most that it may be.
    type Setting = (&'static str, fn(&mut MachineSpec) -> &mut u32, u32);

    #[test]
    fn widths_and_queues_may_be_as_large_as_is_said_and_no_larger() {
        let settings: [Setting; 5] = [
            ("core.dispatch_width", |s| &mut s.core.dispatch_width, 256),
            ("core.commit_width", |s| &mut s.core.commit_width, 256),
            ("core.rob", |s| &mut s.core.rob, 1 << 16),
            ("core.store_queue", |s| &mut s.core.store_queue, 1 << 16),
            ("llc.mshrs", |s| &mut s.llc.mshrs, 1 << 16),
        ];
        for (path, of, most) in settings {
            let with = |n| {
                let mut spec = MachineSpec::default();
                *of(&mut spec) = n;
                spec.validate()
            };
            assert_eq!(with(most), Ok(()), "{path}");
            let refused = with(most + 1).expect_err(path);
            assert_eq!((refused.path, refused.why), (path, format!("must be at most {most}")));
        }
    }
}
