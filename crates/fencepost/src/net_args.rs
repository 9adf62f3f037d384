//! Arguments of `native net`.

use clap::{Args, ValueEnum, value_parser};
use fencepost_papers::native::{MOST_CHANNELS, NetRequest, WireTransport};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

/// `native net`.
#[derive(Args, Debug)]
pub struct NetArgs {
    /// What clients do: hashmap, ctree, ycsb, tpcc, memcached (all of them unless some are named), blocks.
    pub clients: Vec<String>,
    /// Which clients, and how many.
    #[command(flatten)]
    pub wire: WireSettings,
    /// Transactions of each client and protocol.
    #[arg(long, default_value_t = 2000, value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub ops: u32,
    /// Microseconds added to every message on its way, by a proxy between the processes.
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 0, value_parser = value_parser!(u32).range(0..=1000))]
    pub delay: u32,
    /// File that holds the server's memory: a new one, or one of an earlier run. Default: a temporary file.
    #[arg(long, value_name = "PATH")]
    pub pm: Option<PathBuf>,
    /// Machine on which the same clients are simulated.
    #[arg(short, long, default_value = "broi")]
    pub machine: String,
    /// Kill the server, the clients or both N times at random moments instead of timing them, behind a proxy that delays messages, loses
    /// acknowledgements and breaks connections; audit what they left.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..),
        conflicts_with_all = ["ops", "delay", "machine"])]
    pub kill: Option<u32>,
}

/// Settings that every process needs.
#[derive(Args, Debug)]
pub struct WireSettings {
    /// Connections, each with a client of its own.
    #[arg(long, default_value_t = 2, value_parser = value_parser!(u8).range(1..=i64::from(MOST_CHANNELS)))]
    pub channels: u8,
    /// What carries messages between the processes.
    #[arg(long, value_enum, default_value_t = TransportArg::Tcp)]
    pub transport: TransportArg,
    /// Address of this machine at which the server listens. Beyond the loopback network `--token-file` is asked for.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub listen: IpAddr,
    /// File with the secret that server and clients share: 16 bytes or more, readable by its owner only.
    #[arg(long, value_name = "PATH")]
    pub token_file: Option<PathBuf>,
    /// Seed of every random choice.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Set a parameter of the clients: client.NAME=VALUE; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
}

/// Transports.
#[derive(Copy, Clone, Debug, ValueEnum, PartialEq, Eq)]
pub enum TransportArg {
    /// TCP sockets.
    Tcp,
    /// The tcp provider of libfabric, in builds with `--features libfabric`, if the library (libfabric.so.1) is installed.
    Libfabric,
}
impl TransportArg {
    fn transport(self) -> WireTransport {
        match self {
            TransportArg::Tcp => WireTransport::Tcp,
            TransportArg::Libfabric => WireTransport::Libfabric,
        }
    }
}

/// The clients of one server.
#[derive(Args, Debug)]
pub struct WireClients {
    /// What they do.
    pub client: String,
    /// How many.
    #[command(flatten)]
    pub wire: WireSettings,
}

impl NetArgs {
    /// The request.
    pub fn request(&self) -> NetRequest {
        NetRequest {
            clients: self.clients.clone(),
            ops: self.ops,
            delay: Duration::from_micros(self.delay.into()),
            pm: self.pm.clone(),
            machine: self.machine.clone(),
            ..self.wire.request()
        }
    }
}
impl WireClients {
    /// The request of one process.
    pub fn request(&self) -> NetRequest {
        NetRequest {
            clients: vec![self.client.clone()],
            ..self.wire.request()
        }
    }
}
impl WireSettings {
    fn request(&self) -> NetRequest {
        NetRequest {
            clients: Vec::new(),
            channels: self.channels,
            transport: self.transport.transport(),
            address: self.listen,
            token: self.token_file.clone(),
            ops: 1,
            delay: Duration::ZERO,
            seed: self.seed,
            pm: None,
            machine: "broi".into(),
            sets: self.sets.clone(),
        }
    }
    /// The arguments that say the same to another process.
    pub fn again(&self) -> Vec<String> {
        let mut out = vec![format!("--channels={}", self.channels), format!("--seed={}", self.seed)];
        if self.transport == TransportArg::Libfabric {
            out.push("--transport=libfabric".into());
        }
        if self.listen != Ipv4Addr::LOCALHOST {
            out.push(format!("--listen={}", self.listen));
        }
        if let Some(token) = &self.token_file {
            out.push(format!("--token-file={}", token.display()));
        }
        out.extend(self.sets.iter().map(|s| format!("--set={s}")));
        out
    }
}
