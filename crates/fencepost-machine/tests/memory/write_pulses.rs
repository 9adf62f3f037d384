//! Closed-form timing of write pulses: written through, kept in a row buffer, or buffered by the module.

use super::util::round::*;
use super::util::*;
use fencepost_kernel::Ps;
use fencepost_machine::memory::*;
use fencepost_machine::seam::QueuePlan;

fn harness(media: &MediaSpec) -> Harness {
    Harness::new(&bare(), media)
}

/// Phase-change medium: an activate reads the array (50 ns), a write is followed by a pulse of 150 ns.
pub(super) fn pcm(writes: WritePolicy) -> MediaSpec {
    MediaSpec {
        read_pulse: Ps(50_000),
        write_pulse: Ps(150_000),
        writes,
        ..media()
    }
}

#[test]
fn a_pulse_ends_each_write_and_writes_to_one_bank_queue_up() {
    let mut h = harness(&pcm(WritePolicy::Through));
    let ids: Vec<_> = (0..4).map(|c| h.write(0, write(at(0, 0, c), c, None))).collect();
    h.finish();
    for (i, id) in ids.iter().enumerate() {
        assert_eq!(h.durable_time(*id), 50_000 + (i as u64 + 1) * (CWL + BURST + 150_000));
    }
    assert_eq!(h.c.stats().row_hits, 3);
}

#[test]
fn pulses_of_different_banks_overlap() {
    let mut h = harness(&pcm(WritePolicy::Through));
    let ids: Vec<_> = (0..8).map(|b| h.write(0, write(at(b, 0, 0), b, None))).collect();
    h.finish();
    for (i, id) in ids.iter().enumerate() {
        assert_eq!(h.durable_time(*id), i as u64 * RRD + 50_000 + CWL + BURST + 150_000);
    }
}

#[test]
fn a_row_buffer_takes_further_writes_and_is_closed_after_the_last_pulse() {
    let mut h = harness(&pcm(WritePolicy::RowBuffer));
    let ids: Vec<_> = (0..4).map(|c| h.write(0, write(at(0, 0, c), c, None))).collect();
    h.finish();
    for (i, id) in ids.iter().enumerate() {
        // No write waits for the pulse of the one before it; each is durable at the end of its own.
        assert_eq!(h.durable_time(*id), 50_000 + i as u64 * CCD + CWL + BURST + 150_000);
    }
    // A row that was just written closes only after its pulse; one that was read closes at once.
    let w = h.write(1_000_000, write(at(0, 0, 9), 1, None));
    h.run_until(1_000_000);
    let r = h.read(1_001_000, at(0, 2, 0));
    h.finish();
    assert_eq!(h.durable_time(w), 1_000_000 + CWL + BURST + 150_000);
    assert_eq!(h.read_time(r), h.durable_time(w) + RP + 50_000 + CL + BURST);
    assert_eq!(
        h.read_alone(2_000_000, at(0, 3, 0)),
        2_000_000 + RP + 50_000 + CL + BURST
    );
}

/// As [`pcm`], with a module that holds two writes.
fn buffered() -> MediaSpec {
    MediaSpec {
        t_ccd: Ps(BURST),
        t_ccd_l: Ps(BURST),
        t_rp: Ps(0),
        write_buffer: 2,
        ..pcm(WritePolicy::Buffered)
    }
}

#[test]
fn buffered_writes_need_only_the_bus_and_their_banks_work_them_off_one_by_one() {
    let media = MediaSpec {
        write_buffer: 128,
        ..buffered()
    };
    let mut h = harness(&media);
    // Three writes to three rows of one bank, then one to another bank.
    let ids: Vec<_> = (0..3).map(|row| h.write(0, write(at(0, row, 0), row, None))).collect();
    let other = h.write(0, write(at(1, 0, 0), 9, None));
    h.run_until(0);
    assert_eq!(h.c.free_slots(0), 64 - 3, "the first has left for the module at once");
    h.finish();
    for (i, id) in ids.iter().enumerate() {
        assert_eq!(h.durable_time(*id), CWL + BURST + (i as u64 + 1) * 150_000);
    }
    // Oldest first over the bus, so it is the fourth burst.
    assert_eq!(h.durable_time(other), 3 * BURST + CWL + BURST + 150_000);
    assert!(h.c.stats().row_hits == 4 && h.c.stats().row_misses == 0);
}

#[test]
fn a_full_module_holds_writes_back_until_a_bank_has_stored_one() {
    let mut h = harness(&buffered());
    let ids: Vec<_> = (0..3)
        .map(|bank| h.write(0, write(at(bank, 0, 0), bank, None)))
        .collect();
    h.run_until(100_000);
    assert_eq!(h.c.free_slots(0), 63, "two in the module, one waits");
    h.finish();
    let first = CWL + BURST + 150_000;
    assert_eq!(h.durable_time(ids[1]), first + BURST);
    assert_eq!(
        h.durable_time(ids[2]),
        first + first,
        "its burst begins when the first is stored"
    );
}

#[test]
fn a_read_waits_for_the_writes_of_its_bank_and_opens_its_row_without_a_precharge() {
    let mut h = harness(&buffered());
    let w = h.write(0, write(at(0, 1, 0), 1, None));
    h.run_until(0);
    let behind = h.read(1000, at(0, 0, 0));
    let beside = h.read(1000, at(1, 0, 0));
    h.finish();
    assert_eq!(h.durable_time(w), CWL + BURST + 150_000);
    assert_eq!(h.read_time(behind), h.durable_time(w) + 50_000 + CL + BURST);
    assert_eq!(h.read_time(beside), 1000 + 50_000 + CL + BURST);
    // Row 0 is open; row 5 replaces it; row 5 again is a hit.
    assert_eq!(h.read_alone(1_000_000, at(0, 5, 0)), 1_000_000 + 50_000 + CL + BURST);
    assert_eq!(h.read_alone(2_000_000, at(0, 5, 1)), 2_000_000 + CL + BURST);
}

#[test]
fn epochs_of_buffered_writes_wait_for_durability_even_if_issue_alone_is_ordered() {
    let plan = QueuePlan {
        ordered_issue: true,
        ..QueuePlan::default()
    };
    let mut h = Harness::with_plan(&bare(), &buffered(), &plan);
    let early: Vec<_> = (0..2).map(|r| h.write(0, write(at(0, r, 0), r, Some(0)))).collect();
    let late = h.write(0, write(at(1, 0, 0), 7, Some(1)));
    h.finish();
    assert!(
        h.durable_time(late) > h.durable_time(early[1]),
        "an idle bank must not overtake a busy one"
    );
}

/// Counted at the burst, a write is durable a pulse earlier, and the bank is as busy as before.
#[test]
fn a_write_may_count_as_stored_at_its_burst() {
    use fencepost_machine::memory::StoredAt;
    for policy in [WritePolicy::Through, WritePolicy::RowBuffer] {
        let time = |stored_at: StoredAt| {
            let media = MediaSpec {
                stored_at,
                ..pcm(policy)
            };
            let mut h = harness(&media);
            let w = h.write(0, write(at(0, 2, 0), 1, None));
            h.run_until(1_000);
            let r = h.read(2_000, at(0, 3, 0));
            h.finish();
            (h.durable_time(w), h.read_time(r))
        };
        let (pulse, burst) = (time(StoredAt::Pulse), time(StoredAt::Burst));
        assert_eq!(pulse.0, burst.0 + 150_000, "the pulse of 150 ns");
        assert_eq!(pulse.1, burst.1, "another row waits for the pulse in both");
    }
}
