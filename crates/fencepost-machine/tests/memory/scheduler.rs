//! A scheduler of the design's own: what it is told, what it may choose, and that its delay and its waiting count.

use super::util::round::*;
use super::util::*;
use fencepost_kernel::Ps;
use fencepost_machine::memory::{Choice, MemEvent, OpenRow, Scheduler, Waiting};
use fencepost_machine::seam::{Epoch, QueuePlan, Write, WriteId};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What the scheduler was told: time, what, write.
type Told = Rc<RefCell<Vec<(u64, &'static str, u64)>>>;

/// Serves the youngest write of the highest queue; a write of a later epoch waits until the earlier ones of its queue
/// are stored; nothing goes before `not_before`.
#[derive(Debug)]
struct Youngest {
    told: Told,
    /// Writes not stored yet, by queue and epoch.
    pending: BTreeMap<(u8, Option<Epoch>), usize>,
    delay: Ps,
    not_before: Ps,
}
impl Youngest {
    fn boxed(told: &Told, delay: u64, not_before: u64) -> Box<Youngest> {
        Box::new(Youngest {
            told: told.clone(),
            pending: BTreeMap::new(),
            delay: Ps(delay),
            not_before: Ps(not_before),
        })
    }
}
impl Scheduler for Youngest {
    fn next(&mut self, now: Ps, _: &OpenRow, waiting: &mut dyn Iterator<Item = Waiting<'_>>) -> Option<Choice> {
        let turn = |w: &Write| {
            self.pending
                .range((w.queue, None)..(w.queue, w.epoch))
                .all(|p| *p.1 == 0)
        };
        let all = waiting.filter(|w| now >= self.not_before && turn(w.write.expect("a write").1));
        let best = all.max_by_key(|w| (w.write.expect("a write").1.queue, w.order))?;
        let (handle, rank) = (best.handle, u64::MAX - best.order);
        Some(Choice { handle, rank })
    }
    fn arrived(&mut self, now: Ps, _: u16, id: WriteId, write: &Write) {
        *self.pending.entry((write.queue, write.epoch)).or_default() += 1;
        self.told.borrow_mut().push((now.0, "arrived", id.0));
    }
    fn issued(&mut self, now: Ps, _: u16, id: WriteId, _: &Write) {
        self.told.borrow_mut().push((now.0, "issued", id.0));
    }
    fn stored(&mut self, now: Ps, _: u16, id: WriteId, write: &Write) {
        *self.pending.entry((write.queue, write.epoch)).or_default() -= 1;
        self.told.borrow_mut().push((now.0, "stored", id.0));
    }
    fn delay(&self) -> Ps {
        self.delay
    }
    fn wake(&self, now: Ps) -> Option<Ps> {
        (now < self.not_before).then_some(self.not_before)
    }
}

fn harness(plan: &QueuePlan, delay: u64, not_before: u64) -> (Harness, Told) {
    let told = Told::default();
    let mut h = Harness::with_plan(&bare(), &media(), plan);
    h.c = h.c.with_scheduler(Youngest::boxed(&told, delay, not_before));
    (h, told)
}
fn issued(h: &Harness) -> Vec<u64> {
    let pick = |e: &(u64, MemEvent)| match e.1 {
        MemEvent::Issued { id } => Some(id.0),
        _ => None,
    };
    h.events.iter().filter_map(pick).collect()
}

#[test]
fn its_choice_issues_and_it_is_told_of_every_step() {
    let (mut h, told) = harness(&QueuePlan::default(), 0, 0);
    for row in 0..3 {
        h.write(0, write(at(0, row, 0), 1, None));
    }
    h.finish();
    assert_eq!(issued(&h), [2, 1, 0], "first come, first served would be 0, 1, 2");
    let stored = RCD + CWL + BURST;
    let first: Vec<_> = told.borrow().iter().take(5).copied().collect();
    assert_eq!(
        first,
        [
            (0, "arrived", 0),
            (0, "arrived", 1),
            (0, "arrived", 2),
            (RCD, "issued", 2),
            (stored, "stored", 2)
        ]
    );
    assert_eq!(told.borrow().len(), 9);
}

#[test]
fn rank_decides_between_banks() {
    let (mut h, _) = harness(&QueuePlan::default(), 0, 0);
    h.write(0, write(at(0, 0, 0), 1, None));
    h.write(0, write(at(3, 0, 0), 1, None));
    h.finish();
    assert_eq!(issued(&h), [1, 0], "the bank of the younger write opens its row first");
}

#[test]
fn a_decision_takes_its_delay() {
    let (mut h, _) = harness(&QueuePlan::default(), 400, 0);
    let id = h.write(0, write(at(0, 0, 0), 1, None));
    h.finish();
    // 0.4 ns after the arrival, hence at the next clock edge.
    assert_eq!(h.durable_time(id), CK + RCD + CWL + BURST);
}

#[test]
fn it_is_asked_again_when_it_said_so() {
    let (mut h, _) = harness(&QueuePlan::default(), 0, 500_000);
    let id = h.write(0, write(at(0, 0, 0), 1, None));
    let read = h.read(0, at(1, 0, 0));
    h.finish();
    assert_eq!(h.read_time(read), RCD + CL + BURST, "reads do not wait for it");
    assert_eq!(h.durable_time(id), 500_000 + RCD + CWL + BURST);
}

#[test]
fn with_its_own_epochs_it_sees_every_queue_and_the_plan_says_how_large_they_are() {
    let plan = QueuePlan {
        queues: 3,
        entries_each: Some(2),
        default_entries: Some(5),
        scheduler_orders: true,
        ..QueuePlan::default()
    };
    let (mut h, _) = harness(&plan, 0, 0);
    assert_eq!([0, 1, 2].map(|q| h.c.free_slots(q)), [5, 2, 2]);
    let to = |queue, epoch, bank| Write {
        queue,
        ..write(at(bank, 0, 0), 1, epoch)
    };
    // The barrier of queue 1 holds back its own second write only.
    for w in [to(1, Some(0), 0), to(1, Some(1), 0), to(2, Some(7), 1), to(0, None, 2)] {
        h.write(0, w);
    }
    h.finish();
    let order = issued(&h);
    let place = |id| order.iter().position(|i| *i == id);
    assert!(place(1) > place(0));
    assert_eq!(
        h.durable_time(1) - h.durable_time(0),
        CWL + BURST,
        "released when its barrier was stored"
    );
    assert_eq!(order.len(), 4);
}
