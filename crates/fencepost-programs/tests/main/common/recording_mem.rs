//! Functional memory that records what operations do.

use super::Event;
use fencepost_kernel::*;
use std::collections::{BTreeMap, BTreeSet};

/// Functional memory that records.
pub(crate) struct RecordingMem {
    pub image: Image,
    pub events: Vec<Event>,
    pub computes: BTreeMap<u16, u64>,
    /// Stores to volatile memory.
    pub volatile_stores: u64,
    /// Lines loaded.
    pub loaded: BTreeSet<LineAddr>,
    /// Locks taken.
    pub locks: BTreeSet<u64>,
    /// Words loaded, and words and locks that were stored to, of either memory.
    pub words: (BTreeSet<u64>, BTreeSet<u64>),
    pub outcome: Option<Outcome>,
    /// The thread whose operation runs.
    pub thread: u32,
    op: u32,
    in_tx: bool,
    /// Memory and number of events when the running transaction began.
    before: (Image, usize),
    /// The operation whose transaction was aborted, until the thread learns of it.
    aborted: Option<u32>,
}
impl RecordingMem {
    pub(crate) fn new() -> RecordingMem {
        RecordingMem {
            image: Image::default(),
            events: Vec::new(),
            computes: BTreeMap::new(),
            volatile_stores: 0,
            loaded: BTreeSet::new(),
            locks: BTreeSet::new(),
            words: Default::default(),
            outcome: None,
            thread: 0,
            op: 0,
            in_tx: false,
            before: (Image::default(), 0),
            aborted: None,
        }
    }
    fn put(&mut self, addr: Addr, v: u64, width: Width, nt: bool) {
        assert_eq!(addr.0 % width.bytes(), 0, "unaligned access at {addr}");
        let value = width.insert(self.image.word(addr), addr.0, v);
        self.image.set_word(addr.word(), value, None);
        self.words.1.insert(addr.word().0);
        if addr.is_persistent() {
            self.events.push(Event::Store {
                thread: self.thread,
                word: addr.word().0,
                value,
                nt,
            });
        } else {
            self.volatile_stores += 1;
        }
    }
}
impl Mem for RecordingMem {
    type Dep = ();
    fn load_n(&mut self, at: At<()>, width: Width) -> Val<()> {
        assert_eq!(at.addr.0 % width.bytes(), 0, "unaligned access at {}", at.addr);
        self.loaded.insert(at.line());
        self.words.0.insert(at.addr.word().0);
        Val::lit(width.extract(self.image.word(at.addr), at.addr.0))
    }
    fn store_n(&mut self, at: At<()>, v: Val<()>, width: Width) {
        self.put(at.addr, v.v, width, false);
    }
    fn nt_store(&mut self, at: At<()>, v: Val<()>) {
        self.put(at.addr, v.v, Width::B8, true);
    }
    fn flush(&mut self, at: At<()>, _: Flush) {
        self.events.push(Event::Flush {
            thread: self.thread,
            line: at.line().0,
        });
    }
    fn fence(&mut self, kind: Fence) {
        self.events.push(Event::Fence {
            thread: self.thread,
            kind,
        });
    }
    fn rmw(&mut self, at: At<()>, op: Rmw) -> Val<()> {
        let old = self.image.word(at.addr);
        self.words.0.insert(at.addr.word().0);
        match op {
            Rmw::Cas { expect, new } if old == expect => self.put(at.addr, new, Width::B8, false),
            Rmw::Cas { .. } => {}
            Rmw::Add(n) => self.put(at.addr, old.wrapping_add(n), Width::B8, false),
            Rmw::Swap(n) => self.put(at.addr, n, Width::B8, false),
        }
        Val::lit(old)
    }
    fn load_acquire(&mut self, at: At<()>) -> Val<()> {
        self.load(at)
    }
    fn store_release(&mut self, at: At<()>, v: Val<()>) {
        self.store(at, v);
    }
    fn lock(&mut self, at: At<()>) {
        assert!(!at.addr.is_persistent(), "locks live in DRAM");
        assert_eq!(
            self.image.word(at.addr),
            0,
            "lock taken twice or kept beyond its operation"
        );
        self.words.1.insert(at.addr.word().0);
        self.locks.insert(at.addr.0);
        self.image.set_word(at.addr, 1, None);
    }
    fn unlock(&mut self, at: At<()>) {
        assert_eq!(self.image.word(at.addr), 1, "unlock of a free lock");
        self.image.set_word(at.addr, 0, None);
    }
    fn tx_begin(&mut self) -> Result<TxId, Rollback> {
        if let Some(op) = self.aborted.take() {
            return Err(Rollback { op });
        }
        assert!(!std::mem::replace(&mut self.in_tx, true), "nested transaction");
        self.before = (self.image.clone(), self.events.len());
        self.events.push(Event::TxBegin);
        Ok(TxId(1))
    }
    fn tx_commit(&mut self) {
        assert!(
            std::mem::replace(&mut self.in_tx, false),
            "commit outside a transaction"
        );
        self.events.push(Event::TxCommit);
    }
    fn tx_abort(&mut self) {
        assert!(std::mem::replace(&mut self.in_tx, false), "abort outside a transaction");
        self.image = std::mem::take(&mut self.before.0);
        self.events.truncate(self.before.1);
        self.aborted = Some(self.op);
    }
    /// No range has a register here, so that every line is in the default queue: its commit is a `pcommit`.
    fn commit_queue(&mut self, queue: QueueId) {
        assert_eq!(queue, QueueId::DEFAULT);
        self.fence(Fence::Pcommit);
    }
    fn compute(&mut self, site: Site) {
        *self.computes.entry(site.0).or_default() += 1;
    }
    fn op_begin(&mut self, op: u32) {
        self.op = op;
    }
    fn op_end(&mut self, _: u32, outcome: Outcome) {
        self.outcome = Some(outcome);
    }
    fn ack(&mut self, op: u32) {
        self.events.push(Event::Ack {
            thread: self.thread,
            k: op,
        });
    }
}
