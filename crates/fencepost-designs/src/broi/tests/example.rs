//! The worked example of Figures 3 and 6(c), and what the text says about local and remote requests.

use super::*;
use crate::broi::BroiQueues;

/// Three threads. Request t.k has id 10 t + k. The text gives the banks of the first requests and of 2.2; the banks of the others
/// are ours: with 1.3 in a bank of its own, sigma decides between thread 1 and thread 2.
const EXAMPLE: [(u64, u64, u64); 10] = [
    (11, 0, 0),
    (12, 0, 0),
    (13, 1, 2),
    (14, 2, 3),
    (21, 0, 0),
    (22, 1, 1),
    (23, 2, 2),
    (31, 0, 0),
    (32, 1, 0),
    (33, 2, 3),
];
fn load<S: Scheduler + 'static>(memory: &mut Memory<S>) {
    for (id, set, bank) in EXAMPLE {
        let thread = (id / 10 - 1) as u8;
        // Every request has a row of its own.
        memory.push(Ps::ZERO, id, (thread, set), at(bank, id));
    }
}
/// Requests of the Ready-SET that were not scheduled.
fn ready_set(queues: &BroiQueues) -> Vec<u64> {
    let units = queues.entries.iter().flat_map(|e| e.sub_ready());
    units.filter(|u| !u.scheduled).map(|u| u.id.0).collect()
}

/// Epoch first: (1.1, 1.2, 2.1, 3.1), all in bank 0, then (1.3, 2.2, 3.2), then (1.4, 2.3, 3.3).
#[test]
fn the_baseline_merges_epochs_to_the_largest_size() {
    let mut memory = Memory::new(epoch_first(&BroiParams::default(), 3));
    load(&mut memory);
    memory.run_until(|_| false);
    let mut epochs: Vec<Vec<u64>> = memory
        .order()
        .chunks(4)
        .next()
        .into_iter()
        .map(<[u64]>::to_vec)
        .collect();
    epochs.extend(memory.order()[4..].chunks(3).map(<[u64]>::to_vec));
    epochs.iter_mut().for_each(|e| e.sort_unstable());
    assert_eq!(epochs, [vec![11, 12, 21, 31], vec![13, 22, 32], vec![14, 23, 33]]);
}

/// "We give the highest priority to request 2.1"; "The Ready-SET will be updated as (1.1, 1.2, 2.2, 3.1)".
#[test]
fn the_first_pick_is_2_1_and_then_2_2_is_ready() {
    for sigma in [1, 100, 900] {
        let params = BroiParams {
            sigma,
            ..BroiParams::default()
        };
        let mut memory = Memory::new(scheduler(&params, 3));
        load(&mut memory);
        let stored = |e: &MemEvent| matches!(e, MemEvent::Durable { id: WriteId(21), .. });
        memory.run_until(stored);
        assert_eq!(memory.order(), [21], "sigma {sigma}");
        assert_eq!(ready_set(memory.scheduler.borrow().queues()), [11, 12, 22, 31]);
        memory.run_until(|_| false);
        assert_eq!(memory.order().len(), EXAMPLE.len());
        assert!(memory.scheduler.borrow().queues().entries.iter().all(|e| e.is_empty()));
    }
}

/// Without sigma threads 1 and 2 bring as many banks, and the older request goes.
#[test]
fn sigma_decides_where_the_banks_do_not() {
    let params = BroiParams {
        sigma: 0,
        ..BroiParams::default()
    };
    let mut memory = Memory::new(scheduler(&params, 3));
    load(&mut memory);
    memory.run_until(|e| matches!(e, MemEvent::Issued { .. }));
    assert_eq!(memory.order(), [11]);
}

/// A barrier orders its own entry only; read as a barrier for all, nothing is scheduled before everything that was scheduled is
/// stored.
#[test]
fn a_barrier_orders_its_own_entry() {
    use crate::broi::BarrierScope;
    let second = |barrier| {
        let params = BroiParams {
            barrier,
            ..BroiParams::default()
        };
        let mut memory = Memory::new(scheduler(&params, 2));
        memory.push(Ps::ZERO, 1, (0, 0), at(0, 1));
        memory.push(Ps::ZERO, 2, (0, 1), at(1, 1));
        memory.push(Ps::from_ns(200), 3, (1, 0), at(2, 1));
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

/// The remote requests of the tests below: entry 3, the first channel of a controller of three threads.
const REMOTE: u8 = 3;

/// "The BROI controller will schedule the local requests with higher priority."
#[test]
fn local_requests_go_before_remote_ones() {
    let mut memory = Memory::new(scheduler(&BroiParams::default(), 3));
    memory.push(Ps::ZERO, 1, (REMOTE, 0), at(0, 1));
    memory.push(Ps::ZERO, 2, (0, 0), at(0, 2));
    memory.push(Ps::ZERO, 3, (1, 0), at(0, 3));
    memory.run_until(|_| false);
    assert_eq!(memory.order(), [2, 3, 1]);
}

/// "... and keep the remote requests waiting until the memory controller queue is in low utilization", for banks that no local
/// request needs as well.
#[test]
fn remote_requests_wait_for_low_utilisation() {
    let order = |low_utilisation| {
        let params = BroiParams {
            low_utilisation,
            starvation: Ps(u64::MAX / 4),
            ..BroiParams::default()
        };
        let mut memory = Memory::new(scheduler(&params, 3));
        memory.push(Ps::ZERO, 1, (REMOTE, 0), at(1, 1));
        for id in 2..5 {
            memory.push(Ps::ZERO, id, (0, 0), at(0, id));
        }
        memory.run_until(|_| false);
        memory.order().iter().position(|id| *id == 1).expect("it goes")
    };
    // Three of 24 local units are in use: 12.5 %.
    assert_eq!(order(13), 0, "its bank is free");
    assert_eq!(order(0), 3, "last of all");
    assert_eq!(order(9), 1, "when two of 24 wait");
}

/// "The remote requests will be flushed to memory devices if the blocked time of the remote requests exceeds the threshold."
#[test]
fn remote_requests_do_not_starve() {
    let position = |starvation| {
        let params = BroiParams {
            low_utilisation: 0,
            starvation,
            ..BroiParams::default()
        };
        let mut memory = Memory::new(scheduler(&params, 3));
        memory.push(Ps::ZERO, 1, (REMOTE, 0), at(0, 1));
        for id in 2..10 {
            memory.push(Ps::ZERO, id, (0, 0), at(0, id));
        }
        memory.run_until(|_| false);
        let at = memory.order().iter().position(|id| *id == 1).expect("it goes");
        (at, memory.issued[at].0)
    };
    assert_eq!(position(Ps::from_ns(1_000_000)).0, 8, "every local request first");
    let (at, time) = position(Ps::from_ns(1000));
    assert!(at < 8 && time >= Ps::from_ns(1000), "position {at} at {time}");
    assert_eq!(position(Ps::ZERO).0, 0);
}
