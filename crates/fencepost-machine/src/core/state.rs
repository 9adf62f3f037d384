//! State of a hardware thread.

use super::account::Account;
use super::entry::Entry;
use super::load_run::LoadRun;
use super::outside::{Outside, Turn};
use super::ring::Ring;
use super::store_queue::{StoreQueue, StoreState};

use crate::frontend::{Journal, Thread};
use crate::hierarchy::Waiter;
use crate::seam::Cause;
use fencepost_kernel::{HwThread, Image, Ps, TxId};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Why dispatch stopped, when it did.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// The oldest instruction has not completed and the reorder buffer or load queue is full.
    Window,
    /// The store queue is full.
    StoreQueue,
    /// The thread waits for the answer to its last operation.
    Answer,
    /// A fence that serialises dispatch has not completed.
    Fence,
}

/// One hardware thread: the unit that runs a program thread. It shares the private caches of its core with its siblings.
pub(crate) struct HardwareThread {
    /// Its number.
    pub id: HwThread,
    /// Functional memory, shared by all threads: what the programs see.
    pub functional: Rc<RefCell<Image>>,
    /// Undo information of hardware transactions, shared by all threads.
    pub journal: Rc<RefCell<Journal>>,
    /// Whether it has begun a hardware transaction that can be rolled back: only then the journal has anything of it.
    pub journalled: bool,
    /// The program thread that runs here.
    pub thread: Thread,
    /// Instructions in flight, oldest first. Committed ones stay until their space is needed.
    pub window: Ring<Entry>,
    /// Position in the window of the oldest entry that has not committed.
    pub committed: usize,
    /// Instructions in the window (an entry may stand for several).
    pub occupancy: u32,
    /// Loads in the window.
    pub loads: u32,
    /// Number of the next operation.
    pub next_id: u32,
    /// Why dispatch stopped.
    pub stopped: Option<Stopped>,
    /// The latest cycle in which a result that is known is available.
    pub latest_result: u64,
    /// Dispatch position, in units of 1 / (dispatch width x compute ipc) cycles.
    pub dispatch_pos: u64,
    /// Commit position, in units of 1 / commit width cycles.
    pub commit_pos: u64,
    /// Full fences dispatched and not completed.
    pub open_fences: u32,
    /// Stores and flushes on their way to the L1.
    pub stores: StoreQueue,
    /// The L1 takes the thread's next store no earlier than this: one a cycle.
    pub store_port: Ps,
    /// When the next look at the store queue is scheduled.
    pub store_event: Option<Ps>,
    /// When an entry of the store queue became free last.
    pub store_freed: Ps,
    /// What the store queue was refused for last.
    pub queue_blame: Option<Cause>,
    /// What the next instruction is charged for: execution, unless a full store queue held it up.
    pub held_up: Cause,
    /// The instruction at the head waits for this since then.
    pub head_wait: Option<(Cause, Ps)>,
    /// Refused by the design; to be asked again after a kick.
    pub refused: Vec<Refused>,
    /// What is being asked again; empty in between.
    pub asked_again: Vec<Refused>,
    /// Loads scheduled last for one moment, with nothing between them.
    pub run: LoadRun,
    /// Loads that the window holds back behind a full fence.
    pub fenced: u32,
    /// Loads that found the L1 blocked, by position.
    pub blocked_loads: Vec<u32>,
    /// Where time went.
    pub account: Account,
    /// Instructions committed.
    pub instructions: u64,
    /// Instructions committed up to and including the newest fence between log entries and data.
    pub log_fence: Option<u64>,
    /// Memory operations dispatched.
    pub memory_ops: u64,
    /// Operations finished.
    pub ops_done: u64,
    /// Recorded runs: operations to be acknowledged when so many more fences of the store queue have acted.
    pub late_acks: Vec<(u32, u32)>,
    /// Hardware transaction running at dispatch.
    pub tx: Option<TxId>,
    /// Hardware transaction begun last and not yet committed or aborted at the head.
    pub open_tx: Option<TxId>,
    /// Stamp of the last lock taken by the running operation.
    pub stamp: Option<u64>,
    /// When the thread's last instruction committed.
    pub finished: Option<Ps>,
    /// Operations to finish before the measured part.
    pub warm_up: u64,
    /// What it had done when it finished them.
    pub at_warm_up: Option<Box<ThreadProgress>>,
    /// Whether the way of each operation is recorded.
    pub drawn: bool,
    /// What it counts.
    pub counters: CoreCounters,
    /// Instructions between consecutive fences that stand between log entries and data: value, occurrences.
    pub log_fence_distances: BTreeMap<u64, u64>,
}

/// What a thread has done up to some moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadProgress {
    pub account: Account,
    pub instructions: u64,
    pub memory_ops: u64,
    pub ops: u64,
    pub log_fence_distances: BTreeMap<u64, u64>,
}

/// What threads count (see [`crate::Counters`]).
#[derive(Clone, Debug, Default)]
pub(crate) struct CoreCounters {
    /// Accesses that the core found in its L1 by itself.
    pub l1_hits: u64,
    pub loads: u64,
    pub stores: u64,
    pub nt_stores: u64,
    pub flushes: u64,
    pub fences: u64,
    pub races: u64,
}

/// What to ask again after a kick.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The instruction at the commit head.
    Head,
    /// A load, by its position in the window (the lower half of it).
    Load(u32),
    /// The store queue.
    Stores,
}

impl HardwareThread {
    /// A hardware thread about to run `thread`.
    pub(crate) fn new(
        id: HwThread,
        thread: Thread,
        warm_up: u64,
        functional: Rc<RefCell<Image>>,
        journal: Rc<RefCell<Journal>>,
    ) -> Self {
        HardwareThread {
            id,
            functional,
            journal,
            journalled: false,
            thread,
            window: Ring::new(64),
            committed: 0,
            occupancy: 0,
            loads: 0,
            next_id: 1,
            stopped: None,
            latest_result: 0,
            dispatch_pos: 0,
            commit_pos: 0,
            open_fences: 0,
            stores: StoreQueue::default(),
            store_port: Ps::ZERO,
            store_event: None,
            store_freed: Ps::ZERO,
            queue_blame: None,
            held_up: Cause::Execute,
            head_wait: None,
            refused: Vec::new(),
            asked_again: Vec::new(),
            run: LoadRun::default(),
            fenced: 0,
            blocked_loads: Vec::new(),
            account: Account::default(),
            instructions: 0,
            log_fence: None,
            memory_ops: 0,
            ops_done: 0,
            late_acks: Vec::new(),
            tx: None,
            open_tx: None,
            stamp: None,
            finished: None,
            warm_up,
            at_warm_up: None,
            drawn: false,
            counters: CoreCounters::default(),
            log_fence_distances: BTreeMap::new(),
        }
    }
    /// Position in the window of the operation that another depends on (0: none), unless it left long since.
    #[inline]
    pub(super) fn producer(&self, dep: u32) -> Option<usize> {
        if dep == 0 {
            return None;
        }
        // Numbers ascend by at most one; only the pieces of a long compute share one. Most producers are young.
        let mut at = self.window.end().checked_sub(self.next_id.wrapping_sub(dep) as usize)?;
        loop {
            match self.window.get(at)?.id.wrapping_sub(dep) {
                0 => return Some(at),
                // At least so many entries lie between.
                younger => at = at.checked_sub(younger as usize)?,
            }
        }
    }
    /// The oldest instruction that has not committed.
    pub(crate) fn oldest(&self) -> Option<&Entry> {
        self.window.get(self.committed)
    }
    /// Whether the thread was rolled back and does not know it yet.
    #[inline]
    pub(crate) fn rolled_back(&self) -> bool {
        self.journalled && self.journal.borrow().rolled_back(self.id)
    }
    /// Remembers a refusal once.
    pub(crate) fn refuse(&mut self, what: Refused) {
        if !self.refused.contains(&what) {
            self.refused.push(what);
        }
    }

    /// Operation `id` goes to the L1, or begins to act, at this time.
    #[cold]
    pub(crate) fn issues(&mut self, out: &mut impl Outside, id: u32, at: Ps) {
        if let Some(r) = out.recorder() {
            r.passages.issued(self.id, id, at);
        }
    }
    /// Schedules a look at the store queue.
    pub(crate) fn wake_stores(&mut self, out: &mut impl Outside, at: Ps) {
        let at = at.max(self.store_port);
        if self.store_event.is_none_or(|t| at < t) {
            self.store_event = Some(at);
            out.schedule(at, self.id, Turn::Stores);
        }
    }
    /// Charges the wait at the commit head, if any, up to now.
    pub(crate) fn charge_head(&mut self, now: Ps) {
        if let Some((cause, _)) = self.head_wait.take() {
            self.account.stall(now, cause);
        }
    }
    /// The instruction at the commit head waits for `cause` from now on.
    pub(crate) fn head_waits(&mut self, now: Ps, cause: Cause) {
        match self.head_wait {
            Some((c, _)) if c == cause => {}
            Some((c, _)) => {
                self.account.stall(now, c);
                self.head_wait = Some((cause, now));
            }
            None => self.head_wait = Some((cause, now)),
        }
    }
    /// What the thread has done so far.
    pub(crate) fn progress(&self) -> ThreadProgress {
        ThreadProgress {
            account: self.account.clone(),
            instructions: self.instructions,
            memory_ops: self.memory_ops,
            ops: self.ops_done,
            log_fence_distances: self.log_fence_distances.clone(),
        }
    }
    /// What the load at a position waits for from now on.
    pub(crate) fn charge_load(&mut self, at: u32, cause: Cause) {
        if let Some((at, _)) = self.window.find(at) {
            self.window[at].cause = cause;
        }
    }
    /// The access that found no free miss register starts over.
    pub(crate) fn start_over(&mut self, out: &mut impl Outside, waiter: Waiter) {
        let now = out.now();
        match waiter {
            Waiter::Load(_, at) => {
                // Its turn is another one than that which it had.
                self.run = LoadRun::default();
                out.schedule(now, self.id, Turn::Load(at));
            }
            Waiter::Store(_, id) => {
                if let Some((_, s)) = self.stores.by_id(id) {
                    s.state = StoreState::Committed(now);
                }
                self.wake_stores(out, now);
            }
            Waiter::Head(_) => out.schedule(now, self.id, Turn::Head),
        }
    }
}
