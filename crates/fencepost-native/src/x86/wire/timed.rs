//! Both protocols timed against each other: a server process, clients in this one.

use super::super::mapping::Mapping;
use super::client::{Connection, Sending, compute};
use super::frames::Hello;
use super::killed::Judge;
use super::processes::{Children, Site, final_belief};
use super::proxy::{Proxy, Troubles};
use super::replica::durable_by;
use super::replica::size_of_file;
use super::token::{Token, random};
use super::transports;
use crate::error::NativeError;
use crate::wire::{ProtocolTimes, WireProtocol, WireRequest, WireTimes};
use fencepost_kernel::{Bytes, EpochId};
use fencepost_programs::clients::transactions;
use fencepost_programs::layout::Footprint;
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Pairs of measured rounds; one more goes before them.
const ROUNDS: u32 = 10;
/// Round trips measured.
const PINGS: usize = 300;
const TIMEOUT: Duration = Duration::from_secs(5);

/// One client's times of one protocol.
#[derive(Default)]
struct Samples {
    persist: Vec<f64>,
    /// Per transaction, of each round.
    rounds: Vec<f64>,
    round_trips: u64,
    transactions: u64,
}

/// Times `ops` transactions of each client and protocol, with messages delayed by `delay` each way.
pub fn timed(
    request: &WireRequest,
    ops: u32,
    (delay, pm): (Duration, Option<&Path>),
    children: &Children<'_>,
    judge: Judge<'_>,
) -> Result<WireTimes, NativeError> {
    let (transport, token) = (transports::open(request)?, Token::of(request)?);
    let site = Site::new(request, children, pm, false)?;
    let (dram, pm_bytes) = (Bytes(4096), size_of_file(request));
    let map_sync = Mapping::new(Footprint { dram, pm: pm_bytes }, Some(&site.file))?.map_sync();
    let memory = site.file.describe(map_sync);
    let mut server = site.server()?;
    site.listens(&mut server)?;
    let (unreliable, seed) = (false, request.seed);
    let troubles = Troubles {
        delay,
        unreliable,
        seed,
    };
    let proxy = match delay.is_zero() {
        true => None,
        false => Some(Proxy::start(transport.clone(), site.board.clone(), troubles)?),
    };
    let port = proxy.as_ref().map_or_else(|| site.board.port(), |p| p.port);
    let [a, b] = random().map_err(|e| NativeError::Child(e.to_string()))?;
    let to = |client: u8| {
        let of = Hello {
            client,
            key: [a, b | 1],
        };
        Connection::new((transport.clone(), port), (of, token.clone()), (TIMEOUT, TIMEOUT))
    };
    let mut trips = pings(to(0))?;
    let barrier = Barrier::new(request.channels.into());
    let clients: Vec<Result<Client, NativeError>> = std::thread::scope(|s| {
        let barrier = &barrier;
        let start = |c| {
            let connection = to(c);
            s.spawn(move || client(request, ops, connection, c, barrier))
        };
        let each: Vec<_> = (0..request.channels).map(start).collect();
        let gone = |_| Err(NativeError::Child("panicked".into()));
        each.into_iter().map(|t| t.join().unwrap_or_else(gone)).collect()
    });
    drop(server);
    let clients: Vec<Client> = clients.into_iter().collect::<Result<_, _>>()?;
    let beliefs = clients.iter().map(|c| final_belief(c.believed)).collect();
    let mut ratios: Vec<f64> = clients.iter().flat_map(|c| c.ratios()).collect();
    Ok(WireTimes {
        transport: transport.name(),
        sync: times(&clients, 0),
        bsp: times(&clients, 1),
        ratio: median(&mut ratios),
        round_trip_ns_min: trips.iter().copied().fold(f64::INFINITY, f64::min),
        round_trip_ns_median: median(&mut trips),
        durable_by: durable_by(map_sync, &memory.file_system, pm.is_some())?.0,
        memory,
        why: judge(request, &site.left(beliefs, false)?),
    })
}

struct Client {
    /// Sync, then BSP.
    samples: [Samples; 2],
    believed: Option<EpochId>,
}
impl Client {
    fn ratios(&self) -> impl Iterator<Item = f64> + '_ {
        let [sync, bsp] = &self.samples;
        sync.rounds.iter().zip(&bsp.rounds).map(|(s, b)| s / b)
    }
}

fn pings(mut connection: Connection) -> Result<Vec<f64>, NativeError> {
    let mut once = || {
        let time = connection.round_trip();
        let time = time.map_err(|e| NativeError::Child(format!("does not answer: {e}")))?;
        Ok::<_, NativeError>(time.as_nanos() as f64)
    };
    for _ in 0..PINGS / 10 {
        once()?;
    }
    (0..PINGS).map(|_| once()).collect()
}

fn client(
    request: &WireRequest,
    ops: u32,
    mut connection: Connection,
    client: u8,
    barrier: &Barrier,
) -> Result<Client, NativeError> {
    let transactions = transactions(&request.client, Bytes(0), request.seed);
    let mut out = Client {
        samples: <[Samples; 2]>::default(),
        believed: None,
    };
    let (mut tx, per_round) = (0, ops.div_ceil(ROUNDS));
    let mut failed = None;
    for round in 0..=ROUNDS {
        // Which goes first changes.
        for p in [round as usize % 2, 1 - round as usize % 2] {
            let protocol = [WireProtocol::Sync, WireProtocol::Bsp][p];
            barrier.wait();
            let begun = Instant::now();
            // Who failed still meets the others.
            let many = if failed.is_some() { 0 } else { per_round };
            for _ in 0..many {
                let transaction = transactions(client, tx);
                compute(transaction.compute);
                let epochs = &transaction.epochs;
                if !epochs.is_empty() {
                    let (since, believed) = (Instant::now(), &mut out.believed);
                    let sending = Sending { client, tx, epochs };
                    let waits = connection.persist(protocol, &sending, &mut |id| *believed = Some(id), &mut || {});
                    match waits {
                        Err(e) => {
                            failed.get_or_insert(e);
                            break;
                        }
                        Ok(waits) if round > 0 => {
                            out.samples[p].round_trips += waits;
                            out.samples[p].persist.push(since.elapsed().as_nanos() as f64);
                        }
                        Ok(_) => {}
                    }
                }
                tx += 1;
            }
            if round > 0 {
                out.samples[p].transactions += u64::from(many);
                out.samples[p]
                    .rounds
                    .push(begun.elapsed().as_nanos() as f64 / f64::from(per_round));
            }
        }
    }
    match failed {
        Some(e) => Err(e),
        None => Ok(out),
    }
}

fn times(clients: &[Client], p: usize) -> ProtocolTimes {
    let of = || clients.iter().map(|c| &c.samples[p]);
    let mut persist: Vec<f64> = of().flat_map(|s| s.persist.iter().copied()).collect();
    let mut rounds: Vec<f64> = of().flat_map(|s| s.rounds.iter().copied()).collect();
    ProtocolTimes {
        transactions: of().map(|s| s.transactions).sum(),
        persisted: persist.len() as u64,
        round_trips: of().map(|s| s.round_trips).sum(),
        persist_ns_min: persist.iter().copied().reduce(f64::min).unwrap_or(0.0),
        persist_ns_median: median(&mut persist),
        transaction_ns: median(&mut rounds),
    }
}
fn median(of: &mut [f64]) -> f64 {
    of.sort_unstable_by(f64::total_cmp);
    of.get(of.len() / 2).copied().unwrap_or(0.0)
}
