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

/// Which of the possible interleavings to record.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Schedule {
    /// Seed of the scheduler's choices.
    pub seed: u64,
    /// Where it may choose.
    pub granularity: Granularity,
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
    waits: Option<(Addr, &'static Location<'static>)>,
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
        let granularity = self.schedule.granularity;
        let start = |(i, body): (usize, Body)| {
            let execution = Rc::clone(&execution);
            let coroutine = Coroutine::new(move |yielder: &Yielding, ()| {
                body(&mut RecordMem {
                    execution,
                    thread: HartId(i as u8),
                    granularity,
                    yielder,
                });
            });
            Some(Thread { coroutine, waits: None })
        };
        let mut threads: Vec<Option<Thread>> = self.bodies.into_iter().enumerate().map(start).collect();
        let mut rng = Stream::new(self.schedule.seed, "schedule");
        loop {
            let ready = ready(&threads, &execution.borrow().memory);
            if ready.is_empty() {
                break;
            }
            let slot = &mut threads[ready[rng.below(ready.len() as u64) as usize]];
            let Some(thread) = slot else { continue };
            match thread.coroutine.resume(()) {
                CoroutineResult::Yield(Pause::Switch) => thread.waits = None,
                CoroutineResult::Yield(Pause::Lock { at, source }) => thread.waits = Some((at, source)),
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

/// Threads that can go on.
fn ready(threads: &[Option<Thread>], memory: &Image) -> Vec<usize> {
    let can = |t: &Thread| t.waits.is_none_or(|(at, _)| memory.word(at) == 0);
    threads
        .iter()
        .enumerate()
        .filter(|(_, t)| t.as_ref().is_some_and(can))
        .map(|(i, _)| i)
        .collect()
}
/// Threads that wait although nobody can go on.
fn deadlock(threads: &[Option<Thread>], execution: &Execution) -> Vec<Waiter> {
    let holder = |at| Some(execution.trace.store(execution.memory.writer(at)?).thread);
    let waits = |(i, t): (usize, &Option<Thread>)| {
        let (lock, source) = t.as_ref()?.waits?;
        Some(Waiter {
            thread: HartId(i as u8),
            lock,
            holder: holder(lock),
            source,
        })
    };
    threads.iter().enumerate().filter_map(waits).collect()
}
