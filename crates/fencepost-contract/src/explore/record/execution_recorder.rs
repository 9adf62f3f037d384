//! The scheduler of recorded threads.

use super::memory::RecordMem;
use super::recording::{RecordError, Recording, Waiter};
use super::schedule::{Pause, Schedule, Yielding};
use super::state::Execution;
use crate::explore::memory::SetupMem;
use corosensei::{Coroutine, CoroutineResult};
use fencepost_kernel::{Addr, HwThread, Image, Stream};
use std::cell::RefCell;
use std::panic::Location;
use std::rc::Rc;

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
            initial: Image::default(),
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
        // No store of the set-up is recorded: who wrote a word is kept from here on.
        let initial = self.initial.track_writers();
        let execution = Rc::new(RefCell::new(Execution::new(&initial, self.bodies.len())));
        let schedule = self.schedule;
        let start = |(i, body): (usize, Body)| {
            let execution = Rc::clone(&execution);
            let coroutine = Coroutine::new(move |yielder: &Yielding, ()| {
                body(&mut RecordMem {
                    execution,
                    thread: HwThread(i as u8),
                    schedule,
                    yielder,
                    quiet: (0, 0),
                    operations: 0,
                    caller: None,
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
                    execution.borrow_mut().drain_one(HwThread(i as u8));
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
            initial,
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
            thread: HwThread(i as u8),
            lock: w.at,
            spins: w.stores.is_some(),
            holder: holder(w.at),
            source: w.source,
        })
    };
    threads.iter().enumerate().filter_map(waits).collect()
}
