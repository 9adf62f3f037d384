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
//! | undo list | software | as the array, and one node-to-splice barrier before each log-to-data | log lines, 1 splice a barrier, data, commit |
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
//! **Backups by hand.** A raw program that changes several words at once copies the rows first ([`Tx::back_up`]): rows; flag; stores in
//! place; flag cleared: four barriers, as public versions of OLTP benchmarks do it.
//!
//! **What is logged.** Coupled (per-store) undo logging has an entry prior to every store of a transaction, those to blocks that it
//! allocated included, as a compiler that instruments stores gives it (themis II-A, V-A). Grouped undo, redo and iDO log what
//! the program announces, and leave new blocks out.
//!
//! **Two flavours of undo.** `undo-array`, `undo-list`: *inline*, an entry of address, old value and (array) sequence number and check,
//! written where the store stands; the lines to flush are kept in a private array in which a line does not follow itself.
//! `library-array`, `library-list`: a call for each store; an entry of type, thread, size, address, old value, sequence number and
//! check; one entry an address, checks of capacity, lines to flush kept as a set.
//!
//! **What is compiled.** A back end that names its build ([`Mem::FIXED`]) gets code without any of the other modes, without the
//! deliberate mistakes and without outcomes: those instructions are what is counted and run natively. Everywhere else the mode is
//! chosen when a transaction begins.
//!
//! Papers: synchronous ordering (dpo II-B), coupled undo logging, array and list (themis V-A), iDO (themis II-F),
//! software write-ahead log with strict phases (loc VI).

mod backup;
mod ido;
mod log_step;
mod primitives;
mod record;
mod recover;
mod redo;
mod runtime;
mod slips;
mod undo;

pub use ido::{MAX_INPUTS, Region};
pub use log_step::{LogFlow, LogStep};
pub use runtime::Runtime;
pub(crate) use runtime::{APPLIED, COMMIT, NO_LINE, RECORDS, TX_PER_OP};

use crate::sites;
use crate::words::Variant;
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{At, Mem, Mode, Pm, Val, Width};
use slips::Slips;

/// A running transaction.
pub struct Tx<'a, 'm, M: Mem> {
    pub(crate) pm: &'a mut Pm<'m, M>,
    rt: &'a Runtime,
    /// How it runs, where the back end was not compiled for one way.
    mode: Mode,
    thread: u32,
    seq: u32,
    /// Address of this thread's log; of the next record; of the first record not yet covered by a barrier.
    log: u64,
    cursor: u64,
    sealed: u64,
    /// Array: length of the newest record, as a record's first word holds it. List: address of the newest node.
    previous: u64,
    /// The line remembered last.
    line: u64,
    /// iDO: how many regions began. Backups made by hand: how many rows were copied.
    regions: u64,
    /// A block to return once the transaction has committed; earlier ones are in the thread's list.
    freed: Option<At<M::Dep>>,
    slips: Slips<M::Dep>,
}

impl<M: Mem> Tx<'_, '_, M> {
    /// Whether the deliberate mistakes exist in this code.
    const MISTAKES: bool = M::FIXED.is_none();

    #[inline(always)]
    fn mode(&self) -> Mode {
        match M::FIXED {
            Some(build) => build.mode,
            None => self.mode,
        }
    }
    /// Whether software has anything to do for the transaction's persistence.
    #[inline(always)]
    fn logs(&self) -> bool {
        !matches!(self.mode(), Mode::Plain | Mode::Hardware)
    }
    /// Whether the program was asked to make this mistake. A constant `false` in code for a fixed build.
    #[inline(always)]
    pub fn slip(&self, variant: Variant) -> bool {
        self.rt.slip::<M>(variant)
    }
    /// Reads a word, the transaction's own writes included.
    #[track_caller]
    #[inline(always)]
    pub fn read(&mut self, at: At<M::Dep>) -> Val<M::Dep> {
        self.read_n(at, Width::B8)
    }
    /// Reads `width` bytes, the transaction's own writes included. A location is always accessed with one width.
    #[track_caller]
    #[inline(always)]
    pub fn read_n(&mut self, at: At<M::Dep>, width: Width) -> Val<M::Dep> {
        let lists = &self.pm.lists;
        if self.mode() == Mode::Redo
            && let Some(i) = lists.writes.find(at.addr.0)
        {
            return lists.writes.at(i).1.value;
        }
        if Self::MISTAKES
            && !lists.late.is_empty()
            && let Some(i) = lists.late.find(at.addr.0)
        {
            return lists.late.at(i).1.value;
        }
        self.pm.m.load_n(at, width)
    }
    /// Writes a word of the structure. Grouped undo: of what [`Tx::protect`] announced.
    #[track_caller]
    #[inline(always)]
    pub fn write(&mut self, at: At<M::Dep>, v: Val<M::Dep>) {
        self.write_n(at, v, Width::B8);
    }
    /// Writes `width` bytes of the structure.
    #[track_caller]
    #[inline(always)]
    pub fn write_n(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        if M::FIXED.is_some() {
            self.write_here(at, v, width);
        } else {
            self.write_called(at, v, width);
        }
    }
    /// Announces one word and writes it: for transactions whose only store it is.
    #[track_caller]
    #[inline(always)]
    pub fn update(&mut self, at: At<M::Dep>, v: Val<M::Dep>) {
        self.protect(at, 8);
        self.write(at, v);
    }
    // Where the mode is chosen at run time the code for all of them stands once, out of line.
    #[track_caller]
    #[inline(never)]
    fn write_called(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        self.write_here(at, v, width);
    }
    #[track_caller]
    #[inline(always)]
    fn write_here(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        match self.mode() {
            Mode::Redo => self.redo_write(at, v, width),
            Mode::Undo { grouped: true, .. } => {
                self.assert_announced(at, width);
                self.undo_seal();
                if self.slip(Variant::WrongStoreOrder) && !self.slips.committed_early {
                    self.undo_commit_early();
                }
                self.store_tracked(at, v, width);
            }
            Mode::Undo { grouped: false, .. } => {
                self.undo_before_store(at, width);
                self.store_tracked(at, v, width);
            }
            Mode::Plain | Mode::Hardware | Mode::Ido | Mode::Raw => self.store(at, v, width),
        }
    }
    /// Writes a word whose line is then *not* flushed: the mistake of the unflushed-link and -unlink variants.
    #[track_caller]
    pub fn write_unflushed(&mut self, at: At<M::Dep>, v: Val<M::Dep>) {
        self.slips.unflushed = Some(at.addr.0 / LINE_BYTES);
        self.update(at, v);
    }
    /// Writes a word of a block allocated in this transaction. It needs no log, because nothing reaches the block before
    /// commit; coupled undo logging logs it all the same: it instruments every store and does not know.
    #[track_caller]
    #[inline(always)]
    pub fn fresh(&mut self, at: At<M::Dep>, v: Val<M::Dep>) {
        self.fresh_n(at, v, Width::B8);
    }
    /// Writes `width` bytes of a block allocated in this transaction.
    #[track_caller]
    #[inline(always)]
    pub fn fresh_n(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        if M::FIXED.is_some() {
            self.fresh_here(at, v, width);
        } else {
            self.fresh_called(at, v, width);
        }
    }
    #[track_caller]
    #[inline(never)]
    fn fresh_called(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        self.fresh_here(at, v, width);
    }
    #[track_caller]
    #[inline(always)]
    fn fresh_here(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        if self.slip(Variant::WrongStoreOrder) && self.logs() {
            self.hold_back(at, v, width);
        } else if matches!(self.mode(), Mode::Undo { grouped: false, .. }) {
            self.write_n(at, v, width);
        } else {
            self.store(at, v, width);
        }
    }
    /// Writes a word of a line to which [`Tx::fresh`] has stored in this transaction: the line is remembered already.
    #[track_caller]
    #[inline(always)]
    pub fn fresh_again(&mut self, at: At<M::Dep>, v: Val<M::Dep>) {
        let held_back = self.slip(Variant::WrongStoreOrder);
        if held_back || !self.logs() || matches!(self.mode(), Mode::Undo { grouped: false, .. }) {
            self.fresh(at, v);
        } else {
            self.store_tracked(at, v, Width::B8);
        }
    }
    /// Whether the hardware may roll the transaction back after it has committed.
    #[inline(always)]
    pub fn may_roll_back(&self) -> bool {
        self.mode() == Mode::Hardware
    }
    /// Takes a block from this thread's pool.
    #[track_caller]
    #[inline(always)]
    pub fn alloc(&mut self) -> At<M::Dep> {
        self.rt.pool.alloc(self.pm.m, self.thread)
    }
    /// Returns a block to the pool once the transaction has committed.
    #[inline(always)]
    pub fn free(&mut self, block: At<M::Dep>) {
        if let Some(earlier) = self.freed.replace(block) {
            self.pm.lists.freed.push(earlier);
        }
    }
    /// Whether announcing does anything: ask before walking far to announce.
    #[inline(always)]
    pub fn announces(&self) -> bool {
        matches!(self.mode(), Mode::Undo { grouped: true, .. })
    }
    /// Announces that `len` bytes at `at` (whole words) are about to change: grouped undo logs them now, as one object.
    /// Announcing the whole write-set before the first write lets all records share one barrier.
    #[track_caller]
    #[inline(always)]
    pub fn protect(&mut self, at: At<M::Dep>, len: u64) {
        self.protect_object(at, len, false);
    }
    /// The same for an object that the transaction may have announced before, always with the same address and length.
    #[track_caller]
    #[inline(always)]
    pub fn protect_once(&mut self, at: At<M::Dep>, len: u64) {
        self.protect_object(at, len, true);
    }
    #[track_caller]
    #[inline(always)]
    fn protect_object(&mut self, at: At<M::Dep>, len: u64, once: bool) {
        match self.mode() {
            Mode::Undo { grouped: true, .. } if M::FIXED.is_some() => self.undo_protect(at, len, once),
            Mode::Undo { grouped: true, .. } => self.protect_called(at, len, once),
            _ => {}
        }
    }
    #[track_caller]
    #[inline(never)]
    fn protect_called(&mut self, at: At<M::Dep>, len: u64, once: bool) {
        self.undo_protect(at, len, once);
    }
    /// The stores so far must be durable before those that follow: where raw code has its persist and barrier. Logged and
    /// hardware transactions need nothing here.
    #[track_caller]
    #[inline(always)]
    pub fn step(&mut self) {
        if self.mode() == Mode::Raw {
            self.flush_dirty();
            self.order();
        }
    }
    /// Instructions of the program's own between memory operations.
    #[track_caller]
    #[inline(always)]
    pub fn compute(&mut self, site: fencepost_kernel::Site) {
        self.pm.m.compute(site);
    }
    /// Commits: when this returns the transaction is atomic, and durable as soon as everything ordered so far is.
    #[track_caller]
    #[inline(always)]
    pub fn commit(self) {
        if M::FIXED.is_some() {
            self.commit_here();
        } else {
            self.commit_called();
        }
    }
    #[track_caller]
    #[inline(never)]
    fn commit_called(self) {
        self.commit_here();
    }
    #[track_caller]
    #[inline(always)]
    fn commit_here(mut self) {
        self.pm.m.compute(sites::TX_COMMIT);
        match self.mode() {
            Mode::Plain => {}
            Mode::Hardware => self.pm.m.tx_commit(),
            Mode::Raw => {
                if self.write_late() {
                    self.flush_dirty();
                    self.order();
                }
                self.flush_dirty();
            }
            Mode::Undo { .. } => self.undo_commit(),
            Mode::Redo => self.redo_commit(),
            Mode::Ido => self.ido_commit(),
        }
        if let Some(block) = self.freed {
            self.rt.pool.free(self.pm.m, self.thread, block);
            while let Some(earlier) = self.pm.lists.freed.pop() {
                self.rt.pool.free(self.pm.m, self.thread, earlier);
            }
        }
        if Self::MISTAKES {
            self.slip_at_commit();
        }
    }
}
