//! A small undo-logged program, and who breaks it.

use super::stage::body;
use super::{Machines, Rule, Seen, expect};
use crate::info::Environment;
use fencepost_contract::ContractKind;
use fencepost_contract::explore::{CrashCheck, Oracle, ProgramRun, Verdict, check_prefixes};
use fencepost_kernel::{
    Addr, At, Bytes, CrashPoint, Flow, Footprint, Image, Mem, OpRecord, Outcome, Pm, Program, Rollback, Val, Violation,
    run_thread,
};
use std::num::NonZeroU64;

/// The ideal of the Themis paper is not crash consistent.
pub const IDEAL: Rule = Rule {
    name: "thm-ideal-is-not-crash-consistent",
    broken_by: "x86.entries-leave-at-once",
    holds: ideal_breaks,
};

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

/// Every crash state that a contract allows for software on the design.
fn explored(on: &dyn Machines, design: &str, contract: ContractKind) -> Result<Verdict, String> {
    let info = on.with(design, &[])?.info;
    let run = ProgramRun {
        dialect: (info.dialect)(Environment::new(true, true)),
        threads: 2,
        ops: 4,
        ack_every: false,
    };
    let report = CrashCheck::new(contract).program(&Accounts { threads: 2 }, run);
    Ok(report.map_err(|e| e.to_string())?.verdict)
}
/// Recovery before every durable event of a run on the machine.
fn prefixes(on: &dyn Machines, design: &str, delay: &str) -> Result<Verdict, String> {
    let stage = on.with(design, &[&format!("design.{design}.drain_delay={delay}")])?;
    let dialect = (stage.info.dialect)(stage.environment());
    let thread = |t: u32| {
        body(move |m| {
            let mut pm = Pm::new(m, dialect);
            run_thread(&Accounts { threads: 3 }, &mut pm, t, 0, 25);
        })
    };
    let r = stage.run((0..3).map(thread).collect())?;
    let trace = r.trace.as_ref().ok_or("the run was not recorded")?;
    let program = Accounts { threads: 3 };
    let oracle = Oracle::new(&program, &trace.ops);
    Ok(check_prefixes(&oracle, &r.initial, trace, &r.log, NonZeroU64::MAX, Image::clone).verdict)
}

/// The ideal breaks undo logging in a crash state that its contract allows, and in a run once its write-combining buffer is slowed down;
/// the others do neither.
fn ideal_breaks(on: &dyn Machines) -> Seen {
    let convicted = (
        explored(on, "x86-ideal", ContractKind::Px86)?,
        prefixes(on, "x86-ideal", "500ns")?,
    );
    expect(convicted == (Verdict::Violated, Verdict::Violated), || {
        format!(
            "the ideal is {:?} by its contract, {:?} in a run",
            convicted.0, convicted.1
        )
    })?;
    for (design, contract) in [
        ("x86-adr", ContractKind::Px86),
        ("themis", ContractKind::Themis),
        ("themis-llc", ContractKind::Themis),
    ] {
        let by_contract = explored(on, design, contract)?;
        let runs = [prefixes(on, design, "0ns")?, prefixes(on, design, "500ns")?];
        expect(by_contract == Verdict::Clean && runs == [Verdict::Clean; 2], || {
            format!("{design} is {by_contract:?} by its contract, {runs:?} in runs")
        })?;
    }
    // What makes the difference is the contract, not the dialect.
    expect(explored(on, "themis", ContractKind::Px86)? == Verdict::Violated, || {
        "the weaker contract breaks nothing: the test cannot fail".into()
    })?;
    Ok("undo logging without a fence between log and data breaks on the ideal alone".into())
}
