//! Threads whose loads give their values when they perform.

use super::common::Plain;
use fencepost_kernel::{Addr, Image, Rmw};
use fencepost_machine::frontend::{Dataflow, Next, OpKind, Step};
use fencepost_machine::{Machine, MachineSpec, RunReport, Workload};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

const X: Addr = Addr::pm(0);
const Y: Addr = Addr::pm(64);

/// What loads returned, by operation.
type Read = Rc<RefCell<Vec<(u32, u64)>>>;

/// Hands over a list of operations; a store without a value stores what its dependence read, plus one.
struct Script {
    steps: VecDeque<Next>,
    handed: Vec<Step>,
    read: Read,
    /// Waits until so many loads have returned.
    wait: usize,
}

impl Dataflow for Script {
    fn next(&mut self) -> Next {
        match self.steps.front().copied() {
            None => return Next::End,
            Some(Next::Wait) if self.read.borrow().len() < self.wait => return Next::Wait,
            Some(Next::Wait) => {
                self.steps.pop_front();
                return self.next();
            }
            Some(_) => {}
        }
        let next = self.steps.pop_front().unwrap_or(Next::End);
        if let Next::Do(step) | Next::Atomic(step, _) = next {
            self.handed.push(step);
        }
        next
    }
    fn loaded(&mut self, id: u32, value: u64, known: &mut Vec<(u32, u64)>) {
        self.read.borrow_mut().push((id, value));
        let waits = |s: &Step| s.value.is_none() && s.dep == id;
        let stores = self.handed.iter().enumerate().filter(|(_, s)| waits(s));
        known.extend(stores.map(|(i, _)| (i as u32 + 1, value + 1)));
    }
}

fn step(kind: OpKind, addr: Addr, value: Option<u64>, dep: u32) -> Next {
    Next::Do(Step { kind, addr, value, dep })
}

fn run(threads: Vec<Vec<Next>>) -> (RunReport, Vec<Vec<(u32, u64)>>) {
    let mut initial = Image::default();
    initial.set_word(X, 5, None);
    let work = Workload {
        initial,
        threads: Vec::new(),
        sites: Rc::from([]),
        resident: Default::default(),
        warm_up: 0,
        record: true,
    };
    let reads: Vec<Read> = threads.iter().map(|_| Read::default()).collect();
    let flows = threads.into_iter().zip(&reads).map(|(steps, read)| {
        let script = Script {
            steps: steps.into(),
            handed: Vec::new(),
            read: read.clone(),
            wait: 1,
        };
        Box::new(script) as Box<dyn Dataflow>
    });
    let machine = Machine::dataflow(&MachineSpec::default(), Box::new(Plain), work, flows.collect()).unwrap();
    let report = machine.run().unwrap_or_else(|e| panic!("{e}"));
    (report, reads.iter().map(|r| r.borrow().clone()).collect())
}

#[test]
fn a_store_writes_what_its_load_read() {
    let (report, reads) = run(vec![vec![
        step(OpKind::Load, X, Some(0), 0),
        step(OpKind::Store, Y, None, 1),
        step(OpKind::Load, Y, Some(0), 1),
    ]]);
    assert_eq!(reads, [[(1, 5), (3, 6)]]);
    assert_eq!(report.coherent.word(Y), 6);
    assert_eq!(report.disorder, None);
}

#[test]
fn a_load_takes_its_value_from_a_queued_store() {
    let (_, reads) = run(vec![vec![
        step(OpKind::Store, X, Some(7), 0),
        step(OpKind::Load, X, Some(0), 0),
    ]]);
    assert_eq!(reads, [[(2, 7)]]);
}

#[test]
fn dispatch_waits_for_what_is_not_known_and_goes_on_later() {
    let steps = |wait| {
        let mut steps = vec![step(OpKind::Load, X, Some(0), 0)];
        steps.extend(wait);
        steps.push(step(OpKind::Load, Y, Some(0), 0));
        steps
    };
    let (waiting, reads) = run(vec![steps(Some(Next::Wait))]);
    let (straight, _) = run(vec![steps(None)]);
    assert_eq!(reads, [[(1, 5), (2, 0)]]);
    // The second load is dispatched when the first has come from memory, not beside it.
    assert!(waiting.time > straight.time, "{:?} {:?}", waiting.time, straight.time);
}

#[test]
fn an_atomic_answers_with_the_old_value() {
    let add = Step {
        kind: OpKind::Rmw,
        addr: X,
        value: Some(0),
        dep: 0,
    };
    let (report, reads) = run(vec![vec![Next::Atomic(add, Rmw::Add(3))]]);
    assert_eq!((reads, report.coherent.word(X)), (vec![vec![(1, 5)]], 8));
}

#[test]
fn a_store_that_waits_for_the_queue_writes_what_its_load_read() {
    // The first load brings the line of X; the second reads it while the queue is full of misses, and the store behind is not in it yet.
    let mut steps = vec![step(OpKind::Load, X, Some(0), 0), Next::Wait];
    let queue = u64::from(MachineSpec::default().core.store_queue);
    steps.extend((0..queue).map(|n| step(OpKind::Store, Addr::pm(0x1000 + 64 * n), Some(1), 0)));
    let load = 2 + queue as u32;
    steps.push(step(OpKind::Load, X, Some(0), 0));
    steps.push(step(OpKind::Store, Y, None, load));
    let (report, reads) = run(vec![steps]);
    assert_eq!(reads, [[(1, 5), (load, 5)]]);
    assert_eq!(report.coherent.word(Y), 6);
}
