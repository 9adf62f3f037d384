//! Whole programs: recorded under schedules, judged under contracts. Mistakes flip where CHECKER's rules say.

#[allow(dead_code, unused_imports)]
#[path = "../../examples/commit_a_range.rs"]
mod commit_a_range;
#[allow(dead_code, unused_imports)]
#[path = "../../examples/judge_my_code.rs"]
mod judge_my_code;

use crate::explore_common::sps::{BARRIERS, Sps, Variant, X86};
use fencepost_contract::explore::{
    Budget, CrashCheck, Granularity, ProgramRun, RecordError, Recorder, Schedule, Verdict, record_program,
};
use fencepost_contract::{ContractKind, LineOrder};
use fencepost_kernel::{Addr, At, Dialect, Fence, Mem, Rmw, TraceKind, Val};

fn verdict(kind: ContractKind, dialect: Dialect, variant: Variant) -> Verdict {
    let program = Sps {
        cells: 6,
        threads: 1,
        variant,
    };
    let run = ProgramRun {
        dialect,
        threads: 1,
        ops: 12,
        ack_every: false,
    };
    let mut check = CrashCheck::new(kind);
    check.contract.params.line_order = Some(LineOrder::Unordered);
    check.program(&program, run).unwrap().verdict
}

#[test]
fn mistakes_flip_between_contracts() {
    use ContractKind as K;
    use Variant::{NoCommitFence, NoDataFlush, NoLogFence, NoLogFlush, Right};
    let x86 = [NoLogFlush, NoLogFence, NoDataFlush, NoCommitFence];
    for variant in x86 {
        assert_eq!(verdict(K::Px86, X86, variant), Verdict::Violated, "{variant:?}");
        assert_eq!(
            verdict(ContractKind::Themis, X86, variant),
            Verdict::Violated,
            "{variant:?}"
        );
        assert_eq!(verdict(K::None, X86, variant), Verdict::Violated, "{variant:?}");
        for strong in [K::Eadr, K::StrictSc, K::StrictTso] {
            assert_eq!(
                verdict(strong, X86, variant),
                Verdict::Clean,
                "{variant:?} under {strong}"
            );
        }
    }
    for kind in [K::Px86, ContractKind::Themis, K::Eadr, K::StrictSc, K::StrictTso] {
        assert_eq!(verdict(kind, X86, Right), Verdict::Clean, "{kind}");
    }
    assert_eq!(
        verdict(K::None, X86, Right),
        Verdict::Violated,
        "no promise convicts every program"
    );
    assert_eq!(
        verdict(ContractKind::Px86Pcommit, X86, Right),
        Verdict::Violated,
        "clwb and sfence order nothing here"
    );
    for kind in [K::Epoch, K::Strand] {
        for variant in [Right, NoLogFlush, NoDataFlush] {
            assert_eq!(
                verdict(kind, BARRIERS, variant),
                Verdict::Clean,
                "{variant:?}: flushes mean nothing, {kind}"
            );
        }
        for variant in [NoLogFence, NoCommitFence] {
            assert_eq!(
                verdict(kind, BARRIERS, variant),
                Verdict::Violated,
                "{variant:?} under {kind}"
            );
        }
    }
    let dmb = Dialect {
        order: &[Fence::Dmb],
        log_to_data: &[Fence::Dmb],
        durable: &[Fence::Dmb],
        ..BARRIERS
    };
    for variant in [Right, NoLogFlush, NoDataFlush] {
        assert_eq!(
            verdict(K::Rcbsp, dmb, variant),
            Verdict::Clean,
            "{variant:?}: every fence orders persists"
        );
    }
    for variant in [NoLogFence, NoCommitFence] {
        assert_eq!(verdict(K::Rcbsp, dmb, variant), Verdict::Violated, "{variant:?}");
    }
}

#[test]
fn several_threads_and_schedules() {
    let run = ProgramRun {
        dialect: X86,
        threads: 3,
        ops: 8,
        ack_every: false,
    };
    let program = Sps {
        cells: 5,
        threads: 3,
        variant: Variant::Right,
    };
    for granularity in [Granularity::Operation, Granularity::Lock, Granularity::Access] {
        let mut check = CrashCheck::new(ContractKind::Px86);
        (check.schedules, check.granularity) = (Some(4), granularity);
        let report = check.program(&program, run).unwrap();
        assert_eq!(
            (report.verdict, report.complete, report.schedules),
            (Verdict::Clean, false, 4)
        );
        assert!(format!("{report}").contains("4 schedules"));
    }
    let wrong = Sps {
        variant: Variant::NoDataFlush,
        ..program
    };
    let mut check = CrashCheck::new(ContractKind::Px86);
    (check.schedules, check.prefix) = (Some(5), "sps".into());
    let report = check.program(&wrong, run).unwrap();
    let witness = report.witness.unwrap();
    let replayed = check.replay_program(&wrong, run, &witness.replay).unwrap();
    assert_eq!(replayed.verdict, Err(witness.why));
    assert!(witness.missing.iter().all(|s| s.source.file().ends_with("sps.rs")));
    check.budget = Budget::States(40);
    let bounded = check.program(&program, run).unwrap();
    assert!(bounded.recoveries <= 40 && bounded.verdict == Verdict::Bounded && !bounded.complete);
}

#[test]
fn recordings_are_sound_executions() {
    let program = Sps {
        cells: 5,
        threads: 3,
        variant: Variant::Right,
    };
    let record = |seed| {
        let schedule = Schedule {
            seed,
            granularity: Granularity::Access,
            ..Schedule::default()
        };
        record_program(&program, X86, 3, 6, true, schedule).unwrap()
    };
    let (a, b, c) = (record(1), record(1), record(2));
    assert_eq!(a.trace.events, b.trace.events, "the same seed gives the same execution");
    assert_ne!(a.trace.events, c.trace.events, "another seed another one");
    let mut last = std::collections::BTreeMap::new();
    let mut performed = 0;
    for event in &a.trace.events {
        let mut store = |id: fencepost_kernel::StoreId| {
            assert_eq!(id.index(), performed, "stores are numbered as they perform");
            performed += 1;
            last.insert(a.trace.store(id).addr, id);
        };
        match event.kind {
            TraceKind::Store(id) => store(id),
            TraceKind::Load { addr, from } => assert_eq!(from, last.get(&addr).copied()),
            TraceKind::Rmw {
                addr,
                from,
                store: made,
            } => {
                assert_eq!(from, last.get(&addr).copied());
                made.into_iter().for_each(|id| last.insert(addr, id).map_or((), |_| ()));
                performed += usize::from(made.is_some());
            }
            _ => {}
        }
    }
    assert_eq!((performed, a.trace.ops.len()), (a.trace.stores.len(), 18));
    assert!(a.trace.ops.windows(2).all(|w| w[0].stamp < w[1].stamp));
    // Replaying the swaps in lock order gives the memory the threads left.
    let mut cells: Vec<u64> = (1..=5).collect();
    a.trace
        .ops
        .iter()
        .for_each(|o| cells.swap(o.outcome.words[0] as usize, o.outcome.words[1] as usize));
    let found: Vec<u64> = (0..5).map(|i| a.memory.word(Addr::pm(3 * 128 + i * 64))).collect();
    assert_eq!(found, cells);
}

#[test]
fn deadlocks_are_explained() {
    let thread = |first: u64, second: u64| {
        move |m: &mut fencepost_contract::explore::RecordMem<'_>| {
            for _ in 0..50 {
                m.lock(At::new(Addr(first)));
                m.lock(At::new(Addr(second)));
                m.unlock(At::new(Addr(second)));
                m.unlock(At::new(Addr(first)));
            }
        }
    };
    let error = Recorder::new(Schedule::default())
        .thread(thread(64, 128))
        .thread(thread(128, 64))
        .run()
        .unwrap_err();
    let RecordError::Deadlock(waiters) = &error else {
        panic!("{error}")
    };
    assert_eq!(waiters.len(), 2);
    assert!(waiters.iter().all(|w| w.holder.is_some_and(|h| h != w.thread)));
    assert!(error.to_string().contains("explore_programs.rs"), "{error}");
}

#[test]
fn aborted_transactions_leave_no_trace_in_memory() {
    let at = At::new(Addr::pm(0));
    let recording = Recorder::new(Schedule::default())
        .setup(|m| m.store(at, Val::lit(5)))
        .thread(move |m| {
            m.op_begin(0);
            m.rmw(at, Rmw::Add(1));
            assert!(m.tx_begin().is_ok());
            m.store(at, Val::lit(100));
            m.tx_abort();
            assert_eq!(m.load(at).v, 6);
            assert_eq!(m.tx_begin().unwrap_err().op, 0);
            m.op_begin(0);
            assert!(m.tx_begin().is_ok());
            m.store(at, Val::lit(7));
            m.tx_commit();
        })
        .run()
        .unwrap();
    assert_eq!(
        (recording.initial.word(at.addr), recording.memory.word(at.addr)),
        (5, 7)
    );
    let kinds: Vec<_> = recording.trace.events.iter().map(|e| e.kind).collect();
    let read = kinds.iter().find_map(|k| {
        if let TraceKind::Load { from, .. } = k {
            *from
        } else {
            None
        }
    });
    assert_eq!(
        read.map(|s| s.index()),
        Some(0),
        "after the abort the increment is the newest store again"
    );
}
