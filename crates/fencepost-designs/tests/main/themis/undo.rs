//! A small undo-logged program, and who breaks it.

use super::harness::{Setup, body, judge};
use fencepost_contract::ContractKind;
use fencepost_contract::explore::{CrashCheck, Oracle, ProgramRun, Verdict, check_prefixes};
use fencepost_designs::{Environment, find};
use fencepost_kernel::{
    Addr, At, Bytes, CrashPoint, Dialect, Flow, Footprint, Image, Mem, OpRecord, Outcome, Pm, Program, Rollback, Val,
    Violation, run_thread,
};
use fencepost_machine::RunReport;
use std::num::NonZeroU64;

/// Each operation moves a thread's two accounts, on lines of their own, from one common value to the next.
#[derive(Clone, Debug)]
struct Accounts {
    threads: u32,
}
impl Accounts {
    fn base(thread: u32) -> u64 {
        u64::from(thread) * 4096
    }
    fn word(thread: u32, offset: u64) -> Addr {
        Addr::pm(Accounts::base(thread) + offset)
    }
}
const A: u64 = 0;
const B: u64 = 64;
const RECORD: u64 = 128;
const COMMITTED: u64 = 192;
/// Number of the operation whose values are (or will be) there; unique per thread and operation.
fn value(thread: u32, k: u32) -> u64 {
    u64::from(k + 1) << 8 | u64::from(thread)
}

impl Program for Accounts {
    type Input = ();
    type Rebuild = u32;
    type Audit = (u32, Vec<u32>, Vec<u32>);
    type Model = ();

    fn footprint(&self) -> Footprint {
        Footprint {
            dram: Bytes(4096),
            pm: Bytes(Accounts::base(self.threads)),
        }
    }
    fn setup<M: Mem>(&self, _: &mut M) {}
    fn input(&self, _: u32, _: u32) {}
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, (): &()) -> Result<Outcome, Rollback> {
        let at = |offset| At::new(Accounts::word(thread, offset));
        let (seq, new) = (Val::lit(u64::from(k + 1)), Val::lit(value(thread, k)));
        let (a, b) = (pm.m.load(at(A)), pm.m.load(at(B)));
        pm.log_store(at(RECORD + 8), a);
        pm.log_store(at(RECORD + 16), b);
        // Words of one line persist in order: the record is whole once its number is there.
        pm.log_store(at(RECORD), seq);
        pm.log_persist(at(RECORD), 24);
        pm.log_to_data();
        for account in [A, B] {
            pm.m.store(at(account), new);
            pm.persist(at(account), 8);
        }
        pm.order();
        pm.log_store(at(COMMITTED), seq);
        pm.log_persist(at(COMMITTED), 8);
        pm.order();
        let kind = 1;
        let words = [new.v, 0, 0];
        Ok(Outcome { kind, words })
    }

    fn rebuild_start(&self) -> u32 {
        0
    }
    fn rebuild<M: Mem<Dep = ()>>(&self, m: &mut M, thread: u32) -> Flow<u32> {
        if thread == self.threads {
            return Flow::Done(Ok(()));
        }
        let at = |offset| At::new(Accounts::word(thread, offset));
        if m.load(at(RECORD)).v == m.load(at(COMMITTED)).v + 1 {
            for (account, old) in [(A, 8), (B, 16)] {
                let old = m.load(at(RECORD + old));
                m.store(at(account), old);
            }
        }
        Flow::Next(thread + 1)
    }
    fn model(&self, _: &[OpRecord]) {}
    fn audit_start(&self, (): &(), crash: &CrashPoint) -> Self::Audit {
        (0, crash.begun.clone(), crash.acked.clone())
    }
    fn audit<M: Mem<Dep = ()>>(&self, (): &(), m: &mut M, (thread, begun, acked): Self::Audit) -> Flow<Self::Audit> {
        if thread == self.threads {
            return Flow::Done(Ok(()));
        }
        let word = |offset| Accounts::word(thread, offset);
        let (a, b) = (m.load(At::new(word(A))).v, m.load(At::new(word(B))).v);
        let (least, most) = (acked[thread as usize], begun[thread as usize]);
        let known = (least..=most).any(|n| a == n.checked_sub(1).map_or(0, |k| value(thread, k)));
        match (a == b, known) {
            (true, true) => Flow::Next((thread + 1, begun, acked)),
            (false, _) => Flow::Done(Err(Violation::at(word(B), "half a transaction"))),
            _ => Flow::Done(Err(Violation::at(word(A), "neither before nor after an operation"))),
        }
    }
}

fn dialect(design: &str) -> Dialect {
    (find(design).expect("registered").dialect)(Environment::new(true, true))
}
/// Every crash state that a contract allows.
fn explored(design: &str, contract: ContractKind) -> Verdict {
    let run = ProgramRun {
        dialect: dialect(design),
        threads: 2,
        ops: 4,
        ack_every: false,
    };
    let report = CrashCheck::new(contract).program(&Accounts { threads: 2 }, run);
    report.expect("explored").verdict
}
fn simulated(design: &'static str, drain_delay: &str) -> RunReport {
    let s = Setup::new(design).roomy().with("drain_delay", drain_delay);
    let thread = |t: u32| {
        body(move |m| {
            let mut pm = Pm::new(m, dialect(design));
            run_thread(&Accounts { threads: 3 }, &mut pm, t, 0, 25);
        })
    };
    s.run((0..3).map(thread).collect())
}
/// Recovery before every durable event of a simulated run.
fn prefixes(r: &RunReport) -> Verdict {
    let trace = r.trace.as_ref().expect("recorded");
    let program = Accounts { threads: 3 };
    let oracle = Oracle::new(&program, &trace.ops);
    check_prefixes(&oracle, &r.initial, trace, &r.log, NonZeroU64::MAX, Image::clone).verdict
}

/// THM-SEM7: the ideal breaks undo logging in a crash state its contract allows; the others do not.
#[test]
fn thm_sem7_ideal_is_not_crash_consistent_by_contract() {
    assert_eq!(explored("x86-ideal", ContractKind::Px86), Verdict::Violated);
    assert_eq!(explored("x86-adr", ContractKind::Px86), Verdict::Clean);
    assert_eq!(explored("themis", ContractKind::Themis), Verdict::Clean);
    assert_eq!(explored("themis-llc", ContractKind::Themis), Verdict::Clean);
    // What makes the difference is the contract, not the dialect.
    assert_eq!(explored("themis", ContractKind::Px86), Verdict::Violated);
}

/// THM-SEM7: and in a run, once its write-combining buffer is slowed down; the same slow buffer breaks nobody else.
#[test]
fn thm_sem7_a_slow_write_combining_buffer_breaks_ideal_in_a_run() {
    assert_eq!(prefixes(&simulated("x86-ideal", "500ns")), Verdict::Violated);
    for design in ["x86-adr", "themis", "themis-llc"] {
        for delay in ["0ns", "500ns"] {
            let r = simulated(design, delay);
            assert_eq!(prefixes(&r), Verdict::Clean, "{design}, {delay}");
            let contract = find(design)
                .expect("registered")
                .contract_of(Environment::new(true, true));
            judge(&r, contract.kind).unwrap();
        }
    }
}
