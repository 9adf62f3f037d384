//! Rows opened for writes whose epoch does not have its turn yet.

use super::util::*;
use fencepost_kernel::Ps;
use fencepost_machine::memory::*;
use fencepost_machine::seam::QueuePlan;

/// One rank, rows of 2 KiB, a bank for each of the first rows; every time a whole number of clocks.
fn medium() -> MediaSpec {
    MediaSpec {
        banks: 4,
        bank_groups: 1,
        ranks: 1,
        channels: 1,
        t_ck: Ps(1000),
        t_rcd: Ps(55_000),
        t_rp: Ps(20_000),
        t_cwl: Ps(10_000),
        t_burst: Ps(5000),
        t_ras: Ps(30_000),
        t_rrd: Ps(4000),
        t_rrd_l: Ps(4000),
        t_refi: Ps(0),
        read_pulse: Ps(0),
        write_pulse: Ps(150_000),
        row_size: fencepost_kernel::Bytes(2048),
        mapping: Mapping::RowBankColumn,
        writes: WritePolicy::Through,
        ..MediaSpec::preset("pcm").unwrap()
    }
}
/// Lines of a row.
const ROW: u64 = 2048 / 64;

fn harness(rows_ahead: bool) -> Harness {
    let plan = QueuePlan {
        entries_each: Some(8),
        ..QueuePlan::default()
    };
    Harness::with_plan(&ControllerSpec { rows_ahead, ..bare() }, &medium(), &plan)
}

#[test]
fn the_next_epoch_finds_its_row_open() {
    let gap = |rows_ahead| {
        let mut h = harness(rows_ahead);
        let first = h.write(0, write(0, 1, Some(0)));
        let second = h.write(0, write(ROW, 2, Some(1)));
        h.finish();
        h.durable_time(second) - h.durable_time(first)
    };
    let m = medium();
    let stored = m.t_cwl.0 + m.t_burst.0 + m.write_pulse.0;
    assert_eq!(
        gap(false),
        m.t_rcd.0 + stored,
        "the row is opened when the epoch has its turn"
    );
    assert_eq!(gap(true), stored, "the row was opened during the first pulse");
}

#[test]
fn a_row_that_is_in_the_way_is_closed_ahead_too() {
    let gap = |rows_ahead| {
        let mut h = harness(rows_ahead);
        let opens = h.write(0, write(4 * ROW + ROW, 0, Some(0)));
        h.finish();
        let now = h.durable_time(opens) + 1_000_000;
        let first = h.write(now, write(0, 1, Some(1)));
        let second = h.write(now, write(ROW, 2, Some(2)));
        h.finish();
        h.durable_time(second) - h.durable_time(first)
    };
    let m = medium();
    let stored = m.t_cwl.0 + m.t_burst.0 + m.write_pulse.0;
    assert_eq!(gap(false), m.t_rp.0 + m.t_rcd.0 + stored);
    assert_eq!(gap(true), stored);
}

/// The row that a read waits for stays open, and the read is served from it.
#[test]
fn no_row_is_closed_under_a_read() {
    let read = |rows_ahead| {
        let mut h = harness(rows_ahead);
        let warm = h.read(0, ROW);
        h.finish();
        let now = h.read_time(warm) + 1_000_000;
        let _ = h.write(now, write(0, 1, Some(0)));
        let _ = h.write(now, write(4 * ROW + ROW, 2, Some(1)));
        let id = h.read(now, ROW + 1);
        h.finish();
        (h.read_time(id) - now, h.c.stats().row_hits)
    };
    assert_eq!(read(true), read(false));
}
