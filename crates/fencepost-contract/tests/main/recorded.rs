//! The text format of recorded persist logs: the worked example, errors with their lines, and round trips.

use crate::support::px86_machine::Machine;
use crate::support::random::{self, Menu};
use crate::support::relaxed;
use fencepost_contract::recorded::{parse, write};
use fencepost_contract::{ContractKind, Demands, LineOrder, Refusal};
use fencepost_kernel::{Addr, Fence, Flush, StoreId, Stream, TraceKind, WriteCause};

const PUBLISH: &str = include_str!("logs/publish.log");

#[test]
fn the_worked_example_conforms_to_x86_and_breaks_strict_order() {
    let log = parse(PUBLISH).unwrap();
    let report = log
        .conform(&ContractKind::Px86.into(), Demands { complete: true })
        .unwrap();
    assert_eq!(
        (
            report.stores,
            report.persisted,
            report.musts,
            report.reordered_in_thread
        ),
        (6, 6, 2, 1)
    );

    let refusal = log
        .conform(&ContractKind::StrictTso.into(), Demands::default())
        .unwrap_err();
    let text = log.explain(&refusal);
    assert!(
        text.contains("log line 22") && text.contains("kv.c:32") && text.contains("program order"),
        "{text}"
    );
}

#[test]
fn a_controller_with_a_volatile_queue_is_not_held_to_flush_and_fence() {
    // Without the first flush's durable line: fine where only pcommit makes durable, a broken promise under ADR.
    let text: String = PUBLISH
        .lines()
        .filter(|l| !l.contains("310ns"))
        .map(|l| format!("{l}\n"))
        .collect();
    let log = parse(&text).unwrap();
    assert!(
        log.conform(&ContractKind::Px86Pcommit.into(), Demands::default())
            .is_ok()
    );
    let refusal = log.conform(&ContractKind::Px86.into(), Demands::default()).unwrap_err();
    assert!(matches!(*refusal, Refusal::Must { .. }));
    let told = log.explain(&refusal);
    assert!(
        told.contains("log line 9") && told.contains("flush before fence") && told.contains("kv.c:32"),
        "{told}"
    );
}

#[test]
fn every_kind_of_line_is_understood() {
    let text = "
# comment first
fencepost-log 1
initial pm+0x40 7
0 tx-begin 1
0 store pm+0x44 0xff w1 # narrow
0 tx-commit 1
0 tx-flush
1 load pm+0x40
1 load pm+0x40 from initial
1 rmw 0x1000 5 @ lock.c:3
1 rmw 0x1000
0 nt pm+0x80 9
0 dmb.st
0 bind pm+0x0 4096 queue 2
0 commit-queue 2
0 cvap pm+0x40
accepted pm+0x40 : 0=#1
durable pm+0x100 at 3us cause log : 5=#1
durable pm+0x40 : 0=#1
";
    let log = parse(text).unwrap();
    let id = |n: usize| StoreId::from_index(n - 1);
    assert_eq!(
        (log.trace.threads, log.trace.stores.len(), log.records.len()),
        (2, 3, 2)
    );
    assert_eq!(log.trace.stores[0].value, 0xff_0000_0007);
    assert!(log.trace.stores[0].tx.is_some() && log.trace.stores[2].nt);
    let kinds: Vec<TraceKind> = log.trace.events.iter().map(|e| e.kind).collect();
    assert!(kinds.contains(&TraceKind::Load {
        addr: Addr::pm(0x40),
        from: id(1)
    }));
    assert!(kinds.contains(&TraceKind::Load {
        addr: Addr::pm(0x40),
        from: None
    }));
    assert!(kinds.contains(&TraceKind::Rmw {
        addr: Addr(0x1000),
        from: id(2),
        store: None
    }));
    assert!(kinds.contains(&TraceKind::Fence(Fence::DmbSt)));
    assert_eq!(
        (log.records[0].cause, log.records[0].time.0),
        (WriteCause::Log, 3_000_000)
    );
    assert_eq!(log.records[1].data.words[0], 0xff_0000_0007);
    assert_eq!(log.origins[1].source.as_deref(), Some("lock.c:3"));
}

#[test]
fn a_word_given_by_value_is_the_oldest_store_not_yet_durable() {
    let text = "fencepost-log 1\n0 store pm+0 1\n0 store pm+0 2\n0 store pm+0 1\n";
    let by = |tail: &str| {
        let log = parse(&format!("{text}{tail}")).unwrap();
        log.records
            .iter()
            .map(|r| r.data.by[0].map(|s| s.index() + 1))
            .collect::<Vec<_>>()
    };
    assert_eq!(by("durable pm+0 : 0=1\n"), [Some(1)]);
    assert_eq!(by("durable pm+0 : 0=2\ndurable pm+0 : 0=1\n"), [Some(2), Some(3)]);
    assert_eq!(by("durable pm+0 : 0=1\ndurable pm+0 : 0=1\n"), [Some(1), Some(1)]);
    assert_eq!(
        by("durable pm+0 : 0=#3\ndurable pm+0 : 0=2\n"),
        [Some(3), Some(2)],
        "reversed, for conformance to say"
    );
    assert_eq!(
        by("durable pm+0 : 0=1\ndurable pm+0 : 0=0\n"),
        [Some(1), None],
        "back to the initial value"
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn malformed_lines_are_refused_with_line_reason_and_hint() {
    let cases = [
        ("0 store pm+0 1", 1, "not a persist log", "fencepost-log 1"),
        (
            "fencepost-log 1\n\n0 clwbb pm+0",
            3,
            "unknown event `clwbb`",
            "did you mean `clwb`?",
        ),
        (
            "fencepost-log 1\n0 sfenc",
            2,
            "unknown event `sfenc`",
            "did you mean `sfence`?",
        ),
        (
            "fencepost-log 1\ndurabel pm+0 : 0=1",
            2,
            "expected a thread number",
            "did you mean `durable`?",
        ),
        ("fencepost-log 1\n0 store pm+0", 2, "expected a value", ""),
        (
            "fencepost-log 1\n0 store pm+0 ff",
            2,
            "expected a value",
            "hexadecimal numbers start with 0x",
        ),
        ("fencepost-log 1\n0 store pm+4 1", 2, "must be aligned", ""),
        ("fencepost-log 1\n0 store pm+0 1 w3", 2, "expected a width", ""),
        (
            "fencepost-log 1\n0 store 0x7f0000000000 1",
            2,
            "is in no persistent range",
            "persistent <address> <length>",
        ),
        ("fencepost-log 1\npersistent 0x10 64", 2, "64-byte line", ""),
        (
            "fencepost-log 1\npersistent 0x0 128\npersistent 0x40 64",
            3,
            "overlap",
            "",
        ),
        ("fencepost-log 1\n0 sfence now", 2, "unexpected `now`", ""),
        ("fencepost-log 1\n300 sfence", 2, "expected a thread number", ""),
        ("fencepost-log 1\ndurable pm+0 0=1", 2, "expected `:`", "0=1 3=#7"),
        ("fencepost-log 1\ndurable pm+0 : 8=1", 2, "words 0 to 7", ""),
        (
            "fencepost-log 1\ndurable pm+0 : 0=#1",
            2,
            "there is no store 1",
            "numbered from 1",
        ),
        (
            "fencepost-log 1\n0 store pm+0 1\ndurable pm+0 : 0=5",
            3,
            "no store has written 0x5",
            "1 stores",
        ),
        ("fencepost-log 1\ndurable pm+0 at soon : 0=1", 2, "expected a time", ""),
        (
            "fencepost-log 1\ndurable pm+0 cause evict : 0=1",
            2,
            "unknown cause `evict`",
            "",
        ),
        (
            "fencepost-log 1\n0 store pm+0 1\ndurable pm+64 cause log : 0=1",
            3,
            "name their stores",
            "",
        ),
        ("fencepost-log 1\n0 tx-commit 1", 2, "transaction 1 is not open", ""),
        (
            "fencepost-log 1\n0 tx-begin 1\n0 tx-begin 2",
            3,
            "transaction 1 is still open",
            "",
        ),
        ("fencepost-log 1\n0 load pm+0 from 1", 2, "there is no store 1", ""),
        (
            "fencepost-log 1\n0 store pm+0 1\n0 load pm+8 from 1",
            3,
            "did not write",
            "",
        ),
        ("fencepost-log 1\n0 store pm+0x10000000000 1", 2, "beyond 1 TiB", ""),
        (
            "fencepost-log 1\n0 load pm+0\n0 store pm+8 1 needs 2",
            3,
            "there is no read 2 yet",
            "there are 1 so far",
        ),
        (
            "fencepost-log 1\n0 load pm+0\n1 store pm+8 1 needs 1",
            3,
            "read 1 is not by thread 1",
            "",
        ),
        (
            "fencepost-log 1\n0 load pm+0\n0 store pm+8 1 need 1",
            3,
            "expected a width",
            "did you mean `needs`?",
        ),
        (
            "fencepost-log 1\n0 load pm+0 needs",
            2,
            "expected the number of a read",
            "",
        ),
        ("", 1, "not a persist log", "fencepost-log 1"),
    ];
    for (text, line, reason, hint) in cases {
        let error = parse(text).expect_err(text);
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.reason.contains(reason), "{text:?}: {error}");
        assert!(
            error.hint.as_deref().unwrap_or_default().contains(hint),
            "{text:?}: {error}"
        );
        assert!(error.to_string().starts_with(&format!("line {line}: ")));
    }
}

#[test]
fn arbitrary_text_is_never_a_panic() {
    let mut rng = Stream::new(5, "mangled logs");
    let bytes = PUBLISH.as_bytes();
    for _ in 0..2000 {
        let mut text = bytes.to_vec();
        for _ in 0..=rng.below(6) {
            let at = rng.below(text.len() as u64) as usize;
            match rng.below(3) {
                0 => text[at] = 32 + rng.below(95) as u8,
                1 => drop(text.remove(at)),
                _ => text.truncate(at.max(20)),
            }
        }
        if let Ok(log) = parse(&String::from_utf8(text).unwrap()) {
            for kind in ContractKind::ALL {
                if let Err(refusal) = log.conform(&kind.into(), Demands { complete: true }) {
                    assert!(!log.explain(&refusal).is_empty());
                }
            }
        }
    }
}

#[test]
fn a_written_log_reads_back_as_the_same_run() {
    let menu = Menu {
        threads: 3,
        ops: 10,
        locations: &["va", "xa", "xb", "y", "z"],
        fences: &[Fence::Sfence, Fence::Mfence, Fence::Pcommit, Fence::Dsb],
        flushes: &[Flush::Clwb, Flush::Clflush],
        nt: true,
        rmw: true,
        guards: false,
        copies: false,
    };
    let mut rng = Stream::new(6, "round trip");
    for _ in 0..200 {
        let shape = random::shape(&menu, &mut rng);
        let run = Machine::new(&shape, LineOrder::Fifo).random_run(&mut rng);
        let log = parse(&write(&run.trace, &run.records)).unwrap();
        assert_eq!(log.trace.events, run.trace.events);
        let facts = |t: &fencepost_kernel::Trace| {
            t.stores
                .iter()
                .map(|s| (s.thread, s.addr, s.value, s.nt))
                .collect::<Vec<_>>()
        };
        assert_eq!(facts(&log.trace), facts(&run.trace));
        assert_eq!(log.records, run.records);
        let report = log
            .conform(&ContractKind::Px86.into(), Demands::default())
            .map_err(|r| r.to_string());
        assert_eq!(
            report.map(|r| r.to_string()),
            Ok(run.conform(&ContractKind::Px86.into()).unwrap().to_string())
        );
    }
}

/// Figure 1 of delegated ordering as a log: X; FENCE; Y on one thread, a read of Y and a dependent Z on another. With the
/// dependence Z may not become durable before X; without it nothing is promised about the two.
#[test]
fn a_dependence_orders_what_a_fence_put_before_the_value_read() {
    let log = |needs: &str| {
        let text = format!(
            "fencepost-log 1
0 store pm+0x00 1 @ x.c:1
0 dmb
0 store pm+0x40 1
1 load  pm+0x40
1 store pm+0x80 1 {needs} @ z.c:9
durable pm+0x80 : 0=1
durable pm+0x00 : 0=1
durable pm+0x40 : 0=1
"
        );
        let log = parse(&text).unwrap();
        let verdict = log.conform(&ContractKind::Rcbsp.into(), Demands { complete: true });
        verdict.map(drop).map_err(|r| log.explain(&r))
    };
    assert_eq!(log(""), Ok(()));
    let refusal = log("needs 1").unwrap_err();
    assert!(refusal.contains("fence cumulativity through a dependence"), "{refusal}");
    assert!(refusal.contains("x.c:1") && refusal.contains("z.c:9"), "{refusal}");
}

#[test]
fn dependences_survive_being_written_and_read() {
    let menu = Menu {
        threads: 3,
        ops: 8,
        locations: &["v", "x", "y"],
        fences: &[Fence::Dmb],
        flushes: &[],
        nt: false,
        rmw: true,
        guards: true,
        copies: true,
    };
    let mut rng = Stream::new(7, "dependences");
    let mut seen = 0;
    for _ in 0..200 {
        let trace = relaxed::random_trace(&random::shape(&menu, &mut rng), false, &mut rng);
        let log = parse(&write(&trace, &[])).unwrap();
        assert_eq!(
            (&log.trace.events, &log.trace.dependences),
            (&trace.events, &trace.dependences)
        );
        seen += trace.dependences.len();
    }
    assert!(seen > 100);
}

#[test]
fn declarations_that_contradict_are_refused() {
    for (line, reason) in [
        ("file 0 64 a\nfile 0 64 b", "overlap"),
        ("file 0 64 a\nfile 64 64 a", "one file only"),
        ("file 0 64 a/b", "file name"),
        ("file 7 64 a", "64-byte line"),
        ("file 0 0xffffffffffffffff a", "64-byte line"),
    ] {
        let found = parse(&format!("fencepost-log 1\n{line}\n")).unwrap_err().to_string();
        assert!(found.contains(reason), "{line}: {found}");
    }
    let found = parse("fencepost-log 2\n").unwrap_err().to_string();
    assert!(found.contains("version 2"), "{found}");
}
