//! The commands that a user has for checking, as a list: `run --check`, `crash`, `replay`, `reproduce`, `native net`.
//!
//! [`commands`] is the same list for every planted fault of [`super::planted`]: every program on every design, clients over networks that
//! lose messages, correct programs and deliberate mistakes under several contracts, the replay of what `crash` printed, and the rules that
//! reproductions test. Random programs run on machines of three sizes: with small caches, with caches of a few lines, and with every
//! queue, the log and the design at their smallest besides; and with fences that execute as the design says, or all alike.

use super::command::{Command, takes_faults};
use super::{product, remote};
use fencepost_contract::ContractKind;
use fencepost_designs::{DesignInfo, all as designs};
use fencepost_papers::reproduce::rules::rules;
use fencepost_programs::clients::Workload;
use fencepost_programs::{About, Scheme, Variant, programs};
use fencepost_run::config::Resolved;
use fencepost_run::config::clients::protocol_of;
use fencepost_run::config::machine::MachineConfig;
use fencepost_run::config::presets::{Kind, names};
use fencepost_run::crash::{CrashRequest, Grain};
use fencepost_run::request::Request;
use fencepost_run::variants::sizes;
use std::path::Path;

/// Random programs run on each design, each on another machine.
const ROUNDS: usize = 40;
/// Caches of a few sets.
const SMALL_CACHES: [&str; 2] = ["l1.size=1KiB", "llc.size=4KiB"];
/// Caches of four to eight lines, and more lines than that: dirty lines leave all the time and come back.
const TINY_CACHES: [&str; 5] = [
    "l1.size=256B",
    "l1.ways=2",
    "llc.size=512B",
    "llc.ways=2",
    "program.random.lines=24",
];
/// Every queue of the machine at size one, and a hardware log of two groups, which wraps.
const QUEUES_OF_ONE: [&str; 8] = [
    "core.rob=2",
    "core.load_queue=1",
    "core.store_queue=1",
    "l1.mshrs=1",
    "l1.writeback_buffer=1",
    "pm.controller.write_queue=1",
    "pm.controller.read_queue=1",
    "machine.log_area=1KiB",
];
/// How fences execute, from round to round.
const FENCES: [&str; 4] = ["declared", "buffered", "declared", "serialize"];
/// Rounds of the other programs.
const OTHER_ROUNDS: usize = 3;
/// Runs of recovery in a first look at a program, and in a longer one.
const BUDGETS: [&str; 2] = ["300", "1500"];
/// Rounds of clients on each design that serves them.
const CLIENT_ROUNDS: usize = 24;
/// Rounds of programs on media where the design cannot keep its promise: they must go on being convicted, and for the same reason.
const UNSOUND_ROUNDS: usize = 4;
/// Networks, from a perfect one to one that loses messages, ACKs and clients.
const NETWORKS: [&[&str]; 6] = [
    &["network.latency=5ns"],
    &["network.lost_acks=300", "network.timeout=20us"],
    &["network.broken=150", "network.timeout=20us", "network.channels=1"],
    &["network.crash_after=5", "network.latency=50ns"],
    &[
        "network.lost_acks=200",
        "network.broken=100",
        "network.timeout=9us",
        "network.latency=400ns",
    ],
    &["network.channels=1", "network.latency=50ns"],
];
/// Contracts under which programs are explored: each is about other instructions.
const CONTRACTS: [ContractKind; 4] = [
    ContractKind::Px86,
    ContractKind::Px86Pcommit,
    ContractKind::Rcbsp,
    ContractKind::StrictSc,
];

/// The sizes of machine and design in a round.
fn sizes_of(request: &mut Request, info: &DesignInfo, round: usize, l2: bool) {
    let fences = FENCES[round % FENCES.len()];
    if fences != "declared" {
        request.sets.push(format!("core.fence_execution={fences}"));
    }
    request.sets.retain(|s| !SMALL_CACHES.contains(&s.as_str()));
    if round.is_multiple_of(3) {
        request.sets.extend(SMALL_CACHES.map(str::to_owned));
        request.sets.extend(l2.then(|| "l2.size=2KiB".to_owned()));
        return;
    }
    request.sets.retain(|s| !s.starts_with("program.random.lines="));
    request.sets.extend(TINY_CACHES.map(str::to_owned));
    if l2 {
        request.sets.extend(["l2.size=256B", "l2.ways=4"].map(str::to_owned));
    }
    if round % 3 == 2 {
        request.sets.extend(QUEUES_OF_ONE.map(str::to_owned));
    }
    if round % 6 == 5 {
        let smallest = info
            .smallest
            .iter()
            .map(|(name, value)| format!("design.{name}={value}"));
        request.sets.extend(smallest);
    }
}

/// A checked run on a medium where the design keeps its promise, or (`sound` false) on one where it cannot.
pub(super) fn on_design(d: usize, program: &str, round: usize, sound: bool) -> Option<Command> {
    let (info, machines, media) = (&designs()[d], names(Kind::Machine), names(Kind::Media));
    let machine = machines[(round + d) % machines.len()];
    (0..media.len()).find_map(|i| {
        let medium = media[(i + round) % media.len()];
        let mut request = product::request(info, program, machine, Some(medium), round).ok()?;
        if program == "random" {
            let l2 = MachineConfig::load(machine, None).is_ok_and(|m| m.spec.l2.is_some());
            sizes_of(&mut request, info, round, l2);
        }
        let resolved = Resolved::with_design(&request, info).ok()?;
        (resolved.sound() == sound).then_some(Command::Run(info, request))
    })
}

fn explored(
    about: &About,
    scheme: Scheme,
    variant: Option<Variant>,
    contract: ContractKind,
    (threads, budget): (u32, &str),
) -> CrashRequest {
    CrashRequest {
        request: Request {
            program: about.name.into(),
            threads: Some(threads),
            ops: 4,
            log: Some(scheme.name().into()),
            variant: variant.map(|v| v.name().into()),
            sets: sizes(about),
            ..Request::default()
        },
        contract: Some(contract.name().into()),
        budget: Some(budget.into()),
        schedules: Some(u64::from(threads)),
        doubt: None,
        recovery_fails: budget == BUDGETS[0] && variant.is_none_or(Variant::needs_second_failure),
        line_order: None,
        grain: Grain::Word,
        small: false,
    }
}

/// Clients of a round on a design with a network port: the network loses what it may lose, and where clients are not all that the
/// design is for, a random program runs beside them.
pub(super) fn clients(d: usize, round: usize) -> Option<Command> {
    let info = &designs()[d];
    let alone = protocol_of(info).is_some() && round % 4 != 3;
    if !alone && !remote::serves(info) {
        return None;
    }
    let program = match alone {
        true => Workload::NAMES[round % Workload::NAMES.len()],
        false => "random",
    };
    let Command::Run(info, mut request) = on_design(d, program, round, true)? else {
        return None;
    };
    request.threads = Some(4);
    let network = NETWORKS[round % NETWORKS.len()].iter();
    request.sets.extend(network.map(|s| (*s).to_owned()));
    request.sets.push("client.compute=100ns".to_owned());
    if !alone {
        request.sets.push(format!("network.clients={}", 1 + round % 3));
        request.sets.push("network.transactions=4".to_owned());
    }
    Some(Command::Run(info, request))
}

/// Commands that start processes: logs of programs in any language and the shell's recovery of them, a litmus test, and servers of clients
/// over TCP that are killed. `program` is the command, if it is built, and with faults.
fn processes(program: &Path) -> Vec<Command> {
    if !takes_faults(program) {
        return Vec::new();
    }
    let logs = concat!(env!("CARGO_MANIFEST_DIR"), "/logs");
    let log = |name: &str| format!("{logs}/{name}.log");
    let crash = |name: &str, reads: &[&str]| {
        let script = if name == "pattern" { "pattern" } else { "audit" };
        let recover = format!("sh {logs}/{script}.sh");
        let args = [
            "crash",
            "--log",
            &log(name),
            "--contract",
            "px86",
            "--recover",
            &recover,
        ];
        [&args, reads].concat().into_iter().map(str::to_owned).collect()
    };
    let judge = |name: &str, how: &[&str]| {
        let args = ["judge", &log(name), "--contract"];
        [&args, how].concat().into_iter().map(str::to_owned).collect()
    };
    let net = |kind: &str| {
        ["native", "net", kind, "--kill", "2", "--seed", "5"]
            .map(str::to_owned)
            .to_vec()
    };
    let read = ["--reads", "report"];
    let test = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../litmus/persistency-arm/handed_on.litmus"
    );
    let slow = "design.path_slot=5us";
    let handed_on = ["litmus", test, "--design", "delegated", "--set", slow, "--seeds", "40"];
    let all: Vec<Vec<String>> = vec![
        crash("good", &[]),
        crash("bad", &[]),
        crash("unflushed", &[]),
        crash("good", &read),
        crash("bad", &read),
        crash("unflushed", &read),
        crash("pattern", &read),
        judge("early", &["px86", "--complete"]),
        judge("early", &["strict-tso"]),
        judge("late", &["px86"]),
        net("hashmap"),
        net("ctree"),
        net("ycsb"),
        handed_on.map(str::to_owned).to_vec(),
    ];
    let process = |args| Command::Process(program.to_owned(), args);
    all.into_iter().map(process).collect()
}

/// Every command; families take turns, so that each comes early. `program` is where the command that starts processes of its own is
/// built, if it is.
pub fn commands(program: &Path) -> Vec<Command> {
    let n = designs().len();
    let random = (0..ROUNDS).flat_map(|round| (0..n).filter_map(move |d| on_design(d, "random", round, true)));
    let others: Vec<&str> = programs().iter().map(|p| p.name).filter(|p| *p != "random").collect();
    let other = |round| {
        let each = others.iter().flat_map(|p| (0..n).map(move |d| (d, p)));
        scattered(each.filter_map(|(d, p)| on_design(d, p, round, true)).collect())
    };
    let unsound = |round| {
        ["sps", "random"]
            .into_iter()
            .flat_map(move |p| (0..n).filter_map(move |d| on_design(d, p, round, false)))
    };
    let served = |round| (0..n).filter_map(move |d| clients(d, round));
    let families = [
        random.collect(),
        (0..OTHER_ROUNDS).flat_map(other).collect(),
        scattered(explorations()),
        scattered(long_explorations()),
        (0..CLIENT_ROUNDS).flat_map(served).collect(),
        rules().into_iter().map(Command::Rule).collect(),
        (0..UNSOUND_ROUNDS).flat_map(unsound).collect(),
    ];
    let mut all = in_turn(families);
    all.extend(processes(program));
    all
}

/// The explorations and replays.
fn explorations() -> Vec<Command> {
    let mut crashes = Vec::new();
    for about in &programs() {
        for contract in CONTRACTS {
            for (scheme, threads) in about.variants.iter().flat_map(|v| [(v.0, 1), (v.0, 2)]) {
                let how = (threads, BUDGETS[0]);
                crashes.push(Command::Crash(explored(about, scheme, None, contract, how)));
            }
            let wrong = about.variants.iter().flat_map(|(scheme, variants)| {
                let wrong = variants.iter().filter(|v| **v != Variant::Correct);
                wrong.map(|v| (*scheme, *v))
            });
            let wrong = wrong.map(|(scheme, v)| explored(about, scheme, Some(v), contract, (1, BUDGETS[0])));
            for (i, request) in wrong.enumerate() {
                if i % 4 == 0 {
                    crashes.push(Command::Replay(request.clone()));
                }
                crashes.push(Command::Crash(request));
            }
        }
    }
    crashes
}

/// Correct programs in the sizes that they declare, looked at for longer.
fn long_explorations() -> Vec<Command> {
    let mut crashes = Vec::new();
    for about in &programs() {
        let declared = about.small.iter();
        let sets = declared.map(|(name, value)| format!("program.{}.{name}={value}", about.name));
        let sets = Vec::from_iter(sets);
        for contract in CONTRACTS {
            for (scheme, _) in &about.variants {
                let mut correct = explored(about, *scheme, None, contract, (1, BUDGETS[1]));
                correct.request.sets.clone_from(&sets);
                crashes.push(Command::Crash(correct));
            }
        }
    }
    crashes
}

/// The same list in another order, so that neighbours have little in common: each follows the one at a good third of the list before it.
pub(super) fn scattered<T>(list: Vec<T>) -> Vec<T> {
    let n = list.len();
    let coprime = |step: &usize| (2..=*step).all(|f| !(n.is_multiple_of(f) && step.is_multiple_of(f)));
    let step = (n * 3 / 8 + 1..).find(coprime).unwrap_or(1);
    let mut list: Vec<Option<T>> = list.into_iter().map(Some).collect();
    (0..n).filter_map(|i| list[i * step % n].take()).collect()
}

/// One of each list after the other, until all are used up.
fn in_turn<T, const N: usize>(lists: [Vec<T>; N]) -> Vec<T> {
    let mut lists = lists.map(Vec::into_iter);
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(lists.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            return all;
        }
    }
}

#[test]
fn families_take_turns() {
    assert_eq!(in_turn([vec![1, 2, 3], vec![], vec![7]]), [1, 7, 2, 3]);
}

#[test]
fn a_scattered_list_has_the_same_entries() {
    for n in 0..60 {
        let mut list = scattered(Vec::from_iter(0..n));
        assert!(n < 8 || list[..2] != [0, 1], "{n}: {list:?}");
        list.sort_unstable();
        assert_eq!(list, Vec::from_iter(0..n));
    }
}
