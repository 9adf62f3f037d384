//! Per-task and global committing, on the machine: what a commit waits for, whom it blocks, and what happens when registers,
//! queues or credits run out.

use super::harness::Setup;
use fencepost_designs::statements::fgc::{bind, commits, durable, events, write};
use fencepost_kernel::{Addr, Fence, Mem, QueueId, TraceKind};
use fencepost_machine::{SimMem, ThreadBody};

fn body(f: impl FnOnce(&mut SimMem<'_>) + 'static) -> ThreadBody {
    Box::new(f)
}

fn release(m: &mut SimMem<'_>, line: u64, lines: u64) {
    m.release(Addr::pm(64 * line), 64 * lines);
}
fn tso(design: &str) -> Setup {
    Setup::new(design).tso(true)
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
