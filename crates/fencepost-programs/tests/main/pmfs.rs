//! The file system and its workloads: calls at full size, and faults planted in it.

use crate::common::*;
use fencepost_kernel::params::Raw;
use fencepost_kernel::{Program, fault};
use fencepost_programs::{Scheme, Variant, Visit, with_program};

const PROGRAMS: [&str; 4] = ["pmfs", "nfs", "exim", "mysql"];

/// Every prefix of the stores, and drawn states of x86.
struct All(u64, u32);
impl Visit for All {
    type Out = Result<usize, String>;
    fn visit<P: Program>(self, p: P) -> Self::Out {
        let mut states = 0;
        for dialect in [ADR, SO] {
            let run = record(&p, dialect, THREADS, self.1, self.0);
            states += strict_prefixes(&p, &run).map_err(|(n, v)| format!("after {n} stores: {v:?}"))?;
            let device = dialect.name == "so";
            for order in [LineOrder::None, LineOrder::Fifo] {
                states +=
                    x86_samples(&p, &run, device, order, 4, self.0).map_err(|(n, v)| format!("state {n}: {v:?}"))?;
            }
        }
        Ok(states)
    }
}
fn all(program: &str, seed: u64) -> Result<usize, String> {
    let s = settings(program, Scheme::PmfsJournal, Variant::Correct, seed);
    with_program(program, &s, All(seed, OPS)).expect("a program")
}
/// Names alone, which come and go until the journal has gone round several times.
fn names(seed: u64) -> Result<usize, String> {
    let mut s = settings("pmfs", Scheme::PmfsJournal, Variant::Correct, seed);
    let shares = [
        ("create", 35),
        ("rename", 40),
        ("delete", 20),
        ("append", 0),
        ("overwrite", 0),
        ("files", 8),
    ];
    s.params.extend(shares.map(|(n, v)| (n.to_owned(), Raw::Int(v))));
    // No multiple of a transaction's stretch: the first of a round lies on the oldest of the round before.
    s.params.push(("journal".to_owned(), Raw::Int(60)));
    s.ops = 40;
    with_program("pmfs", &s, All(seed, 40)).expect("a program")
}

#[test]
fn calls_survive_in_many_interleavings() {
    for program in PROGRAMS {
        for seed in 0..4 {
            all(program, seed).unwrap_or_else(|e| panic!("{program} with seed {seed}: {e}"));
        }
    }
    for seed in 0..3 {
        names(seed).unwrap_or_else(|e| panic!("names with seed {seed}: {e}"));
    }
}

/// Each is noticed in some run.
#[test]
fn planted_faults_are_noticed() {
    for name in [
        "pmfs.head-not-ordered",
        "pmfs.entry-left-out",
        "pmfs.entries-not-ordered",
        "pmfs.commit-not-ordered",
        "pmfs.old-entry-trusted",
        "pmfs.torn-entry-trusted",
        "pmfs.ended-transaction-undone",
        "pmfs.restores-too-little",
        "pmfs.size-before-data",
        "pmfs.data-not-ordered",
    ] {
        let noticed = |seed| {
            fault::with(name, || all("pmfs", seed).and_then(|_| names(seed)))
                .0
                .is_err()
        };
        let found = (0..40).any(noticed);
        assert!(found, "{name}");
    }
}

/// Stores, flushes and barriers of the calls of one kind, made by one thread alone.
struct Barriers;
impl Visit for Barriers {
    type Out = Vec<(u8, usize, usize)>;
    fn visit<P: Program>(self, p: P) -> Self::Out {
        let run = record(&p, ADR, 1, 200, 3);
        let calls = run.events.split(|e| matches!(e, Event::Begin { .. })).skip(1);
        let of = |events: &[Event], wanted: fn(&Event) -> bool| events.iter().filter(|e| wanted(e)).count();
        let count = |events: &[Event]| {
            let fences = of(events, |e| matches!(e, Event::Fence { .. }));
            (fences, of(events, |e| matches!(e, Event::Store { nt: true, .. })))
        };
        let kinds = run.ops.iter().map(|o| o.outcome.kind);
        kinds.zip(calls).map(|(k, e)| (k, count(e).0, count(e).1)).collect()
    }
}

/// Metadata: entries, changes, commit. Within the last block: data, size. In place: data. What reads orders nothing.
#[test]
fn calls_have_the_barriers_of_their_kind() {
    let mut s = settings("pmfs", Scheme::PmfsJournal, Variant::Correct, 3);
    (s.threads, s.ops) = (1, 200);
    s.params.push(("journal".to_owned(), Raw::Int(4096)));
    let calls = with_program("pmfs", &s, Barriers).expect("a program");
    for kind in 0..=5 {
        let of: Vec<_> = calls.iter().filter(|c| c.0 == kind).collect();
        assert!(!of.is_empty(), "no call of kind {kind}");
        for (_, fences, copied) in of {
            let (orders, copies) = match kind {
                0 => (&[0][..], false),
                2 => (&[2, 3][..], true),
                3 => (&[1][..], true),
                _ => (&[3][..], false),
            };
            assert!(orders.contains(fences), "kind {kind}: {fences} barriers");
            assert_eq!(*copied > 0, copies, "kind {kind}");
        }
    }
}
