//! The network alone, against a server whose persist path takes a fixed time for each region: every time in closed form.

use super::*;
use fencepost_kernel::{Addr, Bytes, EventQueue, LineAddr, RemoteEpoch, Transaction};
use std::rc::Rc;

const LATENCY: Ps = Ps(1_000_000);
const PERSIST: Ps = Ps(300_000);

/// A server that takes every line at once, refuses the ports of `full`, and persists a region `PERSIST` after the one before it.
#[derive(Default)]
struct Server {
    events: EventQueue<Step>,
    durable_at: Ps,
    durable: u64,
    taken: Vec<(u8, LineAddr)>,
    full: Vec<u8>,
}
impl Outside for Server {
    fn now(&self) -> Ps {
        self.events.now()
    }
    fn schedule(&mut self, at: Ps, step: Step) {
        self.events.schedule(at, step);
    }
    fn bus_slot(&mut self, at: Ps) -> Ps {
        at
    }
    fn take_line(&mut self, port: u8, _: &RemoteEpoch, line: LineAddr) -> bool {
        let free = !self.full.contains(&port);
        if free {
            self.taken.push((port, line));
        }
        free
    }
    fn end_region(&mut self, port: u8, region: u32) -> bool {
        self.durable_at = self.durable_at.max(self.now()) + PERSIST;
        self.events.schedule(self.durable_at, Step::Durable(port, region));
        true
    }
    fn durable_events(&self) -> u64 {
        self.durable
    }
}

/// Transactions of `epochs` blocks of 512 B, after 2 us of computing.
fn blocks(epochs: u64) -> Transactions {
    Rc::new(move |client, tx| {
        let block = |e| RemoteEpoch {
            at: Addr::pm((u64::from(client) << 30) + (u64::from(tx) * epochs + e) * 512),
            words: vec![e + 1; 64].into(),
        };
        Transaction {
            compute: Ps::from_ns(2_000),
            epochs: (0..epochs).map(block).collect(),
        }
    })
}
/// 1 GB/s: a byte takes 1 ns. Without headers a block occupies a link for 512 ns.
fn spec(protocol: Protocol, clients: u8, transactions: u32) -> NetworkSpec {
    NetworkSpec {
        clients,
        transactions,
        protocol,
        latency: LATENCY,
        gigabits: 8,
        header: Bytes(0),
        ack: Bytes(0),
        timeout: Ps::from_ns(1_000_000),
        ..NetworkSpec::default()
    }
}
fn run(spec: &NetworkSpec, work: Transactions, server: &mut Server) -> (NetworkReport, Ps) {
    let mut network = Network::new(spec, work, 7, true);
    network.start(server);
    let mut end = Ps::ZERO;
    while let Some((at, step)) = server.events.pop() {
        if matches!(step, Step::Ack(_)) {
            end = at;
        }
        network.step(server, step);
    }
    assert!(network.is_finished(), "{}", network.explain());
    (network.into_report(None, Ps::ZERO), end)
}
const BLOCK: Ps = Ps(512_000);
fn times(n: u64, t: Ps) -> Ps {
    Ps(n * t.0)
}

/// Each epoch pays its transfer, two latencies and the server.
#[test]
fn synchronous_epochs_pay_a_round_trip_each() {
    let (report, end) = run(&spec(Protocol::Sync, 1, 1), blocks(6), &mut Server::default());
    let epoch = BLOCK + LATENCY + PERSIST + LATENCY;
    assert_eq!(end, Ps::from_ns(2_000) + times(6, epoch));
    let c = &report.clients[0];
    assert_eq!(
        (c.round_trips, c.persist, c.at_server),
        (6, times(6, epoch), times(6, PERSIST))
    );
    assert_eq!((c.transactions, c.compute, c.again), (1, Ps::from_ns(2_000), 0));
}

/// All epochs follow one another over the link; a block takes longer to send than to persist, so the last one decides.
#[test]
fn buffered_epochs_share_one_round_trip() {
    let (report, end) = run(&spec(Protocol::Bsp, 1, 1), blocks(6), &mut Server::default());
    assert_eq!(end, Ps::from_ns(2_000) + times(6, BLOCK) + LATENCY + PERSIST + LATENCY);
    assert_eq!(report.clients[0].round_trips, 1);
}

/// With a fast link the server decides: its regions persist one after the other.
#[test]
fn a_slow_server_is_the_bottleneck_of_buffered_epochs() {
    let fast = NetworkSpec {
        gigabits: 8_000,
        ..spec(Protocol::Bsp, 1, 1)
    };
    let (_, end) = run(&fast, blocks(6), &mut Server::default());
    let block = Ps(512);
    assert_eq!(end, Ps::from_ns(2_000) + block + LATENCY + times(6, PERSIST) + LATENCY);
}

#[test]
fn every_channel_delivers_in_order_whatever_the_others_do() {
    let mut server = Server::default();
    let (report, _) = run(&spec(Protocol::Bsp, 4, 3), blocks(2), &mut server);
    assert_eq!(report.clients.iter().map(|c| c.transactions).sum::<u64>(), 12);
    // Two channels, two clients each; a client's lines ascend.
    for client in 0..4u64 {
        let first = Addr::pm(client << 30).line().0;
        let mine = server
            .taken
            .iter()
            .filter(|t| (first..first + (1 << 20)).contains(&t.1.0));
        let mine: Vec<_> = mine.collect();
        assert_eq!(mine.len(), 3 * 2 * 8);
        assert!(mine.is_sorted() && mine.iter().all(|t| u64::from(t.0) == client % 2));
    }
}

#[test]
fn a_refused_line_goes_on_when_the_port_is_asked_again() {
    let mut server = Server {
        full: vec![0],
        ..Server::default()
    };
    let mut network = Network::new(&spec(Protocol::Bsp, 1, 1), blocks(1), 7, false);
    network.start(&mut server);
    while let Some((at, step)) = server.events.pop() {
        if at > Ps::from_ns(20_000) && !server.full.is_empty() {
            assert!(server.taken.is_empty());
            server.full.clear();
            network.resume(&mut server, 0);
        }
        if matches!(step, Step::Timeout(..)) && server.taken.len() == 8 {
            break;
        }
        network.step(&mut server, step);
    }
    assert_eq!(server.taken.len(), 8);
}

/// Lost ACKs and broken connections: every transaction finishes, every line takes effect exactly once.
#[test]
fn what_was_lost_is_persisted_again_and_nothing_takes_effect_twice() {
    for protocol in [Protocol::Sync, Protocol::Bsp] {
        let lossy = NetworkSpec {
            lost_acks: 300,
            broken: 150,
            ..spec(protocol, 3, 20)
        };
        let mut server = Server::default();
        let (report, _) = run(&lossy, blocks(3), &mut server);
        let sum = |f: fn(&ClientReport) -> u64| report.clients.iter().map(f).sum::<u64>();
        assert_eq!(sum(|c| c.transactions), 60);
        assert!(sum(|c| c.again) > 10 && report.lost > 10);
        let n = server.taken.len();
        assert_eq!(n, 60 * 3 * 8);
        server.taken.sort_unstable();
        server.taken.dedup();
        assert_eq!(server.taken.len(), n);
    }
}

/// What is lost grows with how often connections break; where they never do nothing is lost.
#[test]
fn as_many_connections_break_as_are_asked_for() {
    let lost = |broken| {
        let breaks = NetworkSpec {
            broken,
            ..spec(Protocol::Bsp, 2, 5)
        };
        run(&breaks, blocks(3), &mut Server::default()).0.lost
    };
    assert_eq!(lost(0), 0);
    assert!(lost(300) > lost(50) && lost(50) > 0);
}

/// The blocks of eight clients occupy the link longer than each of them waits: all of them get through, nothing takes effect twice.
#[test]
fn clients_that_give_up_too_early_wait_longer_and_get_through() {
    for protocol in [Protocol::Sync, Protocol::Bsp] {
        let hasty = NetworkSpec {
            timeout: Ps(BLOCK.0 + 2 * LATENCY.0 + PERSIST.0 + 1),
            ..spec(protocol, 8, 5)
        };
        let mut server = Server::default();
        let (report, _) = run(&hasty, blocks(4), &mut server);
        let sum = |f: fn(&ClientReport) -> u64| report.clients.iter().map(f).sum::<u64>();
        assert_eq!(sum(|c| c.transactions), 40);
        assert!(sum(|c| c.again) > 0);
        assert_eq!(server.taken.len(), 40 * 4 * 8);
    }
}

#[test]
fn a_crashed_client_sends_nothing_more_and_what_it_sent_arrives() {
    for after in 1..=7u32 {
        let spec = NetworkSpec {
            crash_after: after,
            ..spec(Protocol::Bsp, 1, 2)
        };
        let mut server = Server::default();
        let (report, _) = run(&spec, blocks(3), &mut server);
        assert_eq!(server.taken.len(), 8 * after.min(6) as usize);
        assert_eq!(report.clients[0].transactions, u64::from(after / 3).min(2));
    }
}

#[test]
fn a_planted_reordering_shows_in_what_takes_effect() {
    let (order, reached) = fencepost_kernel::fault::with("network.reorders", || {
        let mut server = Server::default();
        let (report, _) = run(&spec(Protocol::Bsp, 1, 1), blocks(3), &mut server);
        (report.journal, server.taken)
    });
    assert!(reached && !order.1.is_sorted());
}
