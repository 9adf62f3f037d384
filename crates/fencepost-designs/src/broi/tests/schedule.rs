//! What the text says about barriers and about when remote requests may go; who goes first is a statement.

use crate::broi::example::{bank_parallel, line, memory};
use crate::broi::{BarrierScope, BroiParams, BroiScheduler, HandOver};
use crate::testkit::Scheduled;
use fencepost_kernel::{Addr, LineData, Ps, WriteCause};
use fencepost_machine::memory::{MemEvent, Scheduler as _};
use fencepost_machine::seam::{Epoch, Write, WriteId};

fn push(memory: &mut Scheduled<BroiScheduler>, now: Ps, id: u64, (entry, set): (u8, u64), (bank, row): (u64, u64)) {
    let sent = memory.push(now, WriteId(id), (entry, Epoch(set)), line(bank, row));
    sent.expect("a free unit");
}

/// Rows of 32 lines lie over eight banks in turn, from the beginning of persistent memory on.
#[test]
fn lines_of_the_example_lie_where_the_medium_has_their_bank_and_row() {
    let first = Addr::pm(0).line().0;
    let at = [(0, 0), (1, 0), (7, 0), (0, 1), (3, 2)].map(|(bank, row)| line(bank, row).0 - first);
    assert_eq!(at, [0, 32, 7 * 32, 8 * 32, 19 * 32]);
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
