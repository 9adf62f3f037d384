//! The front end: program threads as coroutines that hand operations to the hardware threads.
//!
//! Plain accesses act on functional memory when the program issues them, at most [`RUN_AHEAD`] operations before the
//! hardware thread dispatches them. Locks, atomics, acquires and releases suspend the thread until the timing model performs them.
//! Litmus tests have a front end of their own: [`Dataflow`]. Threads may also be driven by traces: [`Recording`].

mod dataflow;
mod journal;
mod op;
mod own_lines;
mod sim_mem;
mod trace;

pub use dataflow::{Dataflow, Next, Step};
pub use journal::Journal;
pub use op::{AT_ONCE, Answer, LOG_FENCE, Op, OpKind, Pause, Port, RUN_AHEAD};
pub use own_lines::{Access, OwnLine, OwnLines};
pub use sim_mem::{SimMem, ThreadBody};
pub use trace::{Recording, Replay};

use self::dataflow::Flow;
use self::sim_mem::Ends;
use corosensei::{Coroutine, CoroutineResult};
use fencepost_kernel::{Image, Outcome, Rmw};
use std::cell::RefCell;
use std::rc::Rc;

/// One program thread.
pub struct Thread {
    coroutine: Option<Coroutine<Answer, Pause, ()>>,
    flow: Option<Box<Flow>>,
    replay: Option<Replay>,
    port: Rc<Port>,
    /// Operations taken out of the mailbox, oldest first; those from `next` on have not been dispatched.
    taken: Vec<Op>,
    next: usize,
}

impl Thread {
    /// A thread that will run `body` on `memory`. `sites` gives the instructions of each compute site,
    /// `own_lines` takes the lines of libraries where somebody records.
    pub fn new(
        body: ThreadBody,
        memory: Rc<RefCell<Image>>,
        journal: Rc<RefCell<Journal>>,
        sites: Rc<[u32]>,
        (hw_thread, own_lines): (u8, Option<Rc<OwnLines>>),
    ) -> Thread {
        let port = Rc::new(Port {
            own_lines,
            ..Port::default()
        });
        let inner = port.clone();
        let coroutine = Coroutine::new(move |yielder: &corosensei::Yielder<Answer, Pause>, _first: Answer| {
            SimMem::run(body, yielder, inner, memory, journal, sites, (hw_thread, Ends::RunOn));
        });
        Thread {
            coroutine: Some(coroutine),
            flow: None,
            replay: None,
            port,
            taken: Vec::with_capacity(RUN_AHEAD),
            next: 0,
        }
    }
    /// A thread whose loads give their values when they perform.
    pub fn dataflow(program: Box<dyn Dataflow>) -> Thread {
        Thread {
            coroutine: None,
            flow: Some(Box::new(Flow {
                program,
                ended: false,
                handed: 0,
            })),
            replay: None,
            port: Rc::new(Port::default()),
            taken: Vec::with_capacity(1),
            next: 0,
        }
    }
    /// A thread that replays its trace.
    pub fn replayed(replay: Replay) -> Thread {
        Thread {
            coroutine: None,
            flow: None,
            replay: Some(replay),
            port: Rc::new(Port::default()),
            taken: Vec::new(),
            next: 0,
        }
    }
    /// Whether the thread has returned.
    pub fn finished(&self) -> bool {
        let all = self.next == self.taken.len() && self.port.ops.borrow().is_empty();
        let ended = self.flow.as_ref().is_none_or(|f| f.ended) && self.replay.as_ref().is_none_or(Replay::done);
        all && self.coroutine.is_none() && ended
    }
    /// Whether loads give it their values when they perform.
    #[inline]
    pub fn is_dataflow(&self) -> bool {
        self.flow.is_some()
    }
    /// Operation `id` of a dataflow thread read a value: the stores whose values are known by that. The one that waits to be dispatched,
    /// if it is among them, has its value.
    pub fn loaded(&mut self, id: u32, value: u64) -> Vec<(u32, u64)> {
        let mut known = Vec::new();
        let Some(flow) = &mut self.flow else { return known };
        flow.program.loaded(id, value, &mut known);
        if let Some(waiting) = self.taken.get_mut(self.next) {
            let last = known.iter().rfind(|(store, _)| *store == flow.handed);
            waiting.value = last.map_or(waiting.value, |(_, value)| *value);
        }
        known
    }
    /// Runs the thread until it suspends or returns, handing it `answer` if it waits for one.
    pub fn resume(&mut self, answer: Answer) {
        if let Some(handed) = self.flow.as_ref().map(|f| f.handed) {
            // The operation that it waited for is the last.
            self.loaded(handed, answer.value);
            return;
        }
        if let Some(replay) = &mut self.replay {
            let acted = self.next.checked_sub(1).map_or(Op::NOTHING, |at| self.taken[at]);
            return replay.answered(acted.kind, answer);
        }
        if let Some(co) = self.coroutine.as_mut()
            && let CoroutineResult::Return(()) = co.resume(answer)
        {
            self.coroutine = None;
        }
    }
    /// What the next operation to dispatch is; the thread runs on when it has handed over none. `None` once it has returned and
    /// everything was dispatched.
    #[inline]
    pub fn next_kind(&mut self) -> Option<OpKind> {
        if self.next == self.taken.len() {
            self.take_ops();
        }
        self.taken.get(self.next).map(|op| op.kind)
    }
    /// The operation that [`Thread::next_kind`] has told of.
    #[inline]
    pub fn next_op(&mut self) -> &mut Op {
        &mut self.taken[self.next]
    }
    /// The next operation has been dispatched.
    #[inline]
    pub fn dispatched(&mut self) {
        self.next += 1;
    }
    #[inline(never)] // runs the program: once for many operations
    fn take_ops(&mut self) {
        while self.port.ops.borrow().is_empty() && self.coroutine.is_some() {
            self.resume(Answer::default());
        }
        self.taken.clear();
        self.next = 0;
        if let Some(replay) = &mut self.replay {
            return replay.take(&mut self.taken);
        }
        if let Some(flow) = &mut self.flow {
            self.taken.extend(flow.fetch(&self.port));
            return;
        }
        std::mem::swap(&mut self.taken, &mut self.port.ops.borrow_mut());
    }
    /// What the atomic under way does.
    pub fn rmw(&self) -> Option<Rmw> {
        match &self.replay {
            Some(replay) => replay.rmw(),
            None => self.port.rmw.get(),
        }
    }
    /// Outcome of the operation whose end marker was just taken.
    pub fn next_outcome(&mut self) -> Outcome {
        if let Some(replay) = &mut self.replay {
            return replay.next_outcome();
        }
        self.port.outcomes.borrow_mut().pop_front().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::{Addr, At, Mem, Val};

    /// The program acts on memory at once, but only so far: results of racing programs depend on how far.
    #[test]
    fn a_thread_runs_ahead_as_far_as_it_may() {
        let at = |i: usize| Addr::pm(8 * i as u64);
        let body = move |m: &mut SimMem<'_>| (0..3 * RUN_AHEAD).for_each(|i| m.store(At::new(at(i)), Val::lit(1)));
        let memory = Rc::new(RefCell::new(Image::default()));
        let mut thread = Thread::new(Box::new(body), memory.clone(), Rc::default(), Rc::from([]), (0, None));
        for dispatched in 0..3 * RUN_AHEAD {
            assert_eq!(thread.next_kind(), Some(OpKind::Store));
            let stored = (0..).take_while(|i| memory.borrow().word(at(*i)) == 1).count();
            assert!(
                stored <= dispatched + 1 + RUN_AHEAD,
                "{stored} were stored when {dispatched} were dispatched"
            );
            let full = dispatched % RUN_AHEAD == 0 && dispatched < 2 * RUN_AHEAD;
            assert!(!full || stored == dispatched + 1 + RUN_AHEAD);
            thread.dispatched();
        }
        assert_eq!((thread.next_kind(), thread.finished()), (None, true));
    }

    /// A load, and two stores of what it reads: the number that it finds, and one more.
    struct TwoStores(u32);
    impl Dataflow for TwoStores {
        fn next(&mut self) -> Next {
            self.0 += 1;
            let step = |kind, dep| Step {
                kind,
                addr: Addr::pm(8 * u64::from(self.0)),
                value: None,
                dep,
            };
            match self.0 {
                1 => Next::Do(step(OpKind::Load, 0)),
                2 | 3 => Next::Do(step(OpKind::Store, 1)),
                _ => Next::End,
            }
        }
        fn loaded(&mut self, id: u32, value: u64, known: &mut Vec<(u32, u64)>) {
            assert_eq!(id, 1);
            // Those that have been handed over.
            known.extend((2..=self.0.min(3)).map(|store| (store, value + u64::from(store) - 2)));
        }
    }

    /// Of the stores whose data a load gives, the one that waits to be dispatched gets its own.
    #[test]
    fn a_store_that_waits_gets_its_own_data() {
        for dispatched in 1..=2 {
            let mut thread = Thread::dataflow(Box::new(TwoStores(0)));
            for kind in [OpKind::Load, OpKind::Store].into_iter().take(dispatched) {
                assert_eq!(thread.next_kind(), Some(kind));
                thread.dispatched();
            }
            assert_eq!((thread.next_kind(), thread.next_op().value), (Some(OpKind::Store), 0));
            let known = thread.loaded(1, 70);
            assert_eq!(known.len(), dispatched);
            assert_eq!(thread.next_op().value, 70 + dispatched as u64 - 1);
        }
    }
}
