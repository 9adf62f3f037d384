//! The rules of per-task committing that a handwritten program shows: what a commit waits for, whom it blocks, when a write may go.

use super::stage::{body, pm};
use super::{Machines, Rule, Seen, Stage, expect};
use fencepost_kernel::{Addr, Fence, Flush, Mem, QueueId, TraceKind, Val};
use fencepost_machine::seam::Cause;
use fencepost_machine::{RunReport, SimMem, ThreadBody};

/// A commit completes when the medium has stored what was flushed into its queue.
pub const COMMIT_WAITS: Rule = Rule {
    name: "fgc-commit-waits-for-credits-and-queue",
    broken_by: "commit.poll-early",
    holds: commit_waits,
};
/// While a queue is committed the default queue stays open.
pub const DEFAULT_QUEUE: Rule = Rule {
    name: "fgc-default-queue-not-blocked",
    broken_by: "commit.default-queue-closed",
    holds: default_queue,
};
/// No write enters a queue while it is committed.
pub const CLOSED_QUEUE: Rule = Rule {
    name: "fgc-closed-queue-refuses",
    broken_by: "commit.closed-queue-takes",
    holds: closed_queue,
};
/// What ADR acknowledges is lost in a DRAM cache.
pub const DRAM_CACHE: Rule = Rule {
    name: "fgc-adr-loses-in-a-dram-cache",
    broken_by: "module.cache-is-durable",
    holds: dram_cache,
};
/// No write is issued at credit 0.
pub const CREDIT_ZERO: Rule = Rule {
    name: "fgc-no-issue-at-credit-zero",
    broken_by: "commit.issues-at-zero",
    holds: credit_zero,
};
/// Every rule of this paper.
pub const RULES: &[Rule] = &[COMMIT_WAITS, DEFAULT_QUEUE, CLOSED_QUEUE, DRAM_CACHE, CREDIT_ZERO];

const DESIGN: &str = "per-task-commit";

/// Stores to a line and flushes it.
pub fn write(m: &mut SimMem<'_>, line: u64, value: u64) {
    m.store(pm(line), Val::lit(value));
    m.flush(pm(line), Flush::Clflush);
}
/// Binds some lines to a queue.
pub fn bind(m: &mut SimMem<'_>, line: u64, lines: u64) -> QueueId {
    m.bind(Addr::pm(64 * line), 64 * lines)
}
/// Waits for what was flushed, and commits the queue.
pub fn commit(m: &mut SimMem<'_>, queue: QueueId) {
    m.fence(Fence::Mfence);
    m.commit_queue(queue);
}
/// Places of the events of a kind in the trace.
///
/// # Panics
/// If the run was not recorded.
pub fn events(r: &RunReport, pick: impl Fn(TraceKind) -> bool) -> Vec<usize> {
    let all = r.trace.as_ref().expect("recorded").events.iter().enumerate();
    all.filter(|(_, e)| pick(e.kind)).map(|(i, _)| i).collect()
}
/// Place in the trace of the event that made a line durable.
pub fn durable(r: &RunReport, line: u64) -> Option<usize> {
    let of_line = |index: u32| r.log.records()[index as usize].line == Addr::pm(64 * line).line();
    let all = events(r, |k| matches!(k, TraceKind::Durable { index } if of_line(index)));
    all.first().copied()
}
/// Places of the commits in the trace.
pub fn commits(r: &RunReport) -> Vec<usize> {
    events(r, |k| matches!(k, TraceKind::CommitQueue(_)))
}
fn stalled(r: &RunReport, thread: usize, cause: Cause) -> bool {
    r.hw_threads[thread].account.stalled(cause).0 > 0
}
/// A run without a rule broken.
fn sound(stage: &Stage, threads: Vec<ThreadBody>) -> Result<RunReport, String> {
    let r = stage.run(threads)?;
    match r.broken_rule.clone() {
        None => Ok(r),
        Some(why) => Err(why),
    }
}

/// FGC-SEM1: and a run that commits takes at least a write of the medium longer than one that does not.
fn commit_waits(on: &dyn Machines) -> Seen {
    let stage = on.with(DESIGN, &[])?;
    let ran = |committing: bool| {
        let thread = body(move |m| {
            let queues = (bind(m, 0, 1), bind(m, 100, 1));
            write(m, 0, 1);
            m.fence(Fence::Mfence);
            if committing {
                m.commit_queue(queues.0);
            }
        });
        sound(&stage, vec![thread])
    };
    let (with, without) = (ran(true)?, ran(false)?);
    let (stored, committed) = (durable(&with, 0), commits(&with).first().copied());
    expect(stored.is_some() && stored < committed, || {
        format!("the line is durable as event {stored:?}, its commit over as {committed:?}")
    })?;
    let waits = with.time.saturating_sub(without.time);
    expect(waits >= stage.spec.pm.media.write_pulse, || {
        format!("a commit takes only {waits}")
    })?;
    Ok("a commit is over when the medium has stored the line".into())
}

/// FGC-SEM2: writes in no range pass while another queue is committed.
fn default_queue(on: &dyn Machines) -> Seen {
    let committer = body(|m| {
        let queue = bind(m, 0, 8);
        for i in 0..40 {
            write(m, i % 8, i + 1);
            commit(m, queue);
        }
    });
    let other = body(|m| (0..100).for_each(|i| write(m, 1000 + 128 * (i % 8), i + 1)));
    let r = sound(&on.with(DESIGN, &[])?, vec![committer, other])?;
    expect(stalled(&r, 0, Cause::CommitPending), || "no commit ever waited".into())?;
    Ok("writes in no range pass beside 40 commits".into())
}

/// FGC-SEM3: whichever thread it comes from; two threads that commit one queue do so one after the other.
fn closed_queue(on: &dyn Machines) -> Seen {
    let thread = |t: u64| {
        body(move |m| {
            let queue = bind(m, 0, 16);
            for i in 0..30 {
                write(m, 4 * t + i % 4, 100 * t + i + 1);
                commit(m, queue);
            }
        })
    };
    let r = sound(&on.with(DESIGN, &[])?, (0..3).map(thread).collect())?;
    let (n, one_by_one) = (
        commits(&r).len(),
        (0..3).any(|t| stalled(&r, t, Cause::CommitExclusive)),
    );
    expect(n == 90 && one_by_one, || {
        format!("{n} commits of 90; one by one: {one_by_one}")
    })?;
    Ok("a queue that is committed takes no write of any thread".into())
}

/// FGC-SEM4: what software flushed and fenced is in the volatile cache; with per-task committing it is on the medium.
fn dram_cache(on: &dyn Machines) -> Seen {
    let ran = |design: &str| {
        let thread = body(|m| {
            let queue = bind(m, 0, 1);
            write(m, 0, 1);
            commit(m, queue);
        });
        on.with(design, &["pm.controller.durable_at=accept"])?
            .run_free(vec![thread])
    };
    let (adr, per_task) = (ran("adr-dram-cache")?, ran("per-task-commit-dram-cache")?);
    expect(durable(&adr, 0).is_none(), || {
        "ADR's acknowledged line is durable".into()
    })?;
    expect(durable(&per_task, 0).is_some(), || {
        "a committed line is not durable".into()
    })?;
    Ok("a fenced line is lost with ADR over a DRAM cache, and durable when its range is committed".into())
}

/// FGC-SEM5: a write waits at credit 0 until a read has brought a credit back, and the controller asks.
fn credit_zero(on: &dyn Machines) -> Seen {
    // Two credits for each of two queues: twelve writes need more, and two come at a time at most.
    let flushed = body(|m| {
        let queue = bind(m, 0, 64);
        (0..12).for_each(|i| write(m, i, i + 1));
        commit(m, queue);
    });
    let stage = on.with(DESIGN, &["design.queues=1", "design.credits=2"])?;
    let asked = sound(&stage, vec![flushed])?.pm.module_queries;
    expect(asked >= 5, || {
        format!("the controller asked {asked} times for ten credits")
    })?;
    // Non-temporal stores read nothing that could bring credits along: the second finds none.
    let burst = body(|m| {
        (0..12).for_each(|i| m.nt_store(pm(i), Val::lit(i + 1)));
        commit(m, QueueId::DEFAULT);
    });
    let stage = on.with(DESIGN, &["design.queues=1", "design.credits=1"])?;
    let r = sound(&stage, vec![burst])?;
    let missing = (0..12).find(|line| durable(&r, *line).is_none());
    expect(missing.is_none(), || format!("line {missing:?} never became durable"))?;
    Ok("no write goes at credit 0".into())
}
