//! Loose ordering's rules, one run each.

use super::common::*;
use fencepost_designs::loc::log::format::{Head, Name};
use fencepost_designs::statements::loc::logged;
use fencepost_kernel::params::Raw;
use fencepost_kernel::{HwThread, LineAddr, Mem, Ps};
use fencepost_machine::ThreadBody;

fn transaction(m: &mut fencepost_machine::SimMem<'_>, value: u64, lines: &[u64]) {
    m.tx_begin().expect("nothing aborts");
    lines.iter().for_each(|l| put(m, l * 64, value));
    m.tx_commit();
}

#[test]
fn loc_x1_a_window_of_one_is_eager_commit() {
    let one = [("speculation_degree", Raw::Int(1)), ("abort_every", Raw::Int(5))];
    for seed in 0..60 {
        let shape = Shape {
            seed,
            threads: 1 + (seed % 3) as u8,
            ops: 20,
            lines: 12,
            stores: 6,
            flush: seed % 4,
            abort: seed % 5,
            reads: seed % 6,
        };
        for spec in [roomy(3), cramped(3), ones(3)] {
            let loc = run(&spec, design("loc-wal", &one, 3), random_threads(shape));
            let ec = run(&spec, design("ec-wal", &one[1..], 3), random_threads(shape));
            assert_eq!(
                (loc.log.digest(), loc.log.len()),
                (ec.log.digest(), ec.log.len()),
                "{shape:?}"
            );
            assert_eq!((loc.time, loc.drain_time), (ec.time, ec.drain_time), "{shape:?}");
        }
    }
}

/// A thread commits; another, which only reads, flushes: what it has read must be durable then.
#[test]
fn a_flush_after_reading_waits_for_what_was_read() {
    for name in ["ec-wal", "loc-wal", "loc-kiln"] {
        let writer: ThreadBody = Box::new(|m| {
            m.lock(lock(0));
            transaction(m, 7, &[0]);
            m.unlock(lock(0));
            m.compute(fencepost_kernel::Site(1));
        });
        let reader: ThreadBody = Box::new(|m| {
            // Until the writer's transaction is seen.
            let mut seen = 0;
            while seen == 0 {
                m.lock(lock(0));
                m.tx_begin().expect("nothing aborts");
                seen = m.load(pm(0)).v;
                m.tx_commit();
                m.unlock(lock(0));
            }
            m.tx_flush();
        });
        let report = run(&roomy(2), design(name, &[], 2), vec![writer, reader]);
        check_run(&report, name, &[]).unwrap();
        conforms(&report, "loc").unwrap();
    }
}

/// A log of four groups is written round and round; the head follows, in place writes go on, nothing is lost.
#[test]
fn a_small_log_wraps_and_its_head_follows() {
    for name in logged_designs() {
        let body: ThreadBody = Box::new(|m| (0..60).for_each(|k| transaction(m, k + 1, &[k % 5, 5 + k % 3])));
        let mut spec = roomy(1);
        spec.log_area = fencepost_kernel::Bytes(5 * 512);
        let report = run(&spec, design(name, &[], 1), vec![body]);
        check_run(&report, name, &[]).unwrap();
        assert_eq!(stat(&report, "log_expansions"), 0);
        let head = Head::read(&report.durable);
        assert!(head.start > 12 && head.first == 61, "{name}: {head:?}");
        let log = fencepost_kernel::units::LOG_BASE.line().0;
        let written = |l: &LineAddr| l.0 >= log && report.durable.line_words(*l) != [0; 8];
        let lines = report.durable.pm_lines().filter(written);
        assert!(
            lines.map(|l| (l.0 - log) / 8).max().unwrap() <= 4,
            "{name}: within the area"
        );
    }
}

/// One transaction larger than the log and the caches: the area grows, and the transaction is whole or absent.
#[test]
fn a_transaction_larger_than_the_log_makes_it_grow() {
    for name in logged_designs() {
        let body: ThreadBody = Box::new(|m| {
            transaction(m, 1, &[0, 150]);
            transaction(m, 2, &(0..200).collect::<Vec<u64>>());
            m.tx_flush();
        });
        let mut spec = cramped(1);
        spec.log_area = fencepost_kernel::Bytes(3 * 512);
        let report = run(&spec, design(name, &[], 1), vec![body]);
        check_run(&report, name, &[]).unwrap();
        conforms(&report, "loc").unwrap();
        assert!(stat(&report, "log_expansions") > 0, "{name}");
        assert!(
            stat(&report, "reads_from_log") + stat(&report, "log_reads") > 0,
            "{name}"
        );
    }
}

/// A store over a committed version leaves the old bytes in a way of their own; when the set needs that way they are logged.
#[test]
fn versions_that_no_way_can_keep_are_logged() {
    // The L1 has 128 sets of two ways: lines 0 and 128 meet in one.
    let blocks_of = |lines: &'static [u64]| {
        let body: ThreadBody = Box::new(move |m| {
            transaction(m, 1, lines);
            transaction(m, 2, lines);
            m.tx_flush();
        });
        let report = run(&roomy(1), design("loc-wal", &[], 1), vec![body]);
        check_run(&report, "loc-wal", &[]).unwrap();
        conforms(&report, "loc").unwrap();
        let (blocks, _) = logged(&report);
        let of = |n: u16| blocks.iter().filter(|b| b.1 == Name::Order(n)).count();
        let count = |name| stat(&report, name);
        (of(1), of(2), count("version_overflows"), count("blocks_merged"))
    };
    assert_eq!(blocks_of(&[0]), (0, 1, 0, 1), "the older version is merged");
    let two = blocks_of(&[0, 128]);
    assert_eq!(
        two,
        (1, 2, 1, 1),
        "one of two older versions finds no way and is logged"
    );
}

/// Loads of lines that left the caches before their transaction committed or went home get the newest bytes.
#[test]
fn reads_between_log_and_in_place_write_are_served_from_the_log() {
    for name in logged_designs() {
        let body: ThreadBody = Box::new(|m| {
            for round in 0..6u64 {
                for half in 0..2 {
                    m.tx_begin().expect("nothing aborts");
                    for l in half * 20..half * 20 + 20 {
                        let old = m.load(pm(l * 64));
                        assert_eq!(old.v, 2 * round, "line {l}");
                        m.store(pm(l * 64), old.map(|v| v + 1));
                    }
                    // The last level holds eight lines: what left it lately waits for a block group, the rest is logged.
                    for l in (half * 20..half * 20 + 20).rev() {
                        let old = m.load(pm(l * 64));
                        assert_eq!(old.v, 2 * round + 1, "line {l}");
                        m.store(pm(l * 64), old.map(|v| v + 1));
                    }
                    m.tx_commit();
                }
            }
        });
        let report = run(&cramped(1), design(name, &[], 1), vec![body]);
        check_run(&report, name, &[]).unwrap();
        let (log, buffer) = (stat(&report, "reads_from_log"), stat(&report, "reads_from_buffer"));
        assert!(
            log > 0 && buffer > 0,
            "{name}: {log} from the log, {buffer} from the buffer"
        );
    }
}

/// Commits of 1 and of 9 lines into an array whose write takes ten microseconds: 8 writes apart, in both designs.
#[test]
fn a_non_volatile_array_writes_a_line_at_a_time() {
    for name in ["kiln", "loc-kiln"] {
        let set = [("nv_write", Raw::Text("10us".into()))];
        let finished = |lines: u64| {
            let lines: Vec<u64> = (1..=lines).collect();
            let body: ThreadBody = Box::new(move |m| {
                transaction(m, 1, &lines);
                m.tx_flush();
            });
            run(&roomy(1), design(name, &set, 1), vec![body]).hw_threads[0].finished
        };
        let apart = finished(9).saturating_sub(finished(1));
        // Fetching eight more lines takes some microseconds of its own.
        assert!(
            apart >= Ps::from_ns(80_000) && apart < Ps::from_ns(85_000),
            "{name}: {apart}"
        );
    }
}

/// What a stuck machine says of a design that has nothing to do: who runs, what is in the window, what is to be written home.
#[test]
fn a_design_at_rest_says_what_it_has() {
    for name in hardware() {
        let said = design(name, &[], 1).explain(HwThread(0)).expect(name);
        for part in ["0 of ", "transactions in the window", "0 windows to write home"] {
            assert!(said.contains(part), "{name}: {said}");
        }
    }
}
