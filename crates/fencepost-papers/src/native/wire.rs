//! Clients that persist on a server process, beside the same clients simulated.

use super::runs::refused;
use super::wire_judge::judge;
use fencepost_designs::registry;
use fencepost_machine::network::Protocol;
use fencepost_native as real;
use fencepost_native::{
    Children, ClientsPlan, Memory, ProtocolTimes, ServerPlan, WireKills, WireRequest, WireTimes, WireTransport,
};
use fencepost_run::config::{Resolved, clients::protocol_of, parse_set};
use fencepost_run::request::Request;
use fencepost_run::run::run;
use fencepost_run::{BadInput, LabError};
use serde::Serialize;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Transactions simulated of each client: the simulated network has no noise.
const SIMULATED: u32 = 400;
/// The longest timeout and round trip of a simulated network here, in nanoseconds.
const TIMEOUT: f64 = 10e6;
const LONGEST: f64 = 2.5e6;
/// What is run if nothing is named: the clients that stand for an application.
const CLIENTS: [&str; 5] = ["hashmap", "ctree", "ycsb", "tpcc", "memcached"];

/// A run of clients and a server process.
#[derive(Clone, Debug)]
pub struct NetRequest {
    /// What clients do; empty for all that stand for an application.
    pub clients: Vec<String>,
    /// Connections, each with a client of its own.
    pub channels: u8,
    /// What connects them.
    pub transport: WireTransport,
    /// Address of this machine at which the server listens.
    pub address: IpAddr,
    /// File with the secret that server and clients share; asked for beyond the loopback network.
    pub token: Option<PathBuf>,
    /// Transactions of each client and protocol.
    pub ops: u32,
    /// Added to every message on its way.
    pub delay: Duration,
    /// Of what clients do, and of kills.
    pub seed: u64,
    /// Where the server's memory lies; `None` is a temporary file.
    pub pm: Option<PathBuf>,
    /// Machine on which the same clients are simulated.
    pub machine: String,
    /// Parameters of clients.
    pub sets: Vec<String>,
}

/// One kind of client.
#[derive(Clone, Debug, Serialize)]
pub struct NetRow {
    /// What it does.
    pub client: String,
    /// A round trip after every epoch.
    pub sync: ProtocolTimes,
    /// A round trip after every transaction.
    pub bsp: ProtocolTimes,
    /// Time per transaction, `sync` over `bsp`, with what clients compute.
    pub ratio: f64,
    /// Round trips that `bsp` saves, per transaction that persists.
    pub saved: f64,
    /// The same ratio simulated on the machine's network.
    pub simulated: f64,
    /// The same, with the round trip that was measured; absent if that is too long for the simulated network's timeout.
    pub simulated_here: Option<f64>,
}

/// Clients timed under both protocols.
#[derive(Clone, Debug, Serialize)]
pub struct NetReport {
    /// What carried the messages.
    pub transport: String,
    /// `clwb`, `clflushopt` or `clflush`.
    pub flush_instruction: &'static str,
    /// What the server does to make an epoch durable.
    pub durable_by: String,
    /// The server's memory.
    pub memory: Memory,
    /// Connections, each with a client.
    pub channels: u8,
    /// Transactions of each client and protocol.
    pub ops: u32,
    /// Added to every message on its way, in microseconds.
    pub delay_us: u64,
    /// An empty message and its answer, in nanoseconds: fastest, and median.
    pub round_trip_ns: (f64, f64),
    /// Machine simulated.
    pub machine: String,
    /// Each kind of client.
    pub rows: Vec<NetRow>,
    /// Files whose audit failed.
    pub violations: u32,
    /// Why the first did.
    pub why: Option<String>,
    /// What to know when reading it.
    pub notes: Vec<&'static str>,
}

const NOTES: [&str; 1] = [
    "a message passes two system calls and the scheduler: loopback understates what pipelining saves on a network of remote writes",
];

/// Clients of one kind, known to be possible.
struct Kind {
    name: String,
    wire: WireRequest,
}

impl NetRequest {
    fn names(&self) -> Vec<String> {
        match self.clients.is_empty() {
            true => CLIENTS.map(str::to_owned).to_vec(),
            false => self.clients.clone(),
        }
    }
    fn simulated(&self, client: &str, protocol: Protocol) -> Result<Request, LabError> {
        let design = registry::all().iter().find(|d| protocol_of(d) == Some(protocol));
        let design = design.ok_or_else(|| LabError::Internal("no design for a protocol".into()))?;
        let mut sets = self.sets.clone();
        sets.push(format!("network.clients={}", self.channels));
        sets.push(format!("network.channels={}", self.channels));
        Ok(Request {
            program: client.into(),
            design: design.name.into(),
            machine: self.machine.clone(),
            ops: self.ops.min(SIMULATED),
            warmup: 0,
            seed: self.seed,
            sets,
            ..Request::default()
        })
    }
    /// Every kind of client. Names and parameters are refused as for simulated clients.
    fn kinds(&self) -> Result<Vec<Kind>, LabError> {
        for text in &self.sets {
            let set = parse_set(text)?;
            if set.section != "client" || set.key == "workload" {
                let e = BadInput::new(format!("`--set {text}` sets nothing of clients of a server process"));
                return Err(e
                    .at(set.key_place)
                    .hint("only parameters of clients, client.NAME=VALUE")
                    .into());
            }
        }
        let kind = |name: String| {
            let resolved = Resolved::resolve(&self.simulated(&name, Protocol::Bsp)?)?;
            if !resolved.is_replication() {
                let e = BadInput::new(format!("`{name}` is no client"));
                return Err(e.hint(format!("known: {}, blocks", CLIENTS.join(", "))).into());
            }
            Ok(Kind {
                name,
                wire: WireRequest {
                    client: resolved.machine.client.clone(),
                    channels: self.channels,
                    transport: self.transport,
                    address: self.address,
                    token: self.token.clone(),
                    seed: self.seed,
                },
            })
        };
        self.names().into_iter().map(kind).collect()
    }
    fn kind(&self) -> Result<Kind, LabError> {
        let mut kinds = self.kinds()?;
        kinds.pop().ok_or_else(|| BadInput::new("name a client").into())
    }
    /// Simulated operations per second, BSP over Sync.
    fn ratio(&self, client: &str, more: &[String]) -> Result<f64, LabError> {
        let rate = |protocol| {
            let mut request = self.simulated(client, protocol)?;
            request.sets.extend_from_slice(more);
            Ok::<f64, LabError>(run(&request)?.ops_per_s)
        };
        Ok(rate(Protocol::Bsp)? / rate(Protocol::Sync)?)
    }
}

/// How processes are started, given the name of the client.
pub struct NetChildren<'a> {
    /// A server.
    pub server: &'a dyn Fn(&str, &ServerPlan) -> Command,
    /// Clients.
    pub clients: &'a dyn Fn(&str, &ClientsPlan) -> Command,
}

impl NetChildren<'_> {
    /// Calls `work` with the processes of one of `kinds`.
    fn with<R>(&self, kinds: &[Kind], work: impl FnOnce(&Children<'_>) -> R) -> R {
        let name = |r: &WireRequest| {
            let kind = kinds.iter().find(|k| k.wire.client.workload == r.client.workload);
            kind.map_or("", |k| k.name.as_str())
        };
        work(&Children {
            server: &|r, plan| (self.server)(name(r), plan),
            clients: &|r, plan| (self.clients)(name(r), plan),
        })
    }
}

/// Times both protocols on this machine and simulated.
pub fn net(n: &NetRequest, children: &NetChildren<'_>) -> Result<NetReport, LabError> {
    let flush_instruction = real::flush_instruction(&[]).map_err(refused)?;
    let kinds = n.kinds()?;
    let mut measured: Vec<WireTimes> = Vec::new();
    for kind in &kinds {
        let place = (n.delay, n.pm.as_deref());
        let times = children.with(&kinds, |c| real::wire_timed(&kind.wire, n.ops, place, c, &judge));
        measured.push(times.map_err(refused)?);
    }
    let least = |f: fn(&WireTimes) -> f64| measured.iter().map(f).fold(f64::INFINITY, f64::min);
    let round_trip_ns = (least(|t| t.round_trip_ns_min), least(|t| t.round_trip_ns_median));
    let here = [
        format!("network.latency={}ns", (round_trip_ns.1 / 2.0).ceil()),
        format!("network.timeout={TIMEOUT}ns"),
    ];
    let row = |(kind, t): (&Kind, &WireTimes)| {
        let per = |p: &ProtocolTimes| p.round_trips as f64 / (p.persisted as f64).max(1.0);
        Ok(NetRow {
            client: kind.name.clone(),
            sync: t.sync,
            bsp: t.bsp,
            ratio: t.ratio,
            saved: per(&t.sync) - per(&t.bsp),
            simulated: n.ratio(&kind.name, &[])?,
            simulated_here: match round_trip_ns.1 < LONGEST {
                true => Some(n.ratio(&kind.name, &here)?),
                false => None,
            },
        })
    };
    let rows = kinds.iter().zip(&measured).map(row).collect::<Result<_, LabError>>()?;
    let first = measured.first().ok_or_else(|| BadInput::new("name a client"))?;
    Ok(NetReport {
        transport: first.transport.clone(),
        flush_instruction,
        durable_by: first.durable_by.clone(),
        memory: first.memory.clone(),
        channels: n.channels,
        ops: n.ops,
        delay_us: n.delay.as_micros() as u64,
        round_trip_ns,
        machine: n.machine.clone(),
        rows,
        violations: measured.iter().filter(|t| t.why.is_some()).count() as u32,
        why: measured.iter().find_map(|t| t.why.clone()),
        notes: NOTES.to_vec(),
    })
}

/// Kills servers and clients `kills` times; the kinds of clients take turns.
pub fn net_killed(n: &NetRequest, kills: u32, children: &NetChildren<'_>) -> Result<WireKills, LabError> {
    real::flush_instruction(&[]).map_err(refused)?;
    let kinds = n.kinds()?;
    let requests: Vec<WireRequest> = kinds.iter().map(|k| k.wire.clone()).collect();
    let place = (n.seed, n.pm.as_deref());
    let killed = children.with(&kinds, |c| real::wire_killed(&requests, kills, place, c, &judge));
    killed.map_err(refused)
}

/// What a server process runs.
pub fn net_server(n: &NetRequest, plan: &ServerPlan) -> Result<(), LabError> {
    real::wire_server(&n.kind()?.wire, plan).map_err(refused)
}
/// What a process of clients runs.
pub fn net_clients(n: &NetRequest, plan: &ClientsPlan) -> Result<(), LabError> {
    real::wire_clients(&n.kind()?.wire, plan).map_err(refused)
}
