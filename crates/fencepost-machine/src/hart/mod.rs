//! Hardware threads: reorder buffer, store queue, and the account of where time went.

mod account;
mod commit;
mod dispatch;
mod entry;
mod head;
mod loads;
mod shape;
mod store_queue;
mod stores;
mod window;

pub use account::Account;
pub use entry::{Entry, Progress};
pub(crate) use shape::Shape;
pub use store_queue::{QueuedStore, StoreQueue, StoreState};
pub use window::Window;

use crate::frontend::Thread;
use crate::seam::Cause;
use fencepost_kernel::{Ps, TxId};

/// Why dispatch stopped, when it did.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The oldest instruction has not completed and the reorder buffer or load queue is full.
    Window,
    /// The store queue is full.
    StoreQueue,
    /// The thread waits for the answer to its last operation.
    Answer,
    /// A fence that serialises dispatch has not completed.
    Fence,
}

/// One hardware thread.
pub struct Hart {
    /// The program thread that runs here.
    pub thread: Thread,
    /// Instructions in flight, oldest first. Committed ones stay until their space is needed.
    pub window: Window,
    /// How many entries at the front of the window have committed.
    pub committed: usize,
    /// Instructions in the window (an entry may stand for several).
    pub occupancy: u32,
    /// Loads in the window.
    pub loads: u32,
    /// Number of the next operation.
    pub next_id: u32,
    /// Why dispatch stopped.
    pub stopped: Option<Stopped>,
    /// Dispatch position, in units of 1 / (dispatch width x compute ipc) cycles.
    pub dispatch_pos: u64,
    /// Commit position, in units of 1 / commit width cycles.
    pub commit_pos: u64,
    /// Full fences dispatched and not completed.
    pub open_fences: u32,
    /// Stores and flushes on their way to the L1.
    pub stores: StoreQueue,
    /// The L1 takes the hart's next store no earlier than this: one a cycle.
    pub store_port: Ps,
    /// When the next look at the store queue is scheduled.
    pub store_event: Option<Ps>,
    /// What the store queue was refused for last.
    pub queue_blame: Option<Cause>,
    /// What the next instruction is charged for, because a full store queue held it up.
    pub held_up: Option<Cause>,
    /// The instruction at the head waits for this since then.
    pub head_wait: Option<(Cause, Ps)>,
    /// Refused by the design; to be asked again after a kick.
    pub refused: Vec<Refused>,
    /// Loads that found the L1 blocked.
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
    /// Hardware transaction running at dispatch.
    pub tx: Option<TxId>,
    /// Hardware transaction begun last and not yet committed or aborted at the head.
    pub open_tx: Option<TxId>,
    /// Whether the lock at the head was handed to this hart.
    pub lock_granted: bool,
    /// Stamp of the first lock taken by the running operation.
    pub stamp: Option<u64>,
    /// When the thread's last instruction committed.
    pub finished: Option<Ps>,
}

/// What to ask again after a kick.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The instruction at the commit head.
    Head,
    /// A load, by operation number.
    Load(u32),
    /// The store queue.
    Stores,
}

impl Hart {
    /// A hart about to run `thread`.
    pub fn new(thread: Thread) -> Hart {
        Hart {
            thread,
            window: Window::new(),
            committed: 0,
            occupancy: 0,
            loads: 0,
            next_id: 1,
            stopped: None,
            dispatch_pos: 0,
            commit_pos: 0,
            open_fences: 0,
            stores: StoreQueue::default(),
            store_port: Ps::ZERO,
            store_event: None,
            queue_blame: None,
            held_up: None,
            head_wait: None,
            refused: Vec::new(),
            blocked_loads: Vec::new(),
            account: Account::default(),
            instructions: 0,
            log_fence: None,
            memory_ops: 0,
            ops_done: 0,
            tx: None,
            open_tx: None,
            lock_granted: false,
            stamp: None,
            finished: None,
        }
    }
    /// Position in the window of operation `id`, if it is still there.
    #[inline]
    pub fn position(&self, id: u32) -> Option<usize> {
        let first = self.window.get(0)?.id;
        let mut at = id.wrapping_sub(first) as usize;
        // Numbers ascend by at most one; only the pieces of a long compute share one.
        while self.window.get(at)?.id != id {
            at += 1;
        }
        Some(at)
    }
    /// Position of the operation that another depends on (0: none), unless it left the window long since.
    #[inline]
    fn producer(&self, dep: u32) -> Option<usize> {
        if dep == 0 { None } else { self.position(dep) }
    }
    /// The oldest instruction that has not committed.
    pub fn head(&self) -> Option<&Entry> {
        self.window.get(self.committed)
    }
    /// Remembers a refusal once.
    pub fn refuse(&mut self, what: Refused) {
        if !self.refused.contains(&what) {
            self.refused.push(what);
        }
    }
}
