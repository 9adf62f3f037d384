//! Conformance of transactional contracts, on the four-transaction shape of a speculation window.

use fencepost_contract::recorded::{RecordedLog, parse};
use fencepost_contract::{ContractKind, Demands, Refusal, race};
use fencepost_kernel::Stream;
use std::collections::BTreeMap;

/// T1 writes a and b, T2 overwrites b, T3 overwrites a and writes c, T4 writes d; one thread.
const STORES: &str = "fencepost-log 1
0 tx-begin 1
0 store pm+0x000 1
0 store pm+0x040 1
0 tx-commit 1
0 tx-begin 2
0 store pm+0x040 2
0 tx-commit 2
0 tx-begin 3
0 store pm+0x000 3
0 store pm+0x080 3
0 tx-commit 3
0 tx-begin 4
0 store pm+0x0c0 4
";
/// Stores by number: 1 = a of T1, 2 = b of T1, 3 = b of T2, 4 = a of T3, 5 = c of T3, 6 = d of T4.
fn run(tail: &str) -> RecordedLog {
    parse(&format!("{STORES}{tail}")).unwrap()
}
fn verdict(tail: &str, kind: ContractKind) -> Result<(), Refusal> {
    run(tail)
        .conform(&kind.into(), Demands::default())
        .map(|_| ())
        .map_err(|r| *r)
}
fn loc(tail: &str) -> Result<(), Refusal> {
    verdict(tail, ContractKind::Loc)
}
const LOG_3: &str = "durable pm+0x10000 cause log : 0=#3\n";
const LOG_45: &str = "durable pm+0x10040 cause log : 0=#4 1=#5\n";

#[test]
fn overwritten_blocks_need_never_be_logged() {
    // T1 writes no block at all: its a and b are overwritten by T3 and T2, which are logged.
    let log = format!("{LOG_3}{LOG_45}");
    assert_eq!(
        loc(&format!("{log}durable pm+0x000 cause home : 0=#4\n0 tx-flush\n")),
        Ok(())
    );
    // Without T3's blocks T1 is not recoverable, so nothing after it is either.
    let refusal = loc(&format!("{LOG_3}durable pm+0x040 cause home : 0=#3\n")).unwrap_err();
    assert!(
        matches!(
            refusal,
            Refusal::InPlace {
                state: "recoverable with all before it",
                ..
            }
        ),
        "{refusal}"
    );
}

#[test]
fn a_flush_needs_every_earlier_transaction() {
    assert!(matches!(loc("0 tx-flush\n").unwrap_err(), Refusal::Must { .. }));
    assert!(matches!(
        loc(&format!("{LOG_45}0 tx-flush\n")).unwrap_err(),
        Refusal::Must { .. }
    ));
    assert_eq!(loc(&format!("{LOG_45}{LOG_3}0 tx-flush\n")), Ok(()));
}

/// Thread 0 commits a store; thread 1 runs a transaction that stores nothing, then flushes.
#[test]
fn a_flush_after_a_transaction_that_only_read_needs_all_committed_before_it() {
    let head = "fencepost-log 1\n0 tx-begin 1\n0 store pm+0x000 1\n0 tx-commit 1\n";
    let log = "durable pm+0x10000 cause log : 0=#1\n";
    let read = "1 tx-begin 1\n1 load pm+0x000 #1\n1 tx-commit 1\n";
    let judge = |tail: &str| {
        let log = parse(&format!("{head}{tail}")).unwrap();
        log.conform(&ContractKind::Loc.into(), Demands::default())
    };
    assert!(judge(&format!("{log}{read}1 tx-flush\n")).is_ok());
    let early = judge(&format!("{read}1 tx-flush\n{log}")).unwrap_err();
    assert!(matches!(*early, Refusal::Must { .. }), "{early}");
    // What another thread commits after the reading transaction is not its business.
    let after = "1 tx-begin 1\n1 tx-commit 1\n0 tx-begin 2\n0 store pm+0x040 2\n0 tx-commit 2\n1 tx-flush\n";
    assert!(judge(&format!("{log}{after}")).is_ok());
}

#[test]
fn blocks_recoverable_before_an_earlier_transaction_are_counted_as_reordered() {
    let report = |tail: &str| {
        let r = run(tail).conform(&ContractKind::Loc.into(), Demands::default());
        (r.as_ref().unwrap().reordered, r.unwrap().persisted)
    };
    // a of T3 and c of T3 come before b of T2, which T1 and T2 need.
    assert_eq!(report(&format!("{LOG_45}{LOG_3}")), (2, 3));
    // b of T2 passes T1, whose a is nowhere, and a of T3 passes it too, because T3 lacks its c.
    assert_eq!(report(&format!("{LOG_3}{LOG_45}")), (2, 3));
    let in_order = "durable pm+0x10000 cause log : 0=#1\ndurable pm+0x10040 cause log : 0=#2\n";
    assert_eq!(report(&format!("{in_order}{LOG_3}{LOG_45}")), (0, 5));
}

#[test]
fn nothing_of_an_uncommitted_transaction_reaches_its_home() {
    for kind in [ContractKind::Loc, ContractKind::Kiln] {
        let refusal = verdict(&format!("{LOG_3}{LOG_45}durable pm+0x0c0 cause home : 0=#6\n"), kind).unwrap_err();
        assert!(
            matches!(refusal, Refusal::InPlace { state: "committed", .. }),
            "{refusal}"
        );
        let committed = format!("{LOG_3}{LOG_45}0 tx-commit 4\ndurable pm+0x10080 cause log : 0=#6\n");
        assert_eq!(
            verdict(&format!("{committed}durable pm+0x0c0 cause home : 0=#6\n"), kind),
            Ok(())
        );
        let aborted = format!("{LOG_3}{LOG_45}0 tx-abort 4\ndurable pm+0x0c0 cause home : 0=#6\n");
        assert!(matches!(verdict(&aborted, kind).unwrap_err(), Refusal::InPlace { .. }));
    }
}

#[test]
fn under_kiln_commit_is_enough() {
    assert_eq!(
        verdict("durable pm+0x000 cause home : 0=#4\n0 tx-flush\n", ContractKind::Kiln),
        Ok(())
    );
    assert!(loc("durable pm+0x000 cause home : 0=#4\n").is_err());
}

#[test]
fn homes_never_go_back() {
    let both = format!("{LOG_3}{LOG_45}durable pm+0x000 cause home : 0=#4\ndurable pm+0x000 cause home : 0=#1\n");
    let refusal = loc(&both).unwrap_err();
    assert!(matches!(refusal, Refusal::Reversed { .. }), "{refusal}");
}

#[test]
fn a_drained_run_holds_every_committed_transaction() {
    let complete = Demands { complete: true };
    let log = run(LOG_3);
    assert!(matches!(
        *log.conform(&ContractKind::Loc.into(), complete).unwrap_err(),
        Refusal::Lost { .. }
    ));
    let log = run(&format!("{LOG_3}{LOG_45}"));
    let report = log.conform(&ContractKind::Loc.into(), complete).unwrap();
    assert_eq!((report.persisted, report.pending), (3, 0));
}

/// Whether transactions 1..k are recoverable, from nothing but the definition: for some j, the newest version that 1..j wrote of each word
/// is held.
fn is_recoverable(committed: &[Vec<(u64, usize)>], held: &[bool], k: usize) -> bool {
    (k..=committed.len()).any(|j| {
        let newest: BTreeMap<u64, usize> = committed[..j].iter().flatten().copied().collect();
        newest.values().all(|store| held[*store])
    })
}

/// Blocks become recoverable in any order while transactions commit: how many of them passed an earlier transaction, counted by the
/// definition after every event.
#[test]
fn blocks_that_pass_an_earlier_transaction_are_those_of_the_definition() {
    let mut rng = Stream::new(11, "passes");
    let mut seen = [0, 0];
    for program in 0..600 {
        let (mut text, mut committed, mut held) = (String::from("fencepost-log 1\n"), Vec::new(), Vec::new());
        let (mut waiting, mut passed) = (Vec::new(), 0);
        for tx in 1..=3 + rng.below(12) {
            let mut writes = Vec::new();
            text.push_str(&format!("0 tx-begin {tx}\n"));
            for _ in 0..=rng.below(3) {
                let word = rng.below(5);
                text.push_str(&format!("0 store pm+{:#x} {tx}\n", word * 64));
                waiting.push((committed.len(), held.len()));
                writes.push((word, held.len()));
                held.push(false);
            }
            text.push_str(&format!("0 tx-commit {tx}\n"));
            committed.push(writes);
            for _ in 0..rng.below(5).min(waiting.len() as u64) {
                let (place, store) = waiting.swap_remove(rng.below(waiting.len() as u64) as usize);
                let at = 0x10000 + store * 64;
                text.push_str(&format!("durable pm+{at:#x} cause log : 0=#{}\n", store + 1));
                held[store] = true;
                let before = is_recoverable(&committed, &held, place);
                passed += u64::from(!before);
                seen[usize::from(before)] += 1;
            }
        }
        let log = parse(&text).unwrap();
        let found = log.conform(&ContractKind::Loc.into(), Demands::default()).unwrap();
        assert_eq!(found.reordered, passed, "program {program}:\n{text}");
    }
    assert!(seen.iter().all(|n| *n > 500), "{seen:?}");
}

#[test]
fn transactions_race_that_run_at_once_and_store_to_one_line() {
    let raced = |events: &str| {
        let log = parse(&format!("fencepost-log 1\n{events}")).unwrap();
        race(&log.trace).map(|r| {
            (
                r.line.base().0 - fencepost_kernel::Addr::pm(0).0,
                r.threads.map(|t| t.0),
            )
        })
    };
    let first = "0 tx-begin 1\n0 store pm+64 1\n";
    let second = "1 tx-begin 1\n1 store pm+0 1\n1 store pm+72 1\n";
    assert_eq!(
        raced(&format!("{first}{second}0 tx-commit 1\n1 tx-commit 1\n")),
        Some((64, [0, 1]))
    );
    assert_eq!(
        raced(&format!("{first}0 tx-commit 1\n{second}1 tx-commit 1\n")),
        None,
        "one after the other"
    );
    assert_eq!(
        raced(&format!("{first}0 tx-abort 1\n{second}1 tx-commit 1\n")),
        None,
        "taken back before"
    );
    // What one of them does again is no race, nor is what no transaction does.
    assert_eq!(
        raced(&format!("{first}0 store pm+72 2\n1 store pm+64 1\n0 tx-commit 1\n")),
        None
    );
    // A third, where the second was over before it.
    let third = "2 tx-begin 1\n2 store pm+64 3\n";
    assert_eq!(raced(&format!("{second}{third}")), Some((64, [1, 2])));
}
