//! Parameters of the persist buffers and the BROI controller.

use crate::delegated::{Arbitration, BufferPer, DelegatedParams, Ports};
use crate::info::MachineShape;
use fencepost_kernel::params::{Field, ParamError, Params as _};
use fencepost_kernel::{Ps, planted};

fencepost_kernel::param_enum! {
    /// When an entry of a persist buffer is freed, and with it whatever depends on it.
    pub enum Release {
        /// When the medium has stored the line.
        Media = "media",
        /// When its data leaves the controller for the medium. Where a module buffers writes it would keep no
        /// order, and `media` is what happens.
        Drain = "drain",
    }
}
fencepost_kernel::param_enum! {
    /// What a barrier holds back at the controller.
    pub enum BarrierScope {
        /// The later sets of its own BROI entry.
        Own = "own",
        /// Every entry: nothing is scheduled until all that was scheduled before the barrier is complete.
        All = "all",
    }
}
fencepost_kernel::param_enum! {
    /// When a request of a BROI entry goes on to the controller's write queue behind it.
    pub enum HandOver {
        /// When its bank can take it: the queue holds one request for each bank, and the choice is made as late as it can be.
        Bank = "bank",
        /// As soon as the queue has an entry: there, the controller serves first what is ready, then what came first.
        Queue = "queue",
    }
}
fencepost_kernel::param_enum! {
    /// Whose first sets are the Ready-SET of equation 2.
    pub enum ReadyOver {
        /// Those of local entries for a local set, those of remote entries for a remote one.
        Local = "local",
        /// Those of all entries.
        All = "all",
    }
}
fencepost_kernel::param_enum! {
    /// When a request leaves the sets of equation 2.
    pub enum LeavesSet {
        /// When the scheduler puts it out.
        Scheduled = "scheduled",
        /// When it is complete, and with it its unit.
        Complete = "complete",
    }
}
fencepost_kernel::param_enum! {
    /// Planted faults, for tests of the checker.
    pub enum BroiFault {
        /// The mechanism as described.
        None = "none",
        /// Barrier index registers point one unit too far: the first request behind a barrier counts to the set before it.
        BarrierIndexOffByOne = "barrier-index-off-by-one",
        /// The next set becomes ready as soon as one request of the set before it has completed.
        SetReadyTooEarly = "set-ready-too-early",
        /// The scheduler chooses among all requests of a BROI entry, not among its first set.
        SchedulerIgnoresSets = "scheduler-ignores-sets",
        /// An entry is freed, and its dependants released, when it is sent to the BROI queue.
        ReleasedWhenSent = "released-when-sent",
        /// A sibling's hit in the shared L1 tells the persist buffers nothing.
        SiblingHitUnseen = "sibling-hit-unseen",
    }
}
impl BroiFault {
    /// The parameter's fault, or the one that is planted for this thread.
    pub(super) fn or_planted(self) -> BroiFault {
        let none = self == BroiFault::None;
        let off_by_one = none
            && planted!(
                "broi.barrier-index-off-by-one",
                "a barrier index register holds the position of its barrier"
            );
        if off_by_one {
            return BroiFault::BarrierIndexOffByOne;
        }
        let released_when_sent = none
            && planted!(
                "broi.released-when-sent",
                "an entry is freed, and its dependants released, when it is durable"
            );
        if released_when_sent {
            return BroiFault::ReleasedWhenSent;
        }
        self
    }
}
fencepost_kernel::params! {
    /// Parameters of persist buffers that feed a BROI controller.
    pub struct BroiParams {
        /// Entries of a persist buffer (paper: 8).
        #[range(1..=255)]
        entries: u8 = 8,
        /// FENCEs that a persist buffer holds at most (4, as in delegated ordering).
        #[range(1..=255)]
        fences: u8 = 4,
        /// Who has a persist buffer and a BROI entry (paper: "one persist buffer for every core", and one BROI entry for every thread: with
        /// `shared` both are so).
        buffers: BufferPer = BufferPer::Shared,
        /// Units of a BROI entry: requests that it holds at most (paper: 8).
        #[range(1..=255)]
        units: u8 = 8,
        /// Barrier index registers of a local BROI entry (paper: 2).
        #[range(1..=255)]
        barriers: u8 = 2,
        /// Barrier index registers of a remote BROI entry (paper: 1).
        #[range(1..=255)]
        remote_barriers: u8 = 1,
        /// Remote BROI entries, one for each RDMA channel (paper: 2).
        #[range(0..=16)]
        remote_channels: u8 = 2,
        /// Weight of a set's size against one bank in equation 2, in thousandths. Ours: "the BLP is more important than the size",
        /// so that a full entry of 8 requests weighs less than one bank.
        #[range(0..=100_000)]
        sigma: u32 = 100,
        /// Time the controller takes to decide (paper: 0.4 ns).
        scheduling: Ps = Ps(400),
        /// When a request goes on to the controller's write queue (paper: there is one of 64 entries behind the BROI entries).
        hand_over: HandOver = HandOver::Queue,
        /// Entries of the controller's write queue (paper: 64).
        #[range(1..=1024)]
        queue: u16 = 64,
        /// Whose sets compete in equation 2 (paper: "the first request sets in all BROI entries").
        ready: ReadyOver = ReadyOver::All,
        /// When a request leaves its set (paper: sets change when requests complete).
        leaves: LeavesSet = LeavesSet::Complete,
        /// Remote requests wait while more than this share of the controller's write queue is in use, in percent (ours: with one request
        /// of each of eight threads there, 12.5 % are).
        #[range(0..=100)]
        low_utilisation: u8 = 12,
        /// Remote requests that have been blocked this long go first (ours: the "10x us" that a remote request takes).
        starvation: Ps = Ps(10_000_000),
        /// What a barrier holds back at the controller.
        barrier: BarrierScope = BarrierScope::Own,
        /// When an entry is freed, and whatever depends on it.
        release: Release = Release::Media,
        /// Size in bytes of one read or write filter (32, as in delegated ordering).
        filter_bytes: u16 = 32,
        /// Hash functions of a filter (ours).
        filter_hashes: u8 = 2,
        /// Time from a persist buffer to the controller (ours).
        path_latency: Ps = Ps::from_ns(10),
        /// Time one entry occupies the path that all persist buffers share (ours).
        path_slot: Ps = Ps::from_ns(1),
        /// Who sends next (ours).
        arbitration: Arbitration = Arbitration::RoundRobin,
        /// Hand on received FENCE dependences through volatile lines (ours; false is the text of delegated ordering).
        forward: bool = true,
        /// Planted fault, for tests of the checker only.
        fault: BroiFault = BroiFault::None,
    }
}

impl BroiParams {
    /// What the persist buffers take from them.
    pub fn buffer_params(&self) -> DelegatedParams {
        DelegatedParams {
            entries: self.entries,
            fences: self.fences,
            filter_bytes: self.filter_bytes,
            filter_hashes: self.filter_hashes,
            path_latency: self.path_latency,
            path_slot: self.path_slot,
            arbitration: self.arbitration,
            forward: self.forward,
            ..DelegatedParams::default()
        }
    }
    /// The controller of a server: these, with persist buffers of those parameters, and an entry for each of so many channels.
    pub(crate) fn of_server(self, buffers: &DelegatedParams, channels: u8) -> BroiParams {
        BroiParams {
            entries: buffers.entries,
            fences: buffers.fences,
            filter_bytes: buffers.filter_bytes,
            filter_hashes: buffers.filter_hashes,
            path_latency: buffers.path_latency,
            path_slot: buffers.path_slot,
            arbitration: buffers.arbitration,
            forward: buffers.forward,
            remote_channels: channels,
            ..self
        }
    }
    /// What a server's controller has besides its persist buffers; how many channels there are its network says.
    pub(crate) fn of_controller() -> Vec<Field> {
        let buffers = DelegatedParams::fields();
        let mut fields = BroiParams::fields();
        fields.retain(|f| f.name != "remote_channels" && buffers.iter().all(|b| b.name != f.name));
        fields
    }
    /// The persist buffers, and so the BROI entries, of a machine.
    pub fn ports(&self, shape: MachineShape) -> Ports {
        Ports::new(shape, self.buffers, self.remote_channels)
    }
}

/// Refuses sizes that no machine can have.
pub(crate) fn checked(params: BroiParams, shape: MachineShape) -> Result<BroiParams, ParamError> {
    crate::delegated::checked(params.buffer_params())?;
    let local = params
        .ports(MachineShape::default())
        .local
        .max(params.ports(shape).local);
    if shape.channels > params.remote_channels {
        return Err(ParamError::Value {
            name: "remote_channels".into(),
            why: format!("the network has {} channels (network.channels)", shape.channels),
        });
    }
    let most = Ports::MAX - u16::from(local.min(64));
    if u16::from(params.remote_channels) > most {
        return Err(ParamError::Value {
            name: "remote_channels".into(),
            why: format!("at most {most} beside the {local} persist buffers of this machine"),
        });
    }
    Ok(params)
}
