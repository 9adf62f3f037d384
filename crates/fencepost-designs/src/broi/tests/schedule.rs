//! The worked example, and what the text says about barriers and about local and remote requests.

use crate::broi::example::{bank_parallel, epochs, first_pick, line, memory};
use crate::broi::{BarrierScope, BroiParams, BroiScheduler, HandOver};
use crate::testkit::Scheduled;
use fencepost_kernel::{LineData, Ps, WriteCause};
use fencepost_machine::memory::{MemEvent, Scheduler as _};
use fencepost_machine::seam::{Epoch, Write, WriteId};

fn push(memory: &mut Scheduled<BroiScheduler>, now: Ps, id: u64, (entry, set): (u8, u64), (bank, row): (u64, u64)) {
    let sent = memory.push(now, WriteId(id), (entry, Epoch(set)), line(bank, row));
    sent.expect("a free unit");
}

/// Epoch first: (1.1, 1.2, 2.1, 3.1), all in bank 0, then (1.3, 2.2, 3.2), then (1.4, 2.3, 3.3).
#[test]
fn the_baseline_merges_epochs_to_the_largest_size() {
    let expected = [vec![11, 12, 21, 31], vec![13, 22, 32], vec![14, 23, 33]];
    assert_eq!(epochs(&BroiParams::default()), expected);
}

/// "We give the highest priority to request 2.1"; "The Ready-SET will be updated as (1.1, 1.2, 2.2, 3.1)". So it is with a queue behind
/// the entries too: 2.1 is the first to be put out.
#[test]
fn the_first_pick_is_2_1_and_then_2_2_is_ready() {
    for (sigma, hand_over) in [1, 100, 900]
        .map(|s| [(s, HandOver::Bank), (s, HandOver::Queue)])
        .concat()
    {
        let params = BroiParams {
            sigma,
            hand_over,
            ..BroiParams::default()
        };
        assert_eq!(
            first_pick(&params),
            (21, vec![11, 12, 22, 31]),
            "sigma {sigma}, {hand_over:?}"
        );
    }
}

/// Without sigma threads 1 and 2 bring as many banks, and the older request goes.
#[test]
fn sigma_decides_where_the_banks_do_not() {
    let params = BroiParams {
        sigma: 0,
        ..BroiParams::default()
    };
    assert_eq!(first_pick(&params).0, 11);
}

/// A barrier orders its own entry only; read as a barrier for all, nothing is scheduled before everything that was scheduled is
/// stored.
#[test]
fn a_barrier_orders_its_own_entry() {
    let second = |barrier| {
        let params = BroiParams {
            barrier,
            ..BroiParams::default()
        };
        let mut memory = memory(bank_parallel(&params));
        push(&mut memory, Ps::ZERO, 1, (0, 0), (0, 1));
        push(&mut memory, Ps::ZERO, 2, (0, 1), (1, 1));
        push(&mut memory, Ps::from_ns(200), 3, (1, 0), (2, 1));
        memory.run_until(|_| false);
        let time = |id| memory.issued.iter().find(|i| i.1 == WriteId(id)).expect("issued").0;
        (time(2), time(3))
    };
    let (own, other) = second(BarrierScope::Own);
    assert!(other > Ps::from_ns(200) && own < other + Ps::from_ns(200));
    let (all, other) = second(BarrierScope::All);
    assert!(
        all >= other + Ps::from_ns(236),
        "{all} after {other}: the other thread's write is stored first"
    );
}

/// Two registers and eight units: what a sender puts into an entry beyond them is told.
#[test]
fn an_entry_holds_no_more_than_it_has() {
    use crate::broi::queues::{BroiQueues, Tally};
    let told = |requests: u64, of_a_set: Option<u64>| {
        let tally = std::rc::Rc::new(Tally::default());
        let mut queues = BroiQueues::new(&BroiParams::default(), 1, &tally);
        for id in 0..requests {
            let write = Write {
                line: line(0, id),
                data: LineData::default(),
                queue: 0,
                epoch: of_a_set.map(|n| Epoch(id / n)),
                cause: WriteCause::Persist,
                hw_thread: None,
                delay: Ps::ZERO,
            };
            queues.arrived(Ps::ZERO, 0, WriteId(id), &write);
        }
        tally.overfull.get().is_some()
    };
    assert!(!told(8, Some(8)) && !told(3, Some(1)) && !told(6, Some(2)));
    assert!(told(9, Some(9)) && told(4, Some(1)) && told(7, Some(2)));
    assert!(
        !told(9, None),
        "durable on acceptance: the unit is free before the medium has stored the write"
    );
}

/// The remote requests of the tests below: entry 3, the first channel of a controller of three threads.
const REMOTE: u8 = 3;

/// "The BROI controller will schedule the local requests with higher priority."
#[test]
fn local_requests_go_before_remote_ones() {
    let mut memory = memory(bank_parallel(&BroiParams::default()));
    push(&mut memory, Ps::ZERO, 1, (REMOTE, 0), (0, 1));
    push(&mut memory, Ps::ZERO, 2, (0, 0), (0, 2));
    push(&mut memory, Ps::ZERO, 3, (1, 0), (0, 3));
    memory.run_until(|_| false);
    assert_eq!(memory.order(), [2, 3, 1]);
}

/// "... and keep the remote requests waiting until the memory controller queue is in low utilization", for banks that no local
/// request needs as well.
#[test]
fn remote_requests_wait_for_low_utilisation() {
    let order = |low_utilisation, hand_over| {
        let params = BroiParams {
            low_utilisation,
            hand_over,
            queue: 24,
            starvation: Ps(u64::MAX / 4),
            ..BroiParams::default()
        };
        let mut memory = memory(bank_parallel(&params));
        push(&mut memory, Ps::ZERO, 1, (REMOTE, 0), (1, 1));
        for id in 2..5 {
            push(&mut memory, Ps::ZERO, id, (0, 0), (0, id));
        }
        memory.run_until(|_| false);
        memory.order().iter().position(|id| *id == 1).expect("it goes")
    };
    // Three of the 24 entries of the controller's queue are in use: 12.5 %.
    assert_eq!(order(13, HandOver::Bank), 0, "its bank is free, and it is the oldest");
    assert_eq!(
        order(13, HandOver::Queue),
        1,
        "its bank is free, and it came to the queue behind the local ones"
    );
    for hand_over in [HandOver::Bank, HandOver::Queue] {
        assert_eq!(order(0, hand_over), 3, "last of all");
        assert_eq!(
            order(9, hand_over),
            1,
            "when two of 24 are left, before their bank has changed its row"
        );
    }
}

/// A scheduler that wants to be asked again keeps the bus for writes, and reads wait: only a remote request may be a reason.
#[test]
fn nothing_is_asked_again_while_no_remote_request_is_blocked() {
    for hand_over in [HandOver::Bank, HandOver::Queue] {
        let params = BroiParams {
            hand_over,
            ..BroiParams::default()
        };
        let mut memory = memory(bank_parallel(&params));
        (1..6).for_each(|id| push(&mut memory, Ps::ZERO, id, (0, id / 3), (id % 2, id)));
        memory.run_until(|e| matches!(e, MemEvent::Issued { .. }));
        for n in 1..=5 {
            assert_eq!(memory.issued.len(), n, "{hand_over:?}");
            let now = memory.issued[n - 1].0;
            assert_eq!(memory.scheduler.borrow().wake(now), None, "{hand_over:?}");
            memory.run_until(|e| matches!(e, MemEvent::Issued { .. }));
        }
    }
}

/// "The remote requests will be flushed to memory devices if the blocked time of the remote requests exceeds the threshold."
#[test]
fn remote_requests_do_not_starve() {
    let position = |(hand_over, queue), starvation| {
        let params = BroiParams {
            hand_over,
            queue,
            low_utilisation: 0,
            starvation,
            ..BroiParams::default()
        };
        let mut memory = memory(bank_parallel(&params));
        push(&mut memory, Ps::ZERO, 1, (REMOTE, 0), (0, 1));
        for id in 2..10 {
            push(&mut memory, Ps::ZERO, id, (0, 0), (0, id));
        }
        memory.run_until(|_| false);
        let at = memory.order().iter().position(|id| *id == 1).expect("it goes");
        (at, memory.issued[at].0)
    };
    // What stands in the controller's queue is served before it, however long it was blocked: a queue of two.
    for way in [(HandOver::Bank, 64), (HandOver::Queue, 2)] {
        assert_eq!(position(way, Ps::from_ns(1_000_000)).0, 8, "every local request first");
        let (at, time) = position(way, Ps::from_ns(1000));
        assert!(at < 8 && time >= Ps::from_ns(1000), "{way:?}: position {at} at {time}");
        assert_eq!(position(way, Ps::ZERO).0, 0, "{way:?}");
    }
}
