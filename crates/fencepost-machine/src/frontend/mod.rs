//! The front end: program threads as coroutines that hand operations to the hardware threads.
//!
//! Plain accesses act on functional memory when the program issues them, at most [`RUN_AHEAD`] operations before the
//! hardware thread dispatches them. Locks, atomics, acquires and releases suspend the thread until the timing model performs them.

mod journal;
mod op;
mod sim_mem;

pub use journal::Journal;
pub use op::{Answer, LOG_FENCE, Op, OpKind, Pause, Port, RUN_AHEAD};
pub use sim_mem::{SimMem, ThreadBody};

use corosensei::{Coroutine, CoroutineResult};
use fencepost_kernel::{Image, Outcome, Rmw};
use std::cell::RefCell;
use std::rc::Rc;

/// One program thread.
pub struct Thread {
    coroutine: Option<Coroutine<Answer, Pause, ()>>,
    port: Rc<Port>,
    /// Operations taken out of the mailbox, oldest first; those from `next` on have not been dispatched.
    taken: Vec<Op>,
    next: usize,
}

impl Thread {
    /// A thread that will run `body` on `memory`. `sites` gives the instructions of each compute site.
    pub fn new(
        body: ThreadBody,
        memory: Rc<RefCell<Image>>,
        journal: Rc<RefCell<Journal>>,
        sites: Rc<[u32]>,
        hart: u8,
    ) -> Thread {
        let port = Rc::new(Port::default());
        let inner = port.clone();
        let coroutine = Coroutine::new(move |yielder: &corosensei::Yielder<Answer, Pause>, _first: Answer| {
            body(&mut SimMem::new(yielder, inner, memory, journal, sites, hart));
        });
        Thread {
            coroutine: Some(coroutine),
            port,
            taken: Vec::with_capacity(RUN_AHEAD),
            next: 0,
        }
    }
    /// Whether the thread has returned.
    pub fn finished(&self) -> bool {
        self.coroutine.is_none() && self.next == self.taken.len() && self.port.ops.borrow().is_empty()
    }
    /// Runs the thread until it suspends or returns, handing it `answer` if it waits for one.
    pub fn resume(&mut self, answer: Answer) {
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
        std::mem::swap(&mut self.taken, &mut self.port.ops.borrow_mut());
    }
    /// What the atomic under way does.
    pub fn rmw(&self) -> Option<Rmw> {
        self.port.rmw.get()
    }
    /// Outcome of the operation whose end marker was just taken.
    pub fn next_outcome(&self) -> Outcome {
        self.port.outcomes.borrow_mut().pop_front().unwrap_or_default()
    }
}
