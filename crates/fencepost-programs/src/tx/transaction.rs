//! A running transaction: what programs call between its begin and its commit.

use super::runtime::Runtime;
use super::slips::Slips;
use crate::choices::Variant;
use crate::sites;
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{At, Mem, Mode, Pm, Val, Width};
use std::panic::Location;

/// A line of the program, where a library is at work for one.
pub(super) type Caller = Option<&'static Location<'static>>;

/// A running transaction.
pub struct Tx<'a, 'm, M: Mem> {
    pub(crate) pm: &'a mut Pm<'m, M>,
    pub(super) rt: &'a Runtime,
    /// How it runs, where the back end was not compiled for one way.
    pub(super) mode: Mode,
    pub(super) thread: u32,
    pub(super) seq: u32,
    /// Address of this thread's log; of the next record; of the first record not yet covered by a barrier.
    pub(super) log: u64,
    pub(super) cursor: u64,
    pub(super) sealed: u64,
    /// Array: length of the newest record, as a record's first word holds it. List: address of the newest node.
    pub(super) previous: u64,
    /// The line remembered last.
    pub(super) line: u64,
    /// Redo by block: the line of the block stored to or read last, and its number.
    pub(super) block: (u64, usize),
    /// iDO: how many regions began. Backups made by hand: how many rows were copied.
    pub(super) regions: u64,
    /// A block to return once the transaction has committed; earlier ones are in the thread's list.
    pub(super) freed: Option<At<M::Dep>>,
    pub(super) slips: Slips<M::Dep>,
}

impl<M: Mem> Tx<'_, '_, M> {
    /// Whether the deliberate mistakes exist in this code.
    pub(super) const MISTAKES: bool = M::FIXED.is_none();

    #[inline(always)]
    pub(super) fn mode(&self) -> Mode {
        match M::FIXED {
            Some(build) => build.mode,
            None => self.mode,
        }
    }
    /// Whether software has anything to do for the transaction's persistence.
    #[inline(always)]
    pub(super) fn logs(&self) -> bool {
        !matches!(self.mode(), Mode::Plain | Mode::Hardware)
    }
    /// The thread that it runs on.
    #[inline(always)]
    pub(crate) fn thread(&self) -> u32 {
        self.thread
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
        if self.mode() == Mode::RedoBlock
            && let Some(copy) = self.block_copy(at.addr, width)
        {
            return self.pm.m.load_n(copy, width);
        }
        let lists = &self.pm.lists;
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
        let outer = self.enter();
        self.write_entered(at, v, width);
        self.leave(outer);
    }
    /// Announces one word and writes it: for transactions whose only store it is.
    #[track_caller]
    #[inline(always)]
    pub fn update(&mut self, at: At<M::Dep>, v: Val<M::Dep>) {
        self.protect(at, 8);
        self.write(at, v);
    }
    // Where the mode is chosen at run time the code for all of them stands once, out of line.
    #[inline(always)]
    fn write_entered(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        if M::FIXED.is_some() {
            self.write_here(at, v, width);
        } else {
            self.write_called(at, v, width);
        }
    }
    #[inline(never)]
    fn write_called(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        self.write_here(at, v, width);
    }
    #[inline(always)]
    fn write_here(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        match self.mode() {
            Mode::Redo => self.redo_write(at, v, width),
            Mode::RedoBlock => self.block_write(at, v, width),
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
        let outer = self.enter();
        if M::FIXED.is_some() {
            self.fresh_here(at, v, width);
        } else {
            self.fresh_called(at, v, width);
        }
        self.leave(outer);
    }
    #[inline(never)]
    fn fresh_called(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        self.fresh_here(at, v, width);
    }
    #[inline(always)]
    fn fresh_here(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        if self.slip(Variant::WrongStoreOrder) && self.logs() {
            self.hold_back(at, v, width);
        } else if matches!(self.mode(), Mode::Undo { grouped: false, .. }) {
            self.write_entered(at, v, width);
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
            let outer = self.enter();
            self.store_tracked(at, v, Width::B8);
            self.leave(outer);
        }
    }
    /// Whether the hardware may roll the transaction back after it has committed.
    #[inline(always)]
    pub fn may_roll_back(&self) -> bool {
        self.mode() == Mode::Hardware
    }
    /// Whether the program itself orders its persists ([`Tx::step`]).
    #[inline(always)]
    pub fn by_hand(&self) -> bool {
        self.mode() == Mode::Raw
    }
    /// Takes a block from this thread's pool.
    #[track_caller]
    #[inline(always)]
    pub fn alloc(&mut self) -> At<M::Dep> {
        let outer = self.enter();
        let block = self.rt.pool.alloc(self.pm.m, self.thread);
        self.leave(outer);
        block
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
        let outer = self.enter();
        match self.mode() {
            Mode::Undo { grouped: true, .. } if M::FIXED.is_some() => self.undo_protect(at, len, once),
            Mode::Undo { grouped: true, .. } => self.protect_called(at, len, once),
            _ => {}
        }
        self.leave(outer);
    }
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
    pub fn commit(mut self) {
        let outer = self.enter();
        if M::FIXED.is_some() {
            self.commit_here(outer);
        } else {
            self.commit_called(outer);
        }
    }
    #[inline(never)]
    fn commit_called(self, outer: Caller) {
        self.commit_here(outer);
    }
    #[inline(always)]
    fn commit_here(mut self, outer: Caller) {
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
            Mode::Redo | Mode::RedoBlock => self.redo_commit(),
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
        self.leave(outer);
    }
}
