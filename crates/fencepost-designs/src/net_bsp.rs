//! `net-bsp`: persistence over a network with buffered strict persistence.
//!
//! # Idea
//! A client persists a transaction on a remote node: log, data, commit, each an epoch that must be durable before the next. Instead of waiting
//! for each, it sends all of them at once and waits for one acknowledgement, of the last. The order is kept at the server, which
//! records it: every block of an `rdma_pwrite` is a barrier region, and the persist path that orders local threads orders the regions
//! of a channel too.
//!
//! # Paper
//! Hu et al., Persistence Parallelism Optimization: A Holistic Approach from Memory Bus to RDMA Network, MICRO 2018, sections IV-C and V-A.
//!
//! # Where order is kept
//! *Network*: a channel delivers in the order of sending. *Adapter*: it writes the lines of a block into the last-level cache (DDIO) and
//! hands them to the channel's remote persist buffer; a length counter and the 8 B store of its address range tell where the block ends,
//! and there a FENCE is recorded. *Remote persist buffer*: as a core's in `delegated-merge`: in order, and behind what coherence says that
//! it follows; requests of local threads find its entries in the same way. *Acknowledgement*: when the FENCE of a region has drained and
//! every write before it is durable, the adapter sends the persist ACK.
//! With `server = "broi"` the server's buffers are freed, and its controller schedules, as in `broi`; each channel has a remote BROI entry.
//! *Loss*: an ACK that does not come aborts the transaction, which is persisted again. The server remembers for each client which epoch
//! comes next: what it has applied it does not apply again, and after a gap it takes nothing.
//!
//! # Durable at
//! The server's device, or acceptance where its memory says so.
//!
//! # Contract
//! `rcbsp` for local threads and channels alike: a channel is a thread whose blocks are separated by FENCEs. Beyond it, of each channel the
//! replica holds a prefix of its epochs, and what a client takes to be durable is.
//!
//! # Hardware cost
//! A persist buffer and its filters for each channel, and 8 B for the range of the block that is being taken. The server's own persist path is
//! that of `delegated-merge`, or of `broi`.
//!
//! # Deviations
//! A client's processor is not simulated: it computes for a declared time. The paper adds measured delays to the sources of its clients.
//! Recognising what was applied before is ours; the paper says only that an aborted transaction is persisted again.

use crate::broi::{self, Broi, BroiParams, Schedules};
use crate::delegated::{
    Delegated, DelegatedParams, FAULTS, SMALLEST, VARIANTS, checked_without_gathering, dialect, merge_cost,
};
use crate::info::{
    Conviction, CostItem, DesignInfo, Honours, MachineShape, Paper, ParamValues, PlantedFault, Promise, Scenario,
    Values, configure,
};
use fencepost_contract::ContractKind;
use fencepost_kernel::params::{Field, ParamError, Params as _};
use fencepost_machine::network::{NetworkSpec, Protocol};
use fencepost_machine::seam::Design;

/// Where network persistence was published.
pub(crate) const BROI: Paper = Paper {
    short: "broi",
    title: "Persistence Parallelism Optimization: A Holistic Approach from Memory Bus to RDMA Network",
    venue: "MICRO 2018",
    bibtex: "@inproceedings{hu2018persistence,\n  title = {Persistence Parallelism Optimization: A Holistic Approach from Memory Bus to {RDMA} Network},\n  author = {Hu, Xing and Ogleari, Matheus and Zhao, Jishen and Li, Shuangchen and Basak, Abanti and Xie, Yuan},\n  booktitle = {Proceedings of the 51st Annual IEEE/ACM International Symposium on Microarchitecture (MICRO)},\n  year = {2018}\n}",
};

fencepost_kernel::param_enum! {
    /// How a server orders what arrives at its controller.
    pub enum ServerPath {
        /// Epochs of all buffers merge to the largest size, as in `delegated-merge`.
        Merge = "merge",
        /// A BROI entry for each buffer, scheduled by bank-level parallelism. The parameters of its controller, which `merge` does not look
        /// at, are those of `broi`.
        Broi = "broi",
    }
}
fencepost_kernel::params! {
    /// What servers of clients have besides persist buffers.
    pub struct ServerParams {
        /// How persists of threads and channels are ordered at the server (ours: the paper compares its network and its controller apart).
        server: ServerPath = ServerPath::Merge,
    }
}
/// The parameters of a server, of its persist buffers and of its BROI controller.
pub(crate) fn fields() -> Vec<Field> {
    [
        ServerParams::fields(),
        DelegatedParams::fields(),
        BroiParams::of_controller(),
    ]
    .concat()
}
/// What a server is given.
struct Parts {
    server: ServerPath,
    buffers: DelegatedParams,
    /// Acts where the server has a BROI controller.
    controller: BroiParams,
}
impl Parts {
    fn of(values: ParamValues<'_>) -> Result<Parts, ParamError> {
        let of_controller = BroiParams::of_controller();
        let (mut server, mut buffers, mut controller) = (Vec::new(), Vec::new(), Vec::new());
        for value in values.iter().cloned() {
            match value.0.as_str() {
                "server" => server.push(value),
                name if of_controller.iter().any(|f| f.name == name) => controller.push(value),
                _ => buffers.push(value),
            }
        }
        Ok(Parts {
            server: configure::<ServerParams>(&server)?.server,
            buffers: checked_without_gathering(configure(&buffers)?)?,
            controller: configure(&controller)?,
        })
    }
    fn broi(self, shape: MachineShape) -> BroiParams {
        self.controller.of_server(&self.buffers, channels(shape))
    }
}
/// Every variant of delegated ordering, and the other server.
pub(crate) const SERVERS: &[Values] = &[
    VARIANTS[0],
    VARIANTS[1],
    VARIANTS[2],
    VARIANTS[3],
    VARIANTS[4],
    &[("server", "broi")],
    &[("server", "broi"), ("path_slot", "40ns")],
    &[
        ("server", "broi"),
        ("hand_over", "queue"),
        ("queue", "2"),
        ("leaves", "complete"),
        ("ready", "all"),
    ],
];

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "net-bsp",
    summary: "network persistence: all epochs of a transaction in flight, one persist ACK",
    source: include_str!("net_bsp.rs"),
    paper: BROI,
    dialect: |environment| dialect("net-bsp", environment),
    contract: |_| ContractKind::Rcbsp,
    idiom_of: &[],
    promise: Promise {
        buffered: None,
        persists_every_store: true,
        reorders: true,
        honours: Honours::ARM_BARRIERS,
    },
    sound: |_| true,
    params: fields,
    variants: SERVERS,
    smallest: SMALLEST,
    build: |values, shape| server(values, shape, Protocol::Bsp),
    cost,
    faults: NETWORK_FAULTS,
    log: None,
};

/// The server's mechanism for clients of a protocol.
pub(crate) fn server(
    values: ParamValues<'_>,
    shape: MachineShape,
    protocol: Protocol,
) -> Result<Box<dyn Design>, ParamError> {
    let parts = Parts::of(values)?;
    Ok(match parts.server {
        ServerPath::Merge => Box::new(Delegated::new(parts.buffers, shape, true).for_clients(protocol)),
        ServerPath::Broi => {
            let params = broi::checked(parts.broi(shape), shape)?;
            Box::new(Broi::new(params, shape, Schedules::BankParallel).for_clients(protocol))
        }
    })
}

/// Channels of the machine, or of a network that nothing is said of.
fn channels(shape: MachineShape) -> u8 {
    match shape.channels {
        0 => NetworkSpec::default().channels,
        n => n,
    }
}

/// Storage of the server: its own path, a buffer for each channel, and the range of the block being taken.
pub(crate) fn cost(values: ParamValues<'_>, shape: MachineShape) -> Result<Vec<CostItem>, ParamError> {
    let parts = Parts::of(values)?;
    let (server, channels) = (parts.server, channels(shape));
    let mut items = match server {
        ServerPath::Merge => merge_cost(&parts.buffers, shape),
        ServerPath::Broi => broi::storage(&parts.broi(shape), shape),
    };
    let item = |what: &str, bits, paper_bits, note: &str| CostItem {
        what: what.into(),
        bits,
        paper_bits,
        note: note.into(),
    };
    if server == ServerPath::Merge {
        let own: u64 = items.iter().map(|i| i.bits).sum();
        items.push(item(
            "remote persist buffers",
            own * u64::from(channels),
            None,
            &format!("{channels} channels, each as a core's"),
        ));
    }
    items.push(item(
        "remote range store, per channel",
        48 + 16,
        Some(64),
        "next address 48, length counter 16; the paper counts 8 B",
    ));
    Ok(items)
}

/// A fault that the audit of the replica, or conformance, convicts on a client's run.
const fn on_clients(
    name: &'static str,
    breaks: &'static str,
    conviction: Conviction,
    sets: &'static [&'static str],
) -> PlantedFault {
    PlantedFault {
        name,
        breaks,
        values: &[],
        conviction,
        scenario: Scenario::Program {
            program: "hashmap",
            machine: "broi",
            sets,
        },
    }
}

/// What can go wrong between client and device.
const NETWORK_FAULTS: &[PlantedFault] = &[
    on_clients(
        "network.reorders",
        "a channel keeps the order in which messages were sent",
        Conviction::Recovery,
        &[],
    ),
    ACK_BEFORE_DURABLE,
    APPLIED_TWICE,
    on_clients(
        "network.boundary-lost",
        "the end of every block is a barrier",
        Conviction::Recovery,
        &[],
    ),
    FAULTS[2],
    PlantedFault::order(
        "delegated.remote-unordered",
        "a line from the network follows the persists that it overwrites",
        &[("path_slot", "60ns")],
    ),
];
pub(crate) const ACK_BEFORE_DURABLE: PlantedFault = on_clients(
    "network.ack-before-durable",
    "an ACK is sent when its region is durable",
    Conviction::Recovery,
    // A short network: the ACK would otherwise arrive when the region is durable after all.
    &["network.latency=1ns"],
);
pub(crate) const APPLIED_TWICE: PlantedFault = on_clients(
    "network.applied-twice",
    "a block that was applied is not applied again",
    Conviction::Recovery,
    &["network.lost_acks=300"],
);
