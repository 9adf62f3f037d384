//! Order by example: epochs, same-line writes, coalescing, drains, gates, durable queues, queues of size one.

use super::util::*;
use fencepost_kernel::{Bytes, HwThread, LineAddr, Ps, Stream, WriteCause};
use fencepost_machine::memory::*;
use fencepost_machine::seam::{DrainScope, Epoch, QueuePlan, Write, WriteId};

/// Every write pays its pulse on its bank.
fn pcm() -> MediaSpec {
    MediaSpec {
        writes: WritePolicy::Through,
        ..MediaSpec::preset("pcm").unwrap()
    }
}
fn plan(queues: u8, each: u16, ordered_issue: bool) -> QueuePlan {
    QueuePlan {
        queues,
        entries_each: Some(each),
        ordered_issue,
        ..QueuePlan::default()
    }
}

#[test]
fn queues_of_size_one_work() {
    for seed in 0..20 {
        for ordered in [false, true] {
            let spec = ControllerSpec {
                write_queue: 1,
                read_queue: 1,
                ..bare()
            };
            let mut h = Harness::with_plan(&spec, &pcm(), &plan(2, 1, ordered));
            let mut rng = Stream::new(seed, "size-one");
            let (mut sent, mut now, mut reads) = (0, 0, 0);
            while sent < 60 {
                let queue = (sent % 2) as u8;
                let w = Write {
                    queue,
                    epoch: Some(h.c.open_epoch(queue)),
                    ..write(rng.below(40) + 1000 * u64::from(queue), sent, None)
                };
                if h.c.push_write(Ps(now), WriteId(sent), w).is_ok() {
                    sent += 1;
                    h.c.end_epoch(queue);
                }
                reads += u64::from(
                    h.c.push_read(Ps(now), ReadId(1000 + sent), LineAddr(rng.below(500) + 5000))
                        .is_ok(),
                );
                now = h.c.next_event().expect("work is pending").0;
                h.run_until(now);
            }
            h.finish();
            assert_eq!(h.durable().len(), 60);
            let returned = h
                .events
                .iter()
                .filter(|e| matches!(e.1, MemEvent::ReadDone { .. }))
                .count();
            assert_eq!(returned as u64, reads);
            assert!(h.events.iter().any(|e| matches!(e.1, MemEvent::SlotFree { .. })));
            assert!(h.events.iter().any(|e| matches!(e.1, MemEvent::ReadSlotFree)));
        }
    }
}

/// A row of bank 0 kept busy, so that what follows stays queued.
fn busy(h: &mut Harness) {
    let _ = h.write(0, write(0, 999, None));
    h.run_until(150_000);
}

#[test]
fn merged_writes_are_released_in_order_with_one_record() {
    let mut h = Harness::new(&bare(), &pcm());
    busy(&mut h);
    let mut ids = Vec::new();
    for (i, cause) in [WriteCause::Persist, WriteCause::Flush, WriteCause::Eviction]
        .into_iter()
        .enumerate()
    {
        let w = Write {
            hw_thread: Some(HwThread(i as u8)),
            cause,
            ..write(1, 10 + i as u64, Some(0))
        };
        ids.push(h.write(150_000, w));
    }
    h.run_until(150_000);
    assert_eq!(h.c.forward(LineAddr(1)).unwrap().words[0], 12);
    assert_eq!(h.c.queued(0), 2);
    h.finish();
    let merged: Vec<_> = h.durable().into_iter().filter(|d| d.0 != 0).collect();
    assert_eq!(merged, [(ids[0], 12, true), (ids[1], 12, false), (ids[2], 12, false)]);
    let who = |e: &(u64, MemEvent)| match e.1 {
        MemEvent::Durable { write, .. } => Some((write.hw_thread, write.cause)),
        _ => None,
    };
    assert_eq!(
        h.events.iter().filter_map(who).next_back(),
        Some((Some(HwThread(2)), WriteCause::Eviction))
    );
    assert_eq!((h.c.stats().writes, h.c.stats().coalesced), (2, 2));
}

#[test]
fn coalescing_needs_the_same_epoch_the_same_queue_and_a_write_not_yet_issued() {
    let merges = |first: Write, second: Write, coalesce: bool| {
        let spec = ControllerSpec { coalesce, ..bare() };
        let mut h = Harness::with_plan(&spec, &pcm(), &plan(2, 8, false));
        busy(&mut h);
        let a = h.write(150_000, first);
        let b = match h.c.push_write(Ps(150_000), WriteId(77), second) {
            Ok(()) => Some(77),
            Err(WriteRefusal::SameLine) => None,
            Err(other) => panic!("{other:?}"),
        };
        h.finish();
        let order: Vec<_> = h.durable().into_iter().map(|d| d.0).filter(|i| *i != 0).collect();
        assert_eq!(order, [Some(a), b].into_iter().flatten().collect::<Vec<_>>());
        h.c.stats().coalesced == 1
    };
    let (e0, e1) = (Some(0), Some(1));
    assert!(merges(write(1, 1, e0), write(1, 2, e0), true));
    assert!(merges(write(1, 1, None), write(1, 2, None), true));
    assert!(!merges(write(1, 1, e0), write(1, 2, e0), false));
    assert!(!merges(write(1, 1, e0), write(2, 2, e0), true));
    assert!(!merges(write(1, 1, e0), write(1, 2, e1), true));
    assert!(!merges(write(1, 1, e1), write(1, 2, None), true));
    assert!(!merges(write(1, 1, None), write(1, 2, e0), true));
    let other_queue = Write {
        queue: 1,
        ..write(1, 2, None)
    };
    assert!(!merges(write(1, 1, None), other_queue, true));
    // The busy write itself was issued: a write to its line does not merge into it.
    assert!(!merges(write(0, 1, None), write(5, 2, None), true));
}

/// Two queues take their turns apart. Two writes of one queue whose lines wait in the other, each before what it waits for, would never end.
#[test]
fn a_write_whose_line_waits_in_another_queue_is_refused_until_that_is_over() {
    let mut h = Harness::with_plan(&bare(), &pcm(), &plan(2, 8, false));
    busy(&mut h);
    let _ = h.write(150_000, write(1, 1, Some(0)));
    let second = Write {
        queue: 1,
        ..write(1, 2, Some(0))
    };
    let push = |h: &mut Harness, at| h.c.push_write(Ps(at), WriteId(50), second);
    assert_eq!(push(&mut h, 150_000), Err(WriteRefusal::SameLine));
    h.finish();
    assert_eq!(push(&mut h, 900_000), Ok(()));
}

#[test]
fn a_write_that_an_older_one_would_wait_for_is_refused_until_that_one_is_durable() {
    let mut h = Harness::new(&bare(), &pcm());
    busy(&mut h);
    let _ = h.write(150_000, write(4096, 1, Some(0)));
    let late = h.write(150_000, write(1, 2, Some(5)));
    assert_eq!(
        h.c.push_write(Ps(150_000), WriteId(50), write(1, 3, Some(0))),
        Err(WriteRefusal::SameLine)
    );
    h.finish();
    assert!(h.events.iter().any(|e| matches!(e.1, MemEvent::SlotFree { queue: 0 })));
    assert_eq!(h.durable().last().unwrap().0, late);
    // Now epoch 5 is the active one, and the write joins it.
    assert_eq!(h.c.push_write(Ps(900_000), WriteId(51), write(1, 3, Some(0))), Ok(()));
    h.finish();
    let joined = h.events.iter().find_map(|e| match e.1 {
        MemEvent::Accepted { id: WriteId(51), write } => write.epoch,
        _ => None,
    });
    assert_eq!(joined, Some(Epoch(5)));
}

#[test]
fn epochs_open_close_and_become_active_as_documented() {
    let mut h = Harness::new(&bare(), &pcm());
    // Nothing joined: closing is nothing.
    assert_eq!((h.c.end_epoch(0), h.c.end_epoch(0)), (Epoch(0), Epoch(0)));
    let w = Write {
        delay: Ps(50_000),
        ..write(0, 1, Some(0))
    };
    let _ = h.write(0, w);
    // A write on its way counts.
    assert_eq!((h.c.end_epoch(0), h.c.end_epoch(0)), (Epoch(1), Epoch(1)));
    assert_eq!((h.c.active_epoch(0), h.c.open_epoch(0)), (Epoch(0), Epoch(1)));
    let early = h.write(0, write(2048, 2, Some(1)));
    h.finish();
    // Epoch 1 arrived first, and had to wait for the write on its way.
    assert_eq!(h.durable().iter().map(|d| d.0).collect::<Vec<_>>(), [0, early]);
    assert_eq!((h.c.active_epoch(0), h.c.open_epoch(0)), (Epoch(1), Epoch(1)));
    // Its writes are durable, but they joined it: it can be closed.
    assert_eq!((h.c.end_epoch(0), h.c.active_epoch(0)), (Epoch(2), Epoch(2)));
}

#[test]
fn a_durable_queue_reports_durable_on_arrival_in_order() {
    for coalesce in [false, true] {
        let spec = ControllerSpec { coalesce, ..bare() };
        let mut h = Harness::new(&spec, &MediaSpec::preset("pwq").unwrap());
        assert!(h.c.durable_on_accept());
        let slow = Write {
            delay: Ps(40_000),
            ..write(1, 1, Some(0))
        };
        let a = h.write(0, slow);
        // Same line, and a later epoch: neither may become durable before the write on its way.
        let b = h.write(0, write(1, 2, Some(0)));
        let c = h.write(0, write(900, 3, Some(1)));
        let d = h.write(0, write(901, 4, None));
        h.c.when_drained(Ps(0), DrainScope::AcceptedSoFar(None), 1);
        h.finish();
        assert_eq!(h.durable(), [(d, 4, true), (a, 1, true), (b, 2, true), (c, 3, true)]);
        assert_eq!([a, b, c, d].map(|i| h.durable_time(i)), [40_000, 40_000, 40_000, 0]);
        assert_eq!(h.c.stats().writes, if coalesce { 3 } else { 4 });
        assert_eq!(drained(&h), [(1, 0)]);
    }
}

/// Tags and times of satisfied drains.
fn drained(h: &Harness) -> Vec<(u64, u64)> {
    let pick = |e: &(u64, MemEvent)| match e.1 {
        MemEvent::Drained { tag } => Some((tag, e.0)),
        _ => None,
    };
    h.events.iter().filter_map(pick).collect()
}

#[test]
fn drains_wait_for_exactly_their_scope() {
    let mut h = Harness::with_plan(&bare(), &pcm(), &plan(2, 8, false));
    h.c.when_drained(Ps(0), DrainScope::AcceptedSoFar(None), 0);
    h.run_until(0);
    assert_eq!(drained(&h), [(0, 0)], "nothing to wait for");
    let a = h.write(0, write(0, 1, None));
    let on_the_way = Write {
        delay: Ps(30_000),
        ..write(1, 2, None)
    };
    let b = h.write(0, on_the_way);
    h.run_until(0);
    h.c.when_drained(Ps(0), DrainScope::AcceptedSoFar(None), 1);
    h.c.when_drained(Ps(0), DrainScope::AcceptedSoFar(Some(1)), 2);
    h.c.when_drained(Ps(0), DrainScope::Empty(Some(1)), 3);
    h.c.when_drained(Ps(0), DrainScope::Empty(Some(0)), 4);
    h.run_until(40_000);
    // Accepted later than drain 1 was asked for, but before queue 0 ran empty.
    let c = h.write(40_000, write(2, 3, None));
    h.finish();
    let (ta, tb, tc) = (h.durable_time(a), h.durable_time(b), h.durable_time(c));
    assert!(ta < tb && tb < tc);
    assert_eq!(drained(&h), [(0, 0), (2, 0), (3, 0), (1, ta), (4, tc)]);
}

#[test]
fn a_later_write_that_is_faster_does_not_satisfy_a_drain() {
    let mut h = Harness::new(&bare(), &pcm());
    // Two pulses one after the other in bank 0; asked for; then one in bank 1, done before the second of them.
    let _ = h.write(0, write(0, 1, None));
    let slow = h.write(0, write(1, 2, None));
    h.run_until(0);
    h.c.when_drained(Ps(0), DrainScope::AcceptedSoFar(None), 1);
    h.run_until(10_000);
    let later = h.write(10_000, write(128, 3, None));
    h.finish();
    assert!(h.durable_time(later) < h.durable_time(slow));
    assert_eq!(drained(&h), [(1, h.durable_time(slow))]);
}

#[test]
fn a_gated_queue_takes_nothing_new_and_sends_what_it_holds() {
    let mut h = Harness::with_plan(&bare(), &pcm(), &plan(2, 8, false));
    let on_the_way = Write {
        delay: Ps(30_000),
        ..write(1, 2, None)
    };
    let b = h.write(0, on_the_way);
    h.c.gate_queue(Ps(0), 0, false);
    assert_eq!(
        h.c.push_write(Ps(0), WriteId(9), write(2, 0, None)),
        Err(WriteRefusal::Gated)
    );
    let other = Write {
        queue: 1,
        ..write(3, 0, None)
    };
    assert_eq!(h.c.push_write(Ps(0), WriteId(10), other), Ok(()));
    h.finish();
    assert!(h.durable_time(b) > 30_000);
    h.c.gate_queue(Ps(500_000), 0, true);
    assert_eq!(h.c.push_write(Ps(500_000), WriteId(9), write(2, 0, None)), Ok(()));
}

#[test]
fn a_controller_of_volatile_memory_reports_nothing_durable() {
    let m = MediaSpec {
        row_size: Bytes(1024),
        ..MediaSpec::default()
    };
    let mut c = Controller::new(&bare(), &m, &QueuePlan::default(), false).unwrap();
    c.push_write(Ps(0), WriteId(0), write(0, 1, None)).unwrap();
    let mut out = Vec::new();
    c.advance(Ps(1_000_000), &mut out);
    assert!(c.is_empty());
    assert!(out.iter().any(|e| matches!(e, MemEvent::Accepted { .. })));
    assert!(!out.iter().any(|e| matches!(e, MemEvent::Durable { .. })));
}

#[test]
fn impossible_sizes_are_refused_with_their_name() {
    let bad = |m: MediaSpec, s: ControllerSpec| {
        Controller::new(&s, &m, &QueuePlan::default(), true)
            .map(drop)
            .unwrap_err()
            .to_string()
    };
    let spec = bare();
    assert!(bad(MediaSpec { banks: 3, ..pcm() }, spec.clone()).contains("`banks`"));
    assert!(bad(MediaSpec { banks: 0, ..pcm() }, spec.clone()).contains("`banks`"));
    assert!(bad(MediaSpec { ranks: 8, ..pcm() }, spec.clone()).contains("`banks`"));
    assert!(
        bad(
            MediaSpec {
                row_size: Bytes(32),
                ..pcm()
            },
            spec.clone()
        )
        .contains("`row_size`")
    );
    assert!(bad(MediaSpec { t_ck: Ps(0), ..pcm() }, spec.clone()).contains("`t_ck`"));
    assert!(
        bad(
            MediaSpec {
                t_refi: Ps(100),
                ..pcm()
            },
            spec.clone()
        )
        .contains("`t_rfc`")
    );
    assert!(
        bad(
            pcm(),
            ControllerSpec {
                write_queue: 0,
                ..spec.clone()
            }
        )
        .contains("`write_queue`")
    );
    assert!(bad(pcm(), ControllerSpec { drain_low: 85, ..spec }).contains("`drain_low`"));
}

/// A write waits on its way for an older one to its line, and for those of earlier epochs of its own queue; for no other.
#[test]
fn a_write_does_not_wait_for_writes_of_no_epoch_or_of_other_queues() {
    let mut h = Harness::with_plan(&bare(), &MediaSpec::preset("pwq").unwrap(), &plan(2, 8, false));
    let slow = |queue, epoch| Write {
        delay: Ps(40_000),
        queue,
        ..write(u64::from(queue), 1, epoch)
    };
    h.write(0, slow(1, Some(0)));
    h.write(0, slow(0, None));
    let free = h.write(0, write(9, 3, Some(1)));
    h.finish();
    assert_eq!(h.durable_time(free), 0);
}
