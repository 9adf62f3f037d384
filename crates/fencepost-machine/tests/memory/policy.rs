//! The controller's policies: how hits, drains and waiting writes take turns.

use super::util::round::*;
use super::util::*;
use fencepost_kernel::Ps;
use fencepost_machine::memory::*;

#[test]
fn row_hits_pass_an_older_conflict_only_so_often() {
    for (most, before) in [(0, 6), (3, 3), (1, 1)] {
        let spec = ControllerSpec {
            row_hits_max: most,
            ..bare()
        };
        let mut h = Harness::new(&spec, &media());
        // Opens the row and is its first hit; the conflict is older than the five that follow.
        let opener = h.read(0, at(0, 0, 0));
        h.run_until(0);
        let conflict = h.read(1, at(0, 1, 0));
        let hits: Vec<_> = (1..6).map(|c| h.read(1, at(0, 0, c))).collect();
        h.finish();
        let earlier = [opener]
            .into_iter()
            .chain(hits)
            .filter(|id| h.read_time(*id) < h.read_time(conflict));
        assert_eq!(earlier.count(), before, "row_hits_max {most}");
    }
}

/// A row that is about to be closed stays open for a hit that comes before, also where that cannot be served until then.
#[test]
fn a_row_stays_open_for_a_hit_that_comes_before_it_is_closed() {
    let media = MediaSpec {
        t_ccd: Ps(200_000),
        t_ccd_l: Ps(200_000),
        ..media()
    };
    let mut h = Harness::new(&bare(), &media);
    let _opener = h.read(0, at(0, 0, 0));
    h.run_until(RCD);
    let conflict = h.read(RCD + 1000, at(0, 1, 0));
    h.run_until(RCD + 2000);
    let hit = h.read(RCD + 3000, at(0, 0, 1));
    h.finish();
    assert!(h.read_time(hit) < h.read_time(conflict));
    assert_eq!(h.c.stats().row_hits, 1);
}

#[test]
fn a_drain_gives_way_and_resumes_by_the_watermarks() {
    // Eight entries, drain at six, down to two; hits of one open row, so that order is the controller's choice alone.
    let order = |read_priority: bool, min_writes: u16, writes: u64| {
        let spec = ControllerSpec {
            write_queue: 8,
            drain_high: 75,
            drain_low: 25,
            min_writes,
            read_priority,
            // Otherwise writes on their way into the medium still count as waiting.
            slot_freed: SlotFreed::Issue,
            ..bare()
        };
        let mut h = Harness::new(&spec, &media());
        let _ = h.read_alone(0, at(0, 0, 0));
        let reads: Vec<_> = (1..3).map(|c| h.read(100_000, at(0, 0, c))).collect();
        let ids: Vec<_> = (0..writes)
            .map(|c| h.write(100_000, write(at(0, 0, 8 + c), c, None)))
            .collect();
        h.finish();
        ids.iter()
            .filter(|w| h.durable_time(**w) < h.read_time(reads[0]))
            .count()
    };
    // Below the high mark reads go first; at it, writes are drained to the low mark before them.
    assert_eq!(order(true, 1, 5), 0);
    assert_eq!(order(true, 1, 6), 4);
    assert_eq!(order(true, 1, 8), 6);
    // At least `min_writes` of them.
    assert_eq!(order(true, 5, 6), 5);
}

#[test]
fn a_write_that_waited_long_enough_goes_before_reads() {
    let first_write = |wait: u64| {
        let spec = ControllerSpec {
            write_wait_max: Ps(wait),
            min_writes: 1,
            fill_idle: false,
            ..bare()
        };
        let mut h = Harness::new(&spec, &media());
        // Reads that hit one row arrive twice as fast as they are served, so one is always waiting.
        let mut w = None;
        for i in 0..30 {
            let _ = h.read(i * CCD / 2, at(0, 0, i % 16));
            h.run_until(i * CCD / 2);
            if i == 4 {
                w = Some(h.write(i * CCD / 2, write(at(1, 0, 0), 1, None)));
            }
        }
        let last_read = h.id() - 1;
        h.finish();
        (h.durable_time(w.unwrap()) - 4 * CCD / 2, h.read_time(last_read))
    };
    let (never, reads_end) = first_write(0);
    assert!(never > reads_end - 4 * CCD / 2 - CL, "reads go first");
    // Overdue after 40 ns: then the row is opened and the line written, as soon as the bus has turned.
    let (waited, _) = first_write(40_000);
    assert!(waited >= 40_000 + RCD + CWL + BURST);
    assert!(
        waited <= 40_000 + CK + RCD + (CL + BURST + RTW - CWL) + CWL + BURST,
        "{waited}"
    );
}

#[test]
fn a_read_behind_a_drain_that_never_ends_has_its_turn() {
    // Writes to one bank that rewrite rows keep the queue full; each occupies the bank for its pulse.
    let pulse = 500_000;
    let m = MediaSpec {
        write_pulse: Ps(pulse),
        ..media()
    };
    let longest_wait = |wait: u64, min_writes: u16| {
        let spec = ControllerSpec {
            write_queue: 8,
            min_writes,
            write_wait_max: Ps(1),
            read_wait_max: Ps(wait),
            ..bare()
        };
        let mut h = Harness::new(&spec, &m);
        let (mut row, mut read) = (0, None);
        for i in 0..200 {
            let now = i * pulse;
            h.run_until(now);
            while h.c.free_slots(0) > 0 {
                row = row % 60 + 1;
                let _ = h.write(now, write(at(0, row, 0), 1, None));
            }
            if i == 20 {
                read = Some(h.read(now, at(0, 0, 0)));
            }
        }
        h.finish();
        h.read_time(read.unwrap()) - 20 * pulse
    };
    // One write: its row is closed and opened, its data sent and stored.
    let each = RP + RCD + CWL + BURST + WR + pulse;
    assert!(
        longest_wait(0, 1) > 150 * pulse,
        "without a limit the read waits for the last write"
    );
    for min_writes in [1, 4] {
        let waited = longest_wait(2 * pulse, min_writes);
        let writes = 2 * pulse / each + 1 + u64::from(min_writes);
        assert!(
            waited <= writes * each + RP + RCD + CL + BURST,
            "{min_writes}: {waited}"
        );
        assert!(waited > 2 * pulse, "it has no right to go earlier");
    }
}

#[test]
fn a_read_whose_row_opens_more_slowly_than_writes_wait_is_served_all_the_same() {
    // A row is opened every 2 us; a write is late after one, and so has taken the turn back before a read has its row.
    let apart = 2_000_000;
    let m = MediaSpec {
        t_rrd: Ps(apart),
        ..media()
    };
    let (limit, step) = (1_000_000, 100_000);
    let spec = ControllerSpec {
        min_writes: 16,
        write_wait_max: Ps(limit),
        read_wait_max: Ps(limit),
        ..bare()
    };
    let mut h = Harness::new(&spec, &m);
    let empty = h.c.free_slots(0);
    let (mut row, mut since, mut read) = (0, 0, None);
    for i in 0..8000 {
        let now = i * step;
        h.run_until(now);
        if i == 400 {
            read = Some(h.read(now, at(0, 0, 0)));
        }
        // Two writes, as soon as those before have left: they are late before a row can be opened again.
        since = if h.c.free_slots(0) == empty { since + 1 } else { 0 };
        if since == 3 {
            for bank in [1, 2] {
                row = row % 60 + 1;
                let _ = h.write(now, write(at(bank, row, 0), 1, None));
            }
        }
    }
    h.finish();
    let waited = h.read_time(read.unwrap()) - 400 * step;
    // Late after one limit, passed over for 64, and then served in the next turn, behind the drain that is under way.
    assert!(waited <= 64 * limit + 4 * apart, "{waited}");
}

#[test]
fn idle_time_is_filled_by_the_other_direction_but_not_at_the_cost_of_a_waiting_hit() {
    // A bank that takes a column command only every 400 ns.
    let m = MediaSpec {
        t_ccd_bank: Ps(400_000),
        ..media()
    };
    for fill_idle in [false, true] {
        let spec = ControllerSpec { fill_idle, ..bare() };
        let mut h = Harness::new(&spec, &m);
        let _ = h.read(0, at(0, 0, 0));
        let hit = h.read(0, at(0, 0, 1));
        // One write could use another bank meanwhile, one could close the row the second read waits for.
        let elsewhere = h.write(0, write(at(1, 0, 0), 1, None));
        let conflict = h.write(0, write(at(0, 1, 0), 2, None));
        h.finish();
        assert_eq!(h.read_time(hit), RCD + 400_000 + CL + BURST);
        assert_eq!(h.durable_time(elsewhere) < h.read_time(hit), fill_idle);
        assert!(h.durable_time(conflict) > h.read_time(hit));
    }
}
