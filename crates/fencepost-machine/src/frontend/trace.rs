//! Threads driven by traces: their accesses are recorded once, in an order that no design changes, and replayed without waiting for
//! locks.
//!
//! Whole operations are recorded one after the other, the first of every thread, then the second of every thread. So the record depends
//! on the program and its dialect only. Threads that run ahead have more of it recorded; what others have still to replay is kept.
//!
//! A replayed thread takes the locks of its operations at once: the lock's word is written as an atomic access of the trace, and nobody
//! waits. Locks between operations (the barrier behind warm-up) are real ones. Queues that memory was bound to are numbered by the
//! recorder and named when the replaying machine has bound them. What a replayed run computes means nothing: threads overwrite each other's
//! data where locks kept them apart.

use super::journal::Journal;
use super::op::{AT_ONCE, Answer, Op, OpKind, Pause, Port};
use super::sim_mem::{Ends, SimMem, ThreadBody};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use fencepost_kernel::{Addr, Image, Outcome, QueueId, Rmw};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// The threads of one process, as far as they have been recorded.
pub struct Recording {
    threads: Vec<Recorder>,
    memory: Rc<RefCell<Image>>,
}

/// One thread.
struct Recorder {
    coroutine: Option<Coroutine<Answer, Pause, ()>>,
    port: Rc<Port>,
    /// What has not been replayed; each ends with an operation of the program or a binding.
    pieces: VecDeque<Piece>,
    in_operation: bool,
    /// Ranges bound so far.
    bound: u8,
}

/// A stretch of the trace.
#[derive(Default)]
struct Piece {
    ops: Vec<Op>,
    /// What its atomics do, in order.
    rmws: VecDeque<Rmw>,
    /// What came of the program's operations that end in it, in order.
    outcomes: VecDeque<Outcome>,
}

impl Recording {
    /// The threads of a process that begins with this memory. `sites` gives the instructions of each compute site.
    pub fn new(bodies: Vec<ThreadBody>, memory: Image, sites: &Rc<[u32]>) -> Recording {
        let memory = Rc::new(RefCell::new(memory));
        let journal = Rc::new(RefCell::new(Journal::new(bodies.len())));
        let thread = |(hw_thread, body): (usize, ThreadBody)| {
            let (port, memory, journal, sites) =
                (Rc::new(Port::default()), memory.clone(), journal.clone(), sites.clone());
            let inner = port.clone();
            let coroutine = Coroutine::new(move |yielder: &Yielder<Answer, Pause>, _: Answer| {
                let how = (hw_thread as u8, Ends::Suspend);
                SimMem::run(body, yielder, inner, memory, journal, sites, how);
            });
            Recorder {
                coroutine: Some(coroutine),
                port,
                pieces: VecDeque::new(),
                in_operation: false,
                bound: 0,
            }
        };
        Recording {
            threads: bodies.into_iter().enumerate().map(thread).collect(),
            memory: memory.clone(),
        }
    }
    /// The next piece of a thread; `None` when it has returned.
    fn next(&mut self, thread: usize) -> Option<Piece> {
        loop {
            if let Some(piece) = self.threads[thread].pieces.pop_front() {
                return Some(piece);
            }
            self.threads[thread].coroutine.as_ref()?;
            for t in &mut self.threads {
                t.record(&mut self.memory.clone());
            }
        }
    }
}

impl Recorder {
    /// Runs the thread to where its next operation begins.
    fn record(&mut self, memory: &mut Rc<RefCell<Image>>) {
        let (mut piece, mut answer) = (Piece::default(), Answer::default());
        while let Some(coroutine) = &mut self.coroutine {
            let pause = coroutine.resume(answer);
            answer = Answer::default();
            for op in self.port.ops.take() {
                let op = self.noted(op, &mut memory.borrow_mut());
                piece.ops.push(op);
            }
            match pause {
                CoroutineResult::Yield(Pause::Full) => {}
                CoroutineResult::Yield(Pause::Sync) => {
                    answer.value = self.answer(&mut piece, &mut memory.borrow_mut());
                    if piece.ops.last().is_some_and(|op| op.kind == OpKind::Bind) {
                        self.keep(std::mem::take(&mut piece));
                    }
                }
                CoroutineResult::Yield(Pause::Operation) => break,
                CoroutineResult::Return(()) => self.coroutine = None,
            }
        }
        if !piece.ops.is_empty() {
            self.keep(piece);
        }
    }
    fn keep(&mut self, mut piece: Piece) {
        piece.outcomes.append(&mut self.port.outcomes.borrow_mut());
        self.pieces.push_back(piece);
    }
    /// What the record says of an operation, and what it does to memory where the machine would do that.
    fn noted(&mut self, mut op: Op, memory: &mut Image) -> Op {
        match op.kind {
            OpKind::OpBegin => self.in_operation = true,
            OpKind::OpEnd => self.in_operation = false,
            OpKind::Unlock => memory.set_word(op.addr, 0, None),
            OpKind::Lock if self.in_operation => op.value = AT_ONCE,
            _ => {}
        }
        op
    }
    /// The answer to the operation that the thread waits for: nobody else is in the middle of one, so it acts at once.
    fn answer(&mut self, piece: &mut Piece, memory: &mut Image) -> u64 {
        let Some(op) = piece.ops.last() else { return 0 };
        let old = memory.word(op.addr);
        match op.kind {
            OpKind::Lock => memory.set_word(op.addr, 1, None),
            OpKind::StoreRelease => memory.set_word(op.addr, op.value, None),
            OpKind::Rmw => {
                if let Some(rmw) = self.port.rmw.get() {
                    piece.rmws.push_back(rmw);
                    if let Some(new) = rmw.applied(old) {
                        memory.set_word(op.addr, new, None);
                    }
                }
            }
            OpKind::TxBegin => return 1,
            OpKind::Bind => {
                self.bound = self.bound.saturating_add(1);
                return self.bound.into();
            }
            _ => {}
        }
        old
    }
}

/// A thread of a process, replayed.
pub struct Replay {
    recording: Rc<RefCell<Recording>>,
    thread: usize,
    /// How far the process's memory lies behind that of the first.
    apart: u64,
    /// Queues of the ranges bound so far.
    queues: Vec<u8>,
    rmws: VecDeque<Rmw>,
    outcomes: VecDeque<Outcome>,
    done: bool,
}

impl Replay {
    /// Thread `thread` of a recording, its memory so many bytes behind where it was recorded.
    pub fn new(recording: Rc<RefCell<Recording>>, thread: usize, apart: u64) -> Replay {
        Replay {
            recording,
            thread,
            apart,
            queues: Vec::new(),
            rmws: VecDeque::new(),
            outcomes: VecDeque::new(),
            done: false,
        }
    }
    /// Whether the record is at its end.
    pub fn done(&self) -> bool {
        self.done
    }
    /// What the atomic under way does.
    pub fn rmw(&self) -> Option<Rmw> {
        self.rmws.front().copied()
    }
    /// What came of the operation whose end marker was just taken.
    pub fn next_outcome(&mut self) -> Outcome {
        self.outcomes.pop_front().unwrap_or_default()
    }
    /// The machine has acted on an operation that waits for its answer.
    pub fn answered(&mut self, kind: OpKind, answer: Answer) {
        match kind {
            OpKind::Rmw => drop(self.rmws.pop_front()),
            OpKind::Bind => self.queues.push(answer.value as u8),
            _ => {}
        }
    }
    /// The next stretch of the trace, into `taken`; nothing at its end.
    pub fn take(&mut self, taken: &mut Vec<Op>) {
        let Some(piece) = self.recording.borrow_mut().next(self.thread) else {
            self.done = true;
            return;
        };
        self.rmws.extend(piece.rmws);
        self.outcomes.extend(piece.outcomes);
        let mut committed: Vec<QueueId> = Vec::new();
        for mut op in piece.ops {
            op.addr = self.address(&op);
            match op.kind {
                OpKind::CommitQueue(range) => {
                    op.kind = self.commit(range, &mut committed);
                    // Instead of a commit of a queue that has just been committed: the look that finds that out.
                    op.value = 1;
                }
                _ => committed.clear(),
            }
            taken.push(op);
        }
    }
    fn address(&self, op: &Op) -> Addr {
        match op.addr {
            Addr(0) => op.addr,
            Addr(at) => Addr(at + self.apart),
        }
    }
    /// The commit of the queue that a range was bound to, unless the commits right before were of the same one.
    fn commit(&self, range: QueueId, committed: &mut Vec<QueueId>) -> OpKind {
        let bound = range.0.checked_sub(1).and_then(|i| self.queues.get(usize::from(i)));
        let queue = bound.map_or(QueueId::DEFAULT, |q| QueueId(*q));
        if committed.contains(&queue) {
            return OpKind::Compute;
        }
        committed.push(queue);
        OpKind::CommitQueue(queue)
    }
}
