//! The module stage: its queues hold writes until the medium stored them, and what its volatile cache parks is not
//! durable.

use super::util::*;
use fencepost_kernel::{Bytes, LineAddr, Ps};
use fencepost_machine::memory::*;
use fencepost_machine::seam::{DrainScope, QueuePlan, Write, WriteId};

const TRANSFER: u64 = 30_000;

fn module(entries: u16, cache_lines: u64) -> ModuleSpec {
    ModuleSpec {
        entries,
        transfer: Ps(TRANSFER),
        slot: Ps(5000),
        dram_cache: Bytes(cache_lines * 64),
    }
}
/// One channel, sixteen banks, lines interleaved over them: activate 120 ns, then burst and pulse.
fn pcm() -> MediaSpec {
    MediaSpec {
        mapping: Mapping::RowColumnBank,
        ..MediaSpec::preset("pcm").unwrap()
    }
}
fn harness(media: &MediaSpec, module: &ModuleSpec, queues: u8, each: u16) -> Harness {
    let plan = QueuePlan {
        queues,
        entries_each: Some(each),
        ..QueuePlan::default()
    };
    let mut h = Harness::with_plan(&bare(), media, &plan);
    h.c = h.c.with_module(module).unwrap();
    h
}
fn module_times(h: &Harness) -> Vec<(u64, u64)> {
    let pick = |e: &(u64, MemEvent)| match e.1 {
        MemEvent::ModuleAccepted { id, .. } => Some((id.0, e.0)),
        _ => None,
    };
    h.events.iter().filter_map(pick).collect()
}
fn in_queue(queue: u8, line: u64, value: u64) -> Write {
    Write {
        queue,
        ..write(line, value, None)
    }
}

#[test]
fn a_write_crosses_the_link_and_then_waits_for_its_bank() {
    let mut plain = Harness::new(&bare(), &pcm());
    let w = plain.write(0, write(0, 1, None));
    plain.finish();
    let alone = plain.durable_time(w);

    let m = pcm();
    let mut h = harness(&m, &module(64, 0), 1, 8);
    let ids: Vec<_> = (0..3).map(|i| h.write(0, write(i, i, None))).collect();
    h.finish();
    // The link takes one line per slot.
    assert_eq!(
        module_times(&h),
        [(0, TRANSFER), (1, 5000 + TRANSFER), (2, 10_000 + TRANSFER)]
    );
    // At the module it is as without one, from the next clock edge on.
    let clock = m.t_ck.0;
    assert_eq!(h.durable_time(ids[0]), TRANSFER.next_multiple_of(clock) + alone);
}

#[test]
fn module_entries_are_held_until_the_medium_stored_the_write() {
    // Two queues of two module entries each; four writes to queue 1, one to queue 0.
    let mut h = harness(&pcm(), &module(4, 0), 2, 8);
    let ids: Vec<_> = (0..4).map(|i| h.write(0, in_queue(1, i, i))).collect();
    let other = h.write(0, in_queue(0, 9, 9));
    h.run_until(TRANSFER * 3);
    assert_eq!((h.c.module_slots(0), h.c.module_slots(1)), (Some(1), Some(0)));
    assert_eq!(
        module_times(&h).len(),
        3,
        "the third write of queue 1 waits for an entry, queue 0 passes it"
    );
    // What left gave its place in the controller back: eight entries, two still used.
    assert_eq!((h.c.free_slots(1), h.c.queued(1)), (6, 4));
    h.finish();
    let at = |id: u64| module_times(&h).iter().find(|x| x.0 == id).unwrap().1;
    assert_eq!(at(ids[2]), h.durable_time(ids[0]) + TRANSFER);
    assert_eq!(at(ids[3]), h.durable_time(ids[1]) + TRANSFER);
    assert!(at(other) < at(ids[2]));
    assert_eq!((h.c.module_slots(0), h.c.module_slots(1)), (Some(2), Some(2)));
}

#[test]
fn epochs_hold_writes_in_the_controller() {
    let mut h = harness(&pcm(), &module(8, 0), 1, 8);
    let first = h.write(0, write(0, 1, Some(0)));
    let second = h.write(0, write(1, 2, Some(1)));
    h.finish();
    assert_eq!(module_times(&h)[1], (second, h.durable_time(first) + TRANSFER));
}

#[test]
fn a_durable_controller_without_a_cache_answers_truthfully() {
    let m = MediaSpec {
        durable_at: DurableAt::Accept,
        ..pcm()
    };
    let mut h = harness(&m, &module(8, 0), 1, 8);
    let id = h.write(7000, write(0, 1, None));
    h.finish();
    assert!(h.c.durable_on_accept());
    assert_eq!(h.durable(), [(id, 1, true)]);
    assert_eq!(h.durable_time(id), 7000);
}

#[test]
fn a_parked_write_is_not_durable_whatever_the_controller_answered() {
    let m = MediaSpec {
        durable_at: DurableAt::Accept,
        ..pcm()
    };
    let mut h = harness(&m, &module(8, 4), 1, 8);
    let ids: Vec<_> = (0..4).map(|i| h.write(0, write(i, i + 10, None))).collect();
    h.finish();
    // Accepted, answered for, idle, and lost if the power fails now.
    assert!(h.c.durable_on_accept());
    assert_eq!((h.durable(), h.c.parked(), h.c.queued(0)), (vec![], 4, 0));
    assert_eq!(h.c.forward(LineAddr(3)).unwrap().words[0], 13);
    // A fifth line displaces the oldest.
    let fifth = h.write(1_000_000, write(4, 14, None));
    h.finish();
    assert_eq!(h.durable(), [(ids[0], 10, true)]);
    // A parked line that is written again is merged; it keeps its age.
    let again = h.write(2_000_000, write(1, 99, None));
    h.run_until(2_000_000);
    h.c.when_drained(Ps(2_000_000), DrainScope::AcceptedSoFar(None), 5);
    h.finish();
    assert_eq!((h.c.parked(), h.c.stats().cache_merges), (4, 1));
    h.c.flush_module(Ps(3_000_000));
    h.finish();
    assert_eq!(h.c.parked(), 0);
    // Each line once, with all its ids, the merged bytes, and one record.
    let mut flushed = h.durable()[1..].to_vec();
    flushed.sort_unstable();
    let expected = [
        (ids[1], 99, true),
        (ids[2], 12, true),
        (ids[3], 13, true),
        (fifth, 14, true),
        (again, 99, false),
    ];
    assert_eq!(flushed, expected);
    assert!(
        h.events
            .iter()
            .any(|e| e.1 == MemEvent::Drained { tag: 5 } && e.0 > 3_000_000)
    );
}

#[test]
fn ids_merged_in_the_controller_and_again_in_the_cache_are_released_in_order() {
    let mut h = harness(&pcm(), &module(8, 4), 1, 8);
    let parked = h.write(0, write(1, 10, None));
    h.finish();
    // The link is busy with another line, so the next two meet in the controller's queue.
    let _ = h.write(1_000_000, write(2, 20, None));
    h.run_until(1_000_000);
    let second = h.write(1_000_000, write(1, 11, None));
    let third = h.write(1_000_000, write(1, 12, None));
    h.finish();
    assert_eq!((h.c.stats().coalesced, h.c.stats().cache_merges), (1, 1));
    h.c.flush_module(Ps(2_000_000));
    h.finish();
    let line: Vec<_> = h.durable().into_iter().filter(|d| d.1 != 20).collect();
    assert_eq!(line, [(parked, 12, true), (second, 12, false), (third, 12, false)]);
}

#[test]
fn sub_queues_pass_the_cache_by_and_do_not_overtake_a_parked_write_to_their_line() {
    let mut h = harness(&pcm(), &module(8, 4), 2, 8);
    let parked = h.write(0, in_queue(0, 1, 10));
    let other = h.write(0, in_queue(0, 2, 20));
    h.finish();
    assert_eq!((h.c.parked(), h.durable().len()), (2, 0));
    let passing = h.write(1_000_000, in_queue(1, 1, 11));
    h.finish();
    assert_eq!(h.durable(), [(parked, 10, true), (passing, 11, true)]);
    assert_eq!(h.c.parked(), 1);
    h.c.flush_module(Ps(2_000_000));
    h.finish();
    assert_eq!(h.durable().last(), Some(&(other, 20, true)));
}

#[test]
fn a_passing_write_frees_an_older_one_that_still_waits_for_the_cache() {
    // One module entry a queue, a cache of one line, which is displaced for another: the write to line 1 waits for
    // that in the module when the passing write to line 1 arrives.
    let mut h = harness(&pcm(), &module(4, 1), 2, 8);
    let first = h.write(0, in_queue(0, 7, 1));
    let waiting = h.write(0, in_queue(0, 1, 2));
    let passing = h.write(0, in_queue(1, 1, 3));
    h.finish();
    assert_eq!(
        h.durable().iter().map(|d| d.0).collect::<Vec<_>>(),
        [first, waiting, passing]
    );
}

#[test]
fn too_few_module_entries_are_refused() {
    let plan = QueuePlan {
        queues: 8,
        ..QueuePlan::default()
    };
    let c = Controller::new(&bare(), &pcm(), &plan, true).unwrap();
    let e = c.with_module(&module(7, 0)).map(drop).unwrap_err();
    assert!(e.to_string().contains("`entries` must be between 8"), "{e}");
}

#[test]
fn a_module_of_size_one_behind_queues_of_size_one_works() {
    for cache_lines in [0, 1] {
        let mut h = harness(&pcm(), &module(1, cache_lines), 1, 1);
        let (mut sent, mut now) = (0, 0);
        while sent < 40 {
            if h.c
                .push_write(Ps(now), WriteId(sent), write(sent * 7 % 5, sent, None))
                .is_ok()
            {
                sent += 1;
            } else {
                now = h.c.next_event().expect("work is pending").0;
                h.run_until(now);
            }
        }
        h.c.flush_module(Ps(now));
        h.finish();
        let mut ids: Vec<_> = h.durable().iter().map(|d| d.0).collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..40).collect::<Vec<_>>());
    }
}
