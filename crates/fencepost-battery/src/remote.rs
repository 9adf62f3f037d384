//! Clients beside a random program: on lines that both write, over a network that loses ACKs and connections.

use fencepost_contract::replica;
use fencepost_designs::{DesignInfo, MachineShape};
use fencepost_kernel::{Addr, Ps, Stream, Transactions};
use fencepost_machine::RunReport;
use fencepost_machine::network::{NetworkSpec, Protocol};
use fencepost_programs::random;
use fencepost_run::config::clients::protocol_of;

/// The first line of random programs, which clients write too.
const FIRST: u64 = 4096;

/// Whether a design serves clients that persist by any protocol.
pub(super) fn serves(info: &DesignInfo) -> bool {
    let shape = MachineShape {
        channels: 1,
        ..MachineShape::default()
    };
    (info.build)(&[], shape).is_ok_and(|mut d| d.network_port().is_some())
}

/// A small network for designs that have a port for one: all else is drawn. Designs that say how clients persist always have clients,
/// others now and then.
pub(super) fn network(info: &DesignInfo, dice: &mut Stream) -> NetworkSpec {
    let protocol = match protocol_of(info) {
        Some(protocol) => protocol,
        None if serves(info) && dice.chance(1, 4) => [Protocol::Sync, Protocol::Bsp][dice.below(2) as usize],
        None => return NetworkSpec::default(),
    };
    let lossy = dice.chance(1, 3);
    NetworkSpec {
        protocol,
        clients: 1 + dice.below(3) as u8,
        channels: 1 + dice.below(2) as u8,
        transactions: 1 + dice.below(3) as u32,
        latency: Ps::from_ns([5, 50, 400][dice.below(3) as usize]),
        timeout: Ps::from_ns(20_000),
        lost_acks: if lossy { 200 } else { 0 },
        broken: if lossy { 100 } else { 0 },
        crash_after: if dice.chance(1, 6) { 1 + dice.below(5) as u32 } else { 0 },
        ..NetworkSpec::default()
    }
}

/// Whether the clients of a seed write words that the program uses; otherwise they write other words of the same lines.
pub(super) fn shares_words(seed: u64) -> bool {
    !seed.is_multiple_of(4)
}

/// What the clients of a seed do: epochs of some words of the program's lines.
pub(super) fn transactions(seed: u64, lines: u64) -> Transactions {
    random::transactions(seed, (Addr::pm(FIRST), lines), shares_words(seed))
}

/// Whether every client's epochs took effect in their order and once; where nobody else stores to their words, that the replica
/// always held a prefix and no client believed anything false.
pub(super) fn replica(report: &RunReport, seed: u64, lines: u64) -> Result<(), String> {
    let Some(network) = &report.network else { return Ok(()) };
    let transactions = transactions(seed, lines);
    let audited = match shares_words(seed) {
        true => replica::in_order(&network.journal, &transactions),
        false => replica::audit(
            &network.journal,
            &transactions,
            (&report.initial, report.log.records()),
            true,
        ),
    };
    let trips: Vec<u64> = network.clients.iter().map(|c| c.round_trips).collect();
    let told = replica::told_as_counted(&network.journal, &trips);
    told.and(audited.map(|_| ())).map_err(|v| format!("replica: {v}"))
}
