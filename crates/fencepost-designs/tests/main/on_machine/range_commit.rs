//! Per-task and global committing, on the machine: what a commit waits for, whom it blocks, and what happens when registers,
//! queues or credits run out.

use super::harness::Setup;
use fencepost_kernel::{Addr, At, Fence, Flush, Mem, QueueId, TraceKind, Val};
use fencepost_machine::seam::Cause;
use fencepost_machine::{RunReport, SimMem, ThreadBody};

type Dep = u32;

fn body(f: impl FnOnce(&mut SimMem<'_>) + 'static) -> ThreadBody {
    Box::new(f)
}
fn pm(line: u64) -> At<Dep> {
    At::new(Addr::pm(64 * line))
}
/// Stores to a line and flushes it.
fn write(m: &mut SimMem<'_>, line: u64, value: u64) {
    m.store(pm(line), Val::lit(value));
    m.flush(pm(line), Flush::Clflush);
}
fn bind(m: &mut SimMem<'_>, line: u64, lines: u64) -> QueueId {
    m.bind(Addr::pm(64 * line), 64 * lines)
}
fn release(m: &mut SimMem<'_>, line: u64, lines: u64) {
    m.release(Addr::pm(64 * line), 64 * lines);
}
fn tso(design: &str) -> Setup {
    Setup::new(design).tso(true)
}
/// Places of the events of a kind in the trace, and of the durable event of a line.
fn events(r: &RunReport, pick: impl Fn(TraceKind) -> bool) -> Vec<usize> {
    let all = r.trace.as_ref().expect("recorded").events.iter().enumerate();
    all.filter(|(_, e)| pick(e.kind)).map(|(i, _)| i).collect()
}
fn durable(r: &RunReport, line: u64) -> Option<usize> {
    let of_line = |index: u32| r.log.records()[index as usize].line == Addr::pm(64 * line).line();
    let all = events(r, |k| matches!(k, TraceKind::Durable { index } if of_line(index)));
    all.first().copied()
}
fn commits(r: &RunReport) -> Vec<usize> {
    events(r, |k| matches!(k, TraceKind::CommitQueue(_)))
}
fn stall(r: &RunReport, thread: usize, cause: Cause) -> u64 {
    r.hw_threads[thread].account.stalls()[cause.index()].0
}

/// FGC-SEM1: the commit completes after the medium has stored what was flushed into its queue.
#[test]
fn a_commit_waits_for_the_writes_of_its_queue_and_of_no_other() {
    let s = tso("per-task-commit").with("module_entries", "64");
    let r = s.run_bodies(vec![body(|m| {
        let (a, b) = (bind(m, 0, 1), bind(m, 100, 1));
        assert_eq!((a, b), (QueueId(1), QueueId(2)));
        write(m, 0, 1);
        m.fence(Fence::Mfence);
        m.commit_queue(a);
    })]);
    assert!(durable(&r, 0) < commits(&r).first().copied());
    s.judge(&r).unwrap();

    // Without a commit nothing waits: the flush is long done when the medium stores the line.
    let without = |commit: bool| {
        s.run_bodies(vec![body(move |m| {
            let a = bind(m, 0, 1);
            write(m, 0, 1);
            m.fence(Fence::Mfence);
            if commit {
                m.commit_queue(a);
            }
        })])
        .time
    };
    // The pulse alone is 150 ns.
    assert!(without(true).0 > without(false).0 + 150_000);
}

/// FGC-SEM2: while a queue is committed the default queue stays open.
#[test]
fn writes_in_no_range_pass_while_another_queue_is_committed() {
    let run = |fault: &str| {
        let committer = body(|m| {
            let q = bind(m, 0, 8);
            for i in 0..40 {
                write(m, i % 8, i + 1);
                m.fence(Fence::Mfence);
                m.commit_queue(q);
            }
        });
        let other = body(|m| (0..100).for_each(|i| write(m, 1000 + 128 * (i % 8), i + 1)));
        let s = tso("per-task-commit").with("fault", fault);
        s.run_bodies(vec![committer, other])
    };
    let r = run("none");
    assert!(stall(&r, 0, Cause::CommitPending) > 0);
    assert_eq!(r.broken_rule, None);
    let closed = run("default-queue-closed").broken_rule;
    assert!(closed.is_some_and(|why| why.contains("queue 0 is closed")));
}

/// FGC-SEM3: no write enters a queue while it is committed, by whatever thread.
#[test]
fn a_queue_that_is_committed_takes_no_write_of_any_thread() {
    let thread = |t: u64| {
        body(move |m| {
            let q = bind(m, 0, 16);
            for i in 0..30 {
                write(m, 4 * t + i % 4, 100 * t + i + 1);
                m.fence(Fence::Mfence);
                m.commit_queue(q);
            }
        })
    };
    let s = tso("per-task-commit");
    let r = s.run_bodies(vec![thread(0), thread(1), thread(2)]);
    assert_eq!(r.broken_rule, None);
    assert_eq!(
        commits(&r).len(),
        90,
        "two threads that commit one queue do so one after the other"
    );
    assert!((0..3).any(|t| stall(&r, t, Cause::CommitExclusive) > 0));
    s.judge(&r).unwrap();

    let open = tso("per-task-commit").with("fault", "closed-queue-takes");
    let r = open.run_bodies(vec![thread(0), thread(1), thread(2)]);
    assert!(r.broken_rule.is_some_and(|why| why.contains("took a write")));
}

/// FGC-SEM5: a write waits at credit 0 until a read has brought a credit back.
#[test]
fn writes_wait_at_credit_zero_and_the_controller_asks() {
    let run = || {
        let s = tso("per-task-commit").with("queues", "1").with("credits", "2");
        let r = s.run_bodies(vec![body(|m| {
            let q = bind(m, 0, 64);
            for i in 0..12 {
                write(m, i, i + 1);
            }
            m.fence(Fence::Mfence);
            m.commit_queue(q);
        })]);
        (r.broken_rule.clone(), r.pm.module_queries)
    };
    // Two credits for each of two queues.
    let (broken, asked) = run();
    assert_eq!(broken, None);
    assert!(
        asked >= 5,
        "twelve writes need ten credits more than there are, and two come at a time at most: {asked}"
    );

    // Non-temporal stores read nothing that could bring credits along: the second finds none.
    let burst = |fault: &str| {
        let s = tso("per-task-commit")
            .with("queues", "1")
            .with("credits", "1")
            .with("fault", fault);
        let r = s.run_bodies(vec![body(|m| {
            (0..12).for_each(|i| m.nt_store(pm(i), Val::lit(i + 1)));
            m.fence(Fence::Mfence);
            m.commit_queue(QueueId::DEFAULT);
        })]);
        r.broken_rule
    };
    assert_eq!(burst("none"), None);
    let broken = burst("issues-at-zero");
    assert!(
        broken.as_ref().is_some_and(|why| why.contains("credit 0")),
        "{broken:?}"
    );
}

#[test]
fn a_range_without_a_register_stays_in_the_default_queue_which_can_be_committed() {
    for design in ["per-task-commit", "per-task-commit-dram-cache"] {
        let s = tso(design).with("queues", "1").with("registers", "2");
        let r = s.run_bodies(vec![body(|m| {
            let bound = [0, 10, 20].map(|l| bind(m, l, 1));
            assert_eq!(bound, [QueueId(1), QueueId(1), QueueId::DEFAULT]);
            // A range that shares a line with another one is not bound either.
            release(m, 10, 1);
            assert_eq!(m.bind(Addr::pm(8), 8), QueueId::DEFAULT);
            write(m, 20, 1);
            m.fence(Fence::Mfence);
            m.commit_queue(QueueId::DEFAULT);
        })]);
        assert!(
            durable(&r, 20).is_some() && durable(&r, 20) < commits(&r).first().copied(),
            "{design}"
        );
        assert_eq!(r.design_count("ranges_not_bound"), Some(2), "{design}");
        s.judge(&r).unwrap();
    }
}

#[test]
fn a_range_that_straddles_lines_covers_all_of_them() {
    let s = tso("per-task-commit-dram-cache");
    let r = s.run_bodies(vec![body(|m| {
        // Bytes 60 to 131 lie on lines 0, 1 and 2.
        let q = m.bind(Addr::pm(60), 72);
        for line in 0..3 {
            write(m, line, line + 1);
        }
        m.fence(Fence::Mfence);
        m.commit_queue(q);
        write(m, 3, 9);
        m.fence(Fence::Mfence);
        m.commit_queue(q);
    })]);
    let commits = commits(&r);
    for line in 0..3 {
        assert!(durable(&r, line).is_some_and(|at| at < commits[0]), "line {line}");
    }
    assert_eq!(durable(&r, 3), None, "it is in no range and stays in the cache");
    s.judge(&r).unwrap();
}

#[test]
fn the_last_release_waits_for_pending_writes_and_gives_the_register_back() {
    let s = tso("per-task-commit").with("queues", "1").with("registers", "1");
    let r = s.run_bodies(vec![body(|m| {
        assert_eq!([bind(m, 0, 4), bind(m, 0, 4)], [QueueId(1); 2], "bound twice");
        assert_eq!(bind(m, 50, 1), QueueId::DEFAULT, "the only register is taken");
        release(m, 0, 4);
        assert_eq!(bind(m, 50, 1), QueueId::DEFAULT, "it is still bound once");
        write(m, 0, 1);
        write(m, 1, 1);
        m.fence(Fence::Mfence);
        release(m, 0, 4);
        assert_eq!(bind(m, 50, 1), QueueId(1));
        release(m, 70, 1); // never bound
    })]);
    let released = events(&r, |k| matches!(k, TraceKind::Release { .. }));
    for line in 0..2 {
        assert!(durable(&r, line).is_some_and(|at| at < released[1]), "line {line}");
    }
    s.judge(&r).unwrap();
}

/// FGC-SEM4: what ADR acknowledges is in a volatile cache; a registered range goes through to the medium.
#[test]
fn a_dram_cache_keeps_what_adr_acknowledged() {
    let s = tso("adr-dram-cache");
    let r = s.run_bodies(vec![body(|m| {
        write(m, 0, 1);
        m.fence(Fence::Mfence);
    })]);
    assert_eq!(durable(&r, 0), None);
    let refusal = s.judge(&r).unwrap_err();
    assert!(refusal.contains("range_commit.rs"), "with the line: {refusal}");
}

/// A `pcommit` waits for every core's writes, and while it lasts no other core's write is taken.
#[test]
fn a_global_commit_waits_for_all_and_stops_all() {
    let run = |commits: bool| {
        let committer = body(move |m| {
            for i in 0..20 {
                write(m, 0, i + 1);
                m.fence(Fence::Mfence);
                if commits {
                    m.fence(Fence::Pcommit);
                    m.fence(Fence::Mfence);
                }
            }
        });
        let other = body(|m| (0..100).for_each(|i| write(m, 100 + i % 7, i + 1)));
        let s = tso("global-commit");
        let r = s.run_bodies(vec![committer, other]);
        s.judge(&r).unwrap();
        assert_eq!(r.broken_rule, None);
        r.hw_threads[1].finished
    };
    assert!(
        run(true) > run(false),
        "the other core waits for commits that are not its own"
    );
}
