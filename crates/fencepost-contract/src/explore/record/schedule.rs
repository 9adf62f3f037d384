//! The scheduler of recorded threads.

use super::memory::RecordMem;
use super::state::Execution;
use super::{RecordError, Recording, Waiter};
use crate::explore::SetupMem;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use fencepost_kernel::{Addr, HartId, Image, Stream};
use std::cell::RefCell;
use std::panic::Location;
use std::rc::Rc;
use std::time::Instant;

/// Where another thread may be switched to. Waiting for a lock switches always.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Granularity {
    /// Between operations.
    Operation,
    /// Also at locks, unlocks, read-modify-writes, load-acquires and store-releases. Enough for programs without
    /// data races: what happens in between cannot be told apart by other threads.
    #[default]
    Lock,
    /// Also before every load, store, flush and fence.
    Access,
}

/// When the stores of a thread become visible to the others.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// At once: sequential consistency.
    #[default]
    Sequential,
    /// When they leave the thread's store buffer, in program order and at a moment of the scheduler's choice: total store
    /// order, as on x86. Full fences, read-modify-writes and locks empty the buffer.
    StoreBuffers,
}

/// Which of the possible interleavings to record.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Schedule {
    /// Seed of the scheduler's choices.
    pub seed: u64,
    /// Where it may choose.
    pub granularity: Granularity,
    /// When stores become visible.
    pub order: Order,
    /// When the recording must be over: [`RecordError::OutOfTime`] if it is not.
    pub until: Option<Instant>,
}

/// Why a thread hands over.
pub enum Pause {
    /// Another may run.
    Switch,
    /// It waits for a lock.
    Lock {
        /// The lock word.
        at: Addr,
        /// The line that waits.
        source: &'static Location<'static>,
    },
    /// It loads the same again and again: it waits for a store of another thread.
    Spin {
        /// What it loads.
        at: Addr,
        /// The line that loads.
        source: &'static Location<'static>,
        /// How many stores there are.
        stores: usize,
    },
    /// The recording takes too long.
    OutOfTime,
}
pub type Yielding = Yielder<(), Pause>;
type Body = Box<dyn FnOnce(&mut RecordMem<'_>)>;

/// Records threads given as closures.
///
/// ```
/// use fencepost_contract::explore::{Recorder, Schedule};
/// use fencepost_kernel::{Addr, At, Mem, Val};
/// let counter = At::new(Addr::pm(64));
/// let mut recorder = Recorder::new(Schedule::default());
/// for _ in 0..2 {
///     recorder = recorder.thread(move |m| {
///         m.lock(At::new(Addr::pm(0)));
///         let old = m.load(counter);
///         m.store(counter, Val::lit(old.v + 1));
///         m.unlock(At::new(Addr::pm(0)));
///     });
/// }
/// let recording = recorder.run().unwrap();
/// assert_eq!(recording.memory.word(counter.addr), 2);
/// ```
pub struct Recorder {
    schedule: Schedule,
    initial: Image,
    bodies: Vec<Body>,
}

struct Thread {
    coroutine: Coroutine<(), Pause, ()>,
    waits: Option<Waiting>,
}
/// What a thread waits for.
#[derive(Copy, Clone)]
struct Waiting {
    at: Addr,
    source: &'static Location<'static>,
    /// Spinning: the number of stores that there were.
    stores: Option<usize>,
}

/// What the scheduler may let happen next.
enum Step {
    /// This thread runs.
    Run(usize),
    /// The oldest entry of this thread's store buffer takes effect.
    Drain(usize),
}

impl Recorder {
    /// No threads, empty memory.
    pub fn new(schedule: Schedule) -> Recorder {
        Recorder {
            schedule,
            initial: Image::with_writers(),
            bodies: Vec::new(),
        }
    }
    /// Builds initial memory. Nothing of it is recorded; all of it is durable.
    pub fn setup(mut self, build: impl FnOnce(&mut SetupMem)) -> Self {
        let mut memory = SetupMem::new(self.initial);
        build(&mut memory);
        self.initial = memory.into_image();
        self
    }
    /// Adds a thread; threads are numbered from 0 in this order.
    pub fn thread(mut self, body: impl FnOnce(&mut RecordMem<'_>) + 'static) -> Self {
        self.bodies.push(Box::new(body));
        self
    }
    /// Runs all threads to their ends. Panics of their code pass through.
    pub fn run(self) -> Result<Recording, RecordError> {
        if self.bodies.len() > 256 {
            return Err(RecordError::TooManyThreads(self.bodies.len()));
        }
        let execution = Rc::new(RefCell::new(Execution::new(&self.initial, self.bodies.len())));
        let schedule = self.schedule;
        let start = |(i, body): (usize, Body)| {
            let execution = Rc::clone(&execution);
            let coroutine = Coroutine::new(move |yielder: &Yielding, ()| {
                body(&mut RecordMem {
                    execution,
                    thread: HartId(i as u8),
                    schedule,
                    yielder,
                    quiet: (0, 0),
                    operations: 0,
                });
            });
            Some(Thread { coroutine, waits: None })
        };
        let mut threads: Vec<Option<Thread>> = self.bodies.into_iter().enumerate().map(start).collect();
        let mut rng = Stream::new(self.schedule.seed, "schedule");
        loop {
            let steps = possible(&threads, &execution.borrow());
            if steps.is_empty() {
                break;
            }
            let slot = match steps[rng.below(steps.len() as u64) as usize] {
                Step::Run(i) => &mut threads[i],
                Step::Drain(i) => {
                    execution.borrow_mut().drain_one(HartId(i as u8));
                    continue;
                }
            };
            let Some(thread) = slot else { continue };
            let waiting = |at, source, stores| Some(Waiting { at, source, stores });
            match thread.coroutine.resume(()) {
                CoroutineResult::Yield(Pause::Switch) => thread.waits = None,
                CoroutineResult::Yield(Pause::Lock { at, source }) => thread.waits = waiting(at, source, None),
                CoroutineResult::Yield(Pause::Spin { at, source, stores }) => {
                    thread.waits = waiting(at, source, Some(stores));
                }
                CoroutineResult::Yield(Pause::OutOfTime) => return Err(RecordError::OutOfTime),
                CoroutineResult::Return(()) => *slot = None,
            }
        }
        let stuck = deadlock(&threads, &execution.borrow());
        drop(threads);
        if !stuck.is_empty() {
            return Err(RecordError::Deadlock(stuck));
        }
        let mut execution = execution.borrow_mut();
        let mut trace = std::mem::take(&mut execution.trace);
        trace.ops.sort_by_key(|op| op.stamp);
        Ok(Recording {
            trace,
            initial: self.initial,
            memory: execution.memory.clone(),
        })
    }
}

/// What can happen next.
fn possible(threads: &[Option<Thread>], execution: &Execution) -> Vec<Step> {
    let can = |t: &Thread| {
        t.waits.is_none_or(|w| match w.stores {
            None => execution.memory.word(w.at) == 0,
            Some(stores) => execution.trace.stores.len() != stores,
        })
    };
    let runs = threads.iter().enumerate().filter(|(_, t)| t.as_ref().is_some_and(can));
    let buffers = execution
        .threads
        .iter()
        .enumerate()
        .filter(|(_, t)| !t.buffer.is_empty());
    runs.map(|(i, _)| Step::Run(i))
        .chain(buffers.map(|(i, _)| Step::Drain(i)))
        .collect()
}
/// Threads that wait although nobody can go on.
fn deadlock(threads: &[Option<Thread>], execution: &Execution) -> Vec<Waiter> {
    let holder = |at| Some(execution.trace.store(execution.memory.writer(at)?).thread);
    let waits = |(i, t): (usize, &Option<Thread>)| {
        let w = t.as_ref()?.waits?;
        Some(Waiter {
            thread: HartId(i as u8),
            lock: w.at,
            spins: w.stores.is_some(),
            holder: holder(w.at),
            source: w.source,
        })
    };
    threads.iter().enumerate().filter_map(waits).collect()
}
