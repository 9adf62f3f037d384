//! Every size that a design declares to be its smallest is one that runs depend on: a parameter that is read and forgotten changes nothing.

use fencepost_battery::product;
use fencepost_designs::{DesignInfo, all as designs};
use fencepost_run::config::Resolved;
use fencepost_run::config::presets::{Kind, names};
use fencepost_run::run::run_resolved;

/// Sizes that nothing depends on, for a reason.
const IDLE: [&str; 4] = [
    // One epoch of a client is under way at a time, and nobody else asks for its lines.
    "net-sync.fences",
    "net-sync.filter_bytes",
    "net-sync.filter_hashes",
    // Two entries are too few for five queues, and one credit keeps them free for one.
    "per-task-commit.module_entries",
];

/// Machines, programs and seeds beyond which nobody looks for a run that depends on a parameter.
const ROUNDS: usize = 12;
/// Everything that a run shows is slow or full, so that sizes matter.
const CROWDED: [&str; 6] = [
    "l1.size=256B",
    "l1.ways=2",
    "llc.size=512B",
    "llc.ways=2",
    "bus.to_memory=100ns",
    "program.random.nt_stores=4",
];

/// What a run of a round shows: its time, its counters and what became durable when. `None` where the design does not take the run.
fn shown(info: &'static DesignInfo, round: usize, own: &[(&str, &str)]) -> Option<(u64, u64, Vec<u64>)> {
    let machines = names(Kind::Machine);
    let network = info.name.starts_with("net");
    let program = if network { "hashmap" } else { "random" };
    let mut request = product::request(info, program, machines[round % machines.len()], None, round).ok()?;
    request.check = false;
    (request.ops, request.threads) = (40, Some(4));
    if !network {
        request.sets.retain(|s| !s.starts_with("l1.") && !s.starts_with("llc."));
        request.sets.extend(CROWDED.map(str::to_owned));
    }
    request
        .sets
        .extend(own.iter().map(|(name, value)| format!("design.{name}={value}")));
    let resolved = Resolved::with_design(&request, info).ok()?;
    let r = run_resolved(&resolved).ok()?;
    Some((r.time_ps, r.durable_events, r.counters.values().copied().collect()))
}

#[test]
fn sizes_of_designs_act() {
    let mut idle = Vec::new();
    for info in designs() {
        let differ = |round, one: &[_], other: &[_]| {
            let (one, other) = (shown(info, round, one), shown(info, round, other));
            one.is_some() && other.is_some() && one != other
        };
        for size in info.smallest {
            // By itself, or where everything else is small too.
            let others: Vec<_> = info.smallest.iter().filter(|s| s.0 != size.0).copied().collect();
            let acts = (0..ROUNDS).any(|round| differ(round, &[], &[*size]) || differ(round, &others, info.smallest));
            let name = format!("{}.{}", info.name, size.0);
            if !acts && !IDLE.contains(&&*name) {
                idle.push(name);
            }
        }
    }
    assert_eq!(idle, Vec::<String>::new(), "sizes that no run depends on");
}
