//! The transaction runtime: one interface, every way of making an update crash-consistent.
//!
//! A program brackets its stores with [`Runtime::begin`] and [`Tx::commit`], reads and writes through the transaction,
//! and says where the parts of an update begin ([`Tx::step`], [`Tx::region`], [`Tx::protect`]). What that costs follows
//! from the dialect and the scheme:
//!
//! | mode | when | barriers per transaction | flushes (where the dialect has any) |
//! |---|---|---|---|
//! | plain | `Logging::None` | 0 | 0 |
//! | hardware | `Logging::Hardware` | 0 (`tx_begin`, `tx_commit`) | 0 |
//! | undo array, grouped | software | `g` log-to-data, 1 data-to-commit, 1 after commit | log lines, data lines, 1 commit line |
//! | undo array, per store | software | one log-to-data a store, then 2 as above | the same |
//! | undo list | software | as the array, and one node-to-splice barrier before each log-to-data | 1 line a node, 1 splice a barrier, data, commit |
//! | redo | software | entries, commit record, data, truncation: 4 | log lines, commit, data lines, 1 truncation |
//! | ido | software | `r` regions: each 1 record-to-stores and 1 stores-to-next; 1 after commit | 2–3 lines a record, data, commit |
//! | raw | software | one a [`Tx::step`] | data lines |
//!
//! `g` is the number of groups: each first write after new records seals the group. A program that protects its whole
//! write-set first has `g = 1`: a swap takes three barriers under synchronous ordering (records; data; commit), the last of which
//! also makes the operation durable. Log records on the non-temporal path need no flush.
//!
//! **Three orderings, never confused.** Records before the data they protect is [`Pm::log_to_data`] (what Themis makes
//! free); data before commit record, node before splice and commit before the next transaction is [`Pm::order`];
//! durability at the end is implied by the last `order` where the dialect says so, or bought by `--ack every`.
//!
//! **Why recovery is right.** *Undo*: every record is durable before any data it protects (log-to-data), so walking
//! records until the first that is not whole meets every record whose data can have changed; restoring newest first
//! gives each location its oldest value. All data is durable before the commit record and the commit record before
//! the next transaction's records can overwrite the slots; the records of a transaction are dead the moment its
//! sequence number is committed, by one 8-byte store. *Redo*: the commit record is durable after every entry and before any
//! in-place store; truncation is durable after all of those and before the locks are released, so a replay never
//! overwrites a later owner's data. *iDO*: the stores of a region are durable before the next region's record, and a
//! region never overwrites its own inputs, so re-executing the one named by the newest whole record is idempotent.
//! Two record slots alternate, so a torn record leaves the previous region's, whose re-execution is idempotent too.
//! *List*: a node is durable before it is spliced in, and the chain is cut by one store.
//!
//! **What is logged.** Coupled (per-store) undo logging has an entry prior to every store of a transaction, those to blocks that it
//! allocated included, as a compiler that instruments stores gives it (themis II-A, V-A). Grouped undo, redo and iDO log what
//! the program announces, and leave new blocks out.
//!
//! Papers: synchronous ordering (dpo II-B), coupled undo logging, array and list (themis V-A), iDO (themis II-F),
//! software write-ahead log with strict phases (loc VI).

mod ido;
mod keyed;
mod record;
mod recover;
mod redo;
mod runtime;
mod scratch;
mod undo;
mod writes;

pub use ido::{MAX_INPUTS, Region};
pub use recover::{LogFlow, LogStep};
pub use runtime::Runtime;
pub(crate) use runtime::{APPLIED, COMMIT, Mode, RECORDS, TX_PER_OP};

use crate::sites;
use crate::words::Variant;
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, At, Mem, Pm, Val, Width};
use scratch::Scratch;

/// A running transaction.
pub struct Tx<'a, M: Mem> {
    pub(crate) pm: Pm<'a, M>,
    rt: &'a Runtime,
    mode: Mode,
    /// Whether records are written ahead, object by object, and share a barrier.
    grouped: bool,
    thread: u32,
    seq: u32,
    /// This thread's log area; `cursor`, `sealed`: offsets of its end and of the first record not yet covered by a barrier.
    log: Addr,
    cursor: u64,
    sealed: u64,
    /// Units of the newest array record, or address of the newest list node.
    previous: u64,
    records: u64,
    /// iDO: a record held back (only by the wrong-store-order variant), and how many regions began.
    region: Option<Region<M::Dep>>,
    regions: u64,
    /// Its lists.
    lists: Box<Scratch<M::Dep>>,
    committed_early: bool,
    order_slip: bool,
    flush_slip: bool,
    early_flush: bool,
    unflushed: Option<u64>,
}

impl<M: Mem> Tx<'_, M> {
    /// Reads a word, the transaction's own writes included.
    #[track_caller]
    #[inline]
    pub fn read(&mut self, at: At<M::Dep>) -> Val<M::Dep> {
        self.read_n(at, Width::B8)
    }
    /// Reads `width` bytes, the transaction's own writes included. A location is always accessed with one width.
    #[track_caller]
    #[inline]
    pub fn read_n(&mut self, at: At<M::Dep>, width: Width) -> Val<M::Dep> {
        if self.mode == Mode::Redo {
            self.pm.m.compute(sites::TX_LOOKUP);
            if let Some(v) = self.lists.writes.get(at.addr) {
                return v;
            }
        }
        if let Some(v) = self.lists.late.get(at.addr) {
            return v;
        }
        self.pm.m.load_n(at, width)
    }
    /// Writes a word of the structure.
    #[track_caller]
    pub fn write(&mut self, at: At<M::Dep>, v: Val<M::Dep>) {
        self.write_n(at, v, Width::B8);
    }
    /// Writes `width` bytes of the structure.
    #[track_caller]
    pub fn write_n(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        match self.mode {
            Mode::Redo => self.redo_write(at, v, width),
            Mode::UndoArray | Mode::UndoList => {
                self.undo_before_write(at, width);
                self.store(at, v, width);
            }
            Mode::Plain | Mode::Hardware | Mode::Ido | Mode::Raw => self.store(at, v, width),
        }
    }
    /// Writes a word whose line is then *not* flushed: the mistake of the unflushed-link and -unlink variants.
    #[track_caller]
    pub fn write_unflushed(&mut self, at: At<M::Dep>, v: Val<M::Dep>) {
        self.unflushed = Some(at.addr.0 / LINE_BYTES);
        self.write(at, v);
    }
    /// Writes a word of a block allocated in this transaction. It needs no log, because nothing reaches the block before
    /// commit; coupled undo logging logs it all the same: its runtime is called for every store and does not know.
    #[track_caller]
    pub fn fresh(&mut self, at: At<M::Dep>, v: Val<M::Dep>) {
        self.fresh_n(at, v, Width::B8);
    }
    /// Writes `width` bytes of a block allocated in this transaction.
    #[track_caller]
    pub fn fresh_n(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        if self.rt.variant == Variant::WrongStoreOrder && !matches!(self.mode, Mode::Plain | Mode::Hardware) {
            self.lists.late.put(at, v, width);
        } else if !self.grouped && matches!(self.mode, Mode::UndoArray | Mode::UndoList) {
            self.write_n(at, v, width);
        } else {
            self.store(at, v, width);
        }
    }
    /// Takes a block from this thread's pool.
    #[track_caller]
    pub fn alloc(&mut self) -> At<M::Dep> {
        self.rt.pool.alloc(self.pm.m, self.thread)
    }
    /// Returns a block to the pool once the transaction has committed.
    pub fn free(&mut self, block: At<M::Dep>) {
        self.lists.freed.push(block);
    }
    /// Announces that `len` bytes at `at` (whole words) are about to change: grouped undo logs them now, as one object.
    /// Announcing the whole write-set before the first write lets all records share one barrier.
    #[track_caller]
    pub fn protect(&mut self, at: At<M::Dep>, len: u64) {
        if self.grouped && matches!(self.mode, Mode::UndoArray | Mode::UndoList) {
            self.undo_protect(at, len);
        }
    }
    /// The stores so far must be durable before those that follow: where raw code has its persist and barrier. Logged and
    /// hardware transactions need nothing here.
    #[track_caller]
    pub fn step(&mut self) {
        if self.mode == Mode::Raw {
            self.flush_dirty();
            self.order();
        }
    }
    /// Instructions of the program's own between memory operations.
    #[inline]
    pub fn compute(&mut self, site: fencepost_kernel::Site) {
        self.pm.m.compute(site);
    }
    /// Commits: when this returns the transaction is atomic, and durable as soon as everything ordered so far is.
    #[track_caller]
    pub fn commit(mut self) {
        self.pm.m.compute(sites::TX_COMMIT);
        match self.mode {
            Mode::Plain => {}
            Mode::Hardware => self.pm.m.tx_commit(),
            Mode::Raw => {
                if self.write_late() {
                    self.flush_dirty();
                    self.order();
                }
                self.flush_dirty();
            }
            Mode::UndoArray | Mode::UndoList => self.undo_commit(),
            Mode::Redo => self.redo_commit(),
            Mode::Ido => self.ido_commit(),
        }
        for block in &self.lists.freed {
            self.rt.pool.free(self.pm.m, self.thread, *block);
        }
        self.lists.give_back();
    }

    /// A store in place, remembered for the flush at commit.
    #[track_caller]
    fn store(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        if !matches!(self.mode, Mode::Plain | Mode::Hardware) {
            if self.early_flush {
                self.early_flush = false;
                self.pm.persist(at, width.bytes());
            }
            self.lists.dirty.set(at.addr.0 / LINE_BYTES, ());
            self.pm.m.compute(sites::TX_STORE);
        }
        self.pm.m.store_n(at, v, width);
    }
    /// Emits what the wrong-store-order variant held back; true if there was anything.
    #[track_caller]
    fn write_late(&mut self) -> bool {
        for i in 0..self.lists.late.len() {
            let b = self.lists.late.at(i);
            self.store(b.at, b.value, b.width);
        }
        let any = !self.lists.late.is_empty();
        self.lists.late.clear();
        any
    }
    #[track_caller]
    fn flush_dirty(&mut self) {
        for i in 0..self.lists.dirty.len() {
            let line = self.lists.dirty.at(i).0;
            if self.unflushed == Some(line) || std::mem::take(&mut self.flush_slip) {
                continue;
            }
            self.pm.persist(At::new(Addr(line * LINE_BYTES)), 1);
        }
        self.lists.dirty.clear();
    }
    /// An ordering barrier of the transaction (the deliberate mistakes drop the first).
    #[track_caller]
    fn order(&mut self) {
        if !std::mem::take(&mut self.order_slip) {
            self.pm.order();
        }
    }
    /// The barrier between log and data.
    #[track_caller]
    fn log_to_data(&mut self) {
        if self.rt.variant != Variant::MissingLogFence {
            self.pm.log_to_data();
        }
    }
    #[track_caller]
    fn log_word(&mut self, offset: u64, v: Val<M::Dep>) {
        assert!(
            offset + 8 <= self.rt.log_bytes,
            "the log area is too small for this transaction"
        );
        self.pm.log_store(At::new(Addr(self.log.0 + offset)), v);
    }
    /// Stores one of the words that end or truncate a transaction, and starts its way to memory.
    #[track_caller]
    fn log_mark(&mut self, offset: u64, v: u64) {
        let at = At::new(Addr(self.log.0 + offset));
        self.pm.log_store(at, Val::lit(v));
        self.pm.log_persist(at, 8);
    }
}
