//! The events of a log as bodies of simulated threads.
//!
//! Each thread performs its own events in their order. Where the log has one thread's access follow another's to the same
//! word (a read of its store, a store over it, a store over what it read), the later thread waits for the earlier one: it
//! reads the word, acquiring, until the other access has been performed. Elsewhere the simulated threads run freely, as the
//! real ones did.

use fencepost_contract::recorded::RecordedLog;
use fencepost_kernel::{
    Addr, At, Dialect, HwThread, Logging, Mem, Outcome, QueueId, Rmw, Site, StoreId, TraceKind, Val,
};
use fencepost_machine::ThreadBody;
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::rc::Rc;

/// What a thread does, in the order in which it does it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Step {
    /// Reads this word until the access with this number has been performed.
    Wait(Addr, u32),
    Load(Addr),
    /// Stores the value; the number is set where another thread waits for it.
    Store(Addr, u64, Option<u32>),
    NonTemporal(Addr, u64, Option<u32>),
    /// Exchanges the word, or only reads it.
    Atomic(Addr, Option<u64>, Option<u32>),
    /// A load that another thread's store must follow.
    ReadBefore(Addr, u32),
    Work(u32),
    /// Anything else, as it is.
    Other(TraceKind),
}

/// Instructions of each compute site: the powers of two, of which any number is made.
pub(crate) fn sites() -> Rc<[u32]> {
    (0..32).map(|bit| 1u32 << bit).collect()
}

/// How often a thread looks for another's access at most while nobody does anything. In the end 2^12 instructions lie between two looks, so that is
/// longer than the longest compute, of 2^31.
const MOST_LOOKS: u32 = 1 << 20;

/// What the threads of a replayed log share.
#[derive(Default)]
pub(crate) struct Together {
    /// Steps that they have taken.
    steps: Cell<u64>,
    /// Whether one waits for ever, so that all stop.
    stuck: Cell<bool>,
}
impl Together {
    /// Whether threads waited for one another for ever: in hardware a transaction may wait for one that runs, whose thread waits in turn.
    pub(crate) fn is_stuck(&self) -> bool {
        self.stuck.get()
    }
}

/// One body a thread.
pub(crate) fn bodies(log: &RecordedLog, dialect: Dialect, together: &Rc<Together>) -> Vec<ThreadBody> {
    let done: Rc<[Cell<bool>]> = vec![Cell::new(false); log.trace.events.len()].into();
    let steps = steps(log).into_iter();
    let body = |steps: Vec<Step>| {
        let (done, together) = (Rc::clone(&done), Rc::clone(together));
        let replay = Replay {
            steps,
            done,
            dialect,
            together,
        };
        Box::new(move |m: &mut fencepost_machine::SimMem<'_>| replay.run(m)) as ThreadBody
    };
    steps.map(body).collect()
}

/// The newest accesses to a word: who stored it, and who has read that since.
#[derive(Default)]
struct Newest {
    store: Option<(HwThread, u32)>,
    reads: Vec<(HwThread, u32)>,
}

/// The steps of each thread. Accesses are numbered by their events.
fn steps(log: &RecordedLog) -> Vec<Vec<Step>> {
    let mut steps: Vec<Vec<Step>> = vec![Vec::new(); log.trace.threads as usize];
    let waited_for = waited_for(log);
    let mut newest: FxHashMap<Addr, Newest> = FxHashMap::default();
    let mut work = log.work.iter().peekable();
    for (i, event) in log.trace.events.iter().enumerate() {
        while let Some(w) = work.next_if(|w| w.event <= i) {
            steps[w.thread.index()].push(Step::Work(w.instructions));
        }
        let Some(thread) = event.thread else { continue };
        let mine = &mut steps[thread.index()];
        let number = Some(i as u32).filter(|i| waited_for[*i as usize]);
        if let Some((at, stores)) = access(log, event.kind) {
            let before = newest.entry(at).or_default();
            mine.extend(before.others(thread, stores).map(|n| Step::Wait(at, n)));
            before.note(thread, i as u32, stores);
        }
        let value = |s: StoreId| log.trace.store(s).value;
        match event.kind {
            TraceKind::Store(s) => {
                let info = log.trace.store(s);
                mine.push(match info.nt {
                    true => Step::NonTemporal(info.addr.word(), info.value, number),
                    false => Step::Store(info.addr.word(), info.value, number),
                });
            }
            TraceKind::Load { addr, .. } => mine.push(match number {
                Some(n) => Step::ReadBefore(addr, n),
                None => Step::Load(addr),
            }),
            TraceKind::Rmw { addr, store, .. } => mine.push(Step::Atomic(addr, store.map(value), number)),
            TraceKind::Accepted { .. } | TraceKind::Durable { .. } => {}
            other => mine.push(Step::Other(other)),
        }
    }
    for w in work {
        steps[w.thread.index()].push(Step::Work(w.instructions));
    }
    steps
}

/// The word that an event accesses, and whether it stores.
fn access(log: &RecordedLog, kind: TraceKind) -> Option<(Addr, bool)> {
    match kind {
        TraceKind::Store(s) => Some((log.trace.store(s).addr.word(), true)),
        TraceKind::Load { addr, .. } => Some((addr, false)),
        TraceKind::Rmw { addr, store, .. } => Some((addr, store.is_some())),
        _ => None,
    }
}

/// For each event: whether an access of another thread must wait for it.
fn waited_for(log: &RecordedLog) -> Vec<bool> {
    let mut waited = vec![false; log.trace.events.len()];
    let mut newest: FxHashMap<Addr, Newest> = FxHashMap::default();
    for (i, event) in log.trace.events.iter().enumerate() {
        let (Some(thread), Some((at, stores))) = (event.thread, access(log, event.kind)) else {
            continue;
        };
        let before = newest.entry(at).or_default();
        before.others(thread, stores).for_each(|n| waited[n as usize] = true);
        before.note(thread, i as u32, stores);
    }
    waited
}

impl Newest {
    /// Accesses of other threads that this one must follow.
    fn others(&self, thread: HwThread, stores: bool) -> impl Iterator<Item = u32> + '_ {
        let reads = self.reads.iter().filter(move |_| stores);
        let all = self.store.iter().chain(reads);
        all.filter(move |(t, _)| *t != thread).map(|(_, n)| *n)
    }
    fn note(&mut self, thread: HwThread, event: u32, stores: bool) {
        if stores {
            self.store = Some((thread, event));
            self.reads.clear();
        } else {
            self.reads.retain(|r| r.0 != thread);
            self.reads.push((thread, event));
        }
    }
}

/// A thread at work.
struct Replay {
    steps: Vec<Step>,
    done: Rc<[Cell<bool>]>,
    dialect: Dialect,
    together: Rc<Together>,
}

/// Queues of the machine, by those of the log.
type Queues = FxHashMap<QueueId, QueueId>;

impl Replay {
    fn run<M: Mem>(&self, m: &mut M) {
        let (mut next, mut begins, mut queues) = (0, FxHashMap::default(), Queues::default());
        while let Some(step) = self.steps.get(next) {
            next += 1;
            if self.together.is_stuck() {
                return;
            }
            self.together.steps.set(self.together.steps.get() + 1);
            match *step {
                Step::Other(TraceKind::OpBegin(op)) => {
                    begins.insert(op, next - 1);
                    m.op_begin(op);
                }
                Step::Other(TraceKind::TxBegin(_)) => {
                    if let Err(rollback) = m.tx_begin() {
                        // The hardware undid this thread's newest transactions: it starts again from there.
                        next = begins.get(&rollback.op).copied().unwrap_or(next - 1);
                    }
                }
                Step::Other(kind) => Self::other(m, kind, &mut queues),
                access => self.access(m, access),
            }
        }
        self.dialect.durable.iter().for_each(|f| m.fence(*f));
        if self.dialect.logging == Logging::Hardware {
            m.tx_flush();
        }
    }
    fn other<M: Mem>(m: &mut M, kind: TraceKind, queues: &mut Queues) {
        match kind {
            TraceKind::Flush { line, kind } => m.flush(At::new(line.base()), kind),
            TraceKind::Fence(fence) => m.fence(fence),
            TraceKind::TxCommit(_) => m.tx_commit(),
            TraceKind::TxAbort(_) => m.tx_abort(),
            TraceKind::TxFlush => m.tx_flush(),
            TraceKind::OpEnd(op) => m.op_end(op, Outcome::default()),
            TraceKind::Ack(op) => m.ack(op),
            TraceKind::Bind { base, len, queue } => {
                let bound = m.bind(base, len);
                queues.insert(queue, bound);
            }
            TraceKind::Release { base, len } => m.release(base, len),
            TraceKind::CommitQueue(queue) => {
                // A queue to which nothing is bound holds nothing, but for the default one: what is bound to none is in that.
                let queue = queues
                    .get(&queue)
                    .copied()
                    .or((queue == QueueId::DEFAULT).then_some(queue));
                queue.into_iter().for_each(|q| m.commit_queue(q));
            }
            _ => {}
        }
    }
    fn access<M: Mem>(&self, m: &mut M, step: Step) {
        match step {
            Step::Wait(at, number) => {
                let (mut looks, mut idle, mut steps) = (0u32, 0u32, 0);
                while !self.done[number as usize].get() && !self.together.is_stuck() {
                    m.load_acquire(At::new(at));
                    looks += 1;
                    idle = if steps == self.together.steps.get() {
                        idle + 1
                    } else {
                        0
                    };
                    steps = self.together.steps.get();
                    if idle >= MOST_LOOKS {
                        self.together.stuck.set(true);
                    }
                    // One that has waited long looks less often, and so comes late by a fraction of that at most.
                    if let Some(bit) = (looks / 16).checked_ilog2() {
                        m.compute(Site(bit.min(12) as u16));
                    }
                }
            }
            Step::Load(at) => {
                m.load(At::new(at));
            }
            Step::ReadBefore(at, number) => {
                m.load_acquire(At::new(at));
                self.done[number as usize].set(true);
            }
            Step::Store(at, v, Some(number)) => {
                m.store_release(At::new(at), Val::lit(v));
                self.done[number as usize].set(true);
            }
            Step::Store(at, v, None) => m.store(At::new(at), Val::lit(v)),
            Step::NonTemporal(at, v, number) => {
                m.nt_store(At::new(at), Val::lit(v));
                self.note(number);
            }
            Step::Atomic(at, stored, number) => {
                match stored {
                    Some(v) => m.rmw(At::new(at), Rmw::Swap(v)),
                    None => m.load_acquire(At::new(at)),
                };
                self.note(number);
            }
            Step::Work(n) => (0..32)
                .filter(|bit| n >> bit & 1 == 1)
                .for_each(|bit| m.compute(Site(bit))),
            Step::Other(_) => {}
        }
    }
    fn note(&self, number: Option<u32>) {
        if let Some(n) = number {
            self.done[n as usize].set(true);
        }
    }
}

#[cfg(test)]
mod tests;
