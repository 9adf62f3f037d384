//! The worked example of Figures 3 and 6(c): three independent threads whose first requests meet in one bank.

use super::epoch_first::EpochScheduler;
use super::params::BroiParams;
use super::queues::BroiQueues;
use super::scheduler::BroiScheduler;
use crate::testkit::Scheduled;
use fencepost_kernel::units::{LINE_BYTES, PM_BASE};
use fencepost_kernel::{LineAddr, Ps};
use fencepost_machine::memory::{MediaSpec, MemEvent, Scheduler};
use fencepost_machine::seam::{Epoch, WriteId};
use std::rc::Rc;

/// A request: k of thread t has id 10 t + k. Its set within the thread, and its bank.
///
/// The text gives the banks of the first requests and of 2.2; the others are ours. With 1.3 in a bank of its own, threads 1 and 2
/// bring as many banks, and sigma decides between them.
pub const REQUESTS: [(u64, u64, u64); 10] = [
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
/// Threads of the example; the entries behind theirs belong to network channels.
pub const THREADS: usize = 3;

/// The paper's medium behind a controller with this scheduler.
///
/// # Panics
/// If the medium is not among the presets.
pub fn memory<S: Scheduler + 'static>(scheduler: S) -> Scheduled<S> {
    let preset = MediaSpec::PRESETS.iter().find(|p| p.name == "broi-nvm");
    let media = (preset.expect("the paper's medium").spec)();
    Scheduled::new(scheduler, &media, THREADS as u8 + 2, 8).expect("presets can be built")
}
/// A line of a bank and row of the paper's medium: rows of 32 lines stride over 8 banks.
pub fn line(bank: u64, row: u64) -> LineAddr {
    LineAddr(PM_BASE / LINE_BYTES + (row * 8 + bank) * 32)
}
/// BROI's scheduler for the threads of the example.
pub fn bank_parallel(params: &BroiParams) -> BroiScheduler {
    BroiScheduler::new(params, THREADS, &Rc::default())
}
/// The baseline's.
pub fn epoch_first(params: &BroiParams) -> EpochScheduler {
    EpochScheduler::new(params, THREADS, &Rc::default())
}
/// Hands all requests over at once; every one has a row of its own.
fn load<S: Scheduler + 'static>(memory: &mut Scheduled<S>) {
    for (id, set, bank) in REQUESTS {
        let entry = ((id / 10 - 1) as u8, Epoch(set));
        let sent = memory.push(Ps::ZERO, WriteId(id), entry, line(bank, id));
        debug_assert!(sent.is_ok(), "every entry has eight units");
    }
}
/// Requests of the Ready-SET whose data is not on the way to the medium.
pub fn ready_set(queues: &BroiQueues) -> Vec<u64> {
    let units = queues.entries.iter().flat_map(|e| e.sub_ready());
    units.filter(|u| !u.issued).map(|u| u.id.0).collect()
}

/// What issues first under BROI, and the Ready-SET when that is stored.
pub fn first_pick(params: &BroiParams) -> (u64, Vec<u64>) {
    let mut memory = memory(bank_parallel(params));
    load(&mut memory);
    memory.run_until(|e| matches!(e, MemEvent::Durable { .. }));
    let ready = ready_set(memory.scheduler.borrow().queues());
    (memory.order()[0], ready)
}
/// The requests that issue in each epoch of the baseline, by id.
pub fn epochs(params: &BroiParams) -> Vec<Vec<u64>> {
    let mut memory = memory(epoch_first(params));
    load(&mut memory);
    let mut epochs: Vec<(u64, Vec<u64>)> = Vec::new();
    loop {
        let before = memory.issued.len();
        memory.run_until(|e| matches!(e, MemEvent::Issued { .. }));
        let Some((_, id)) = memory.issued.get(before) else {
            break;
        };
        let number = memory.scheduler.borrow().epoch();
        match epochs.last_mut().filter(|e| e.0 == number) {
            Some(epoch) => epoch.1.push(id.0),
            None => epochs.push((number, vec![id.0])),
        }
    }
    let sorted = |mut ids: Vec<u64>| {
        ids.sort_unstable();
        ids
    };
    epochs.into_iter().map(|e| sorted(e.1)).collect()
}
