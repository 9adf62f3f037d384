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
//! Papers: synchronous ordering (dpo II-B), coupled undo logging, array and list (themis V-A), iDO (themis II-F),
//! software write-ahead log with strict phases (loc VI).

mod ido;
mod record;
mod recover;
mod redo;
mod undo;
mod writes;

pub use ido::Region;
pub use recover::{LogFlow, LogStep};

use crate::layout::Layout;
use crate::pool::Pool;
use crate::sites;
use crate::small::Small;
use crate::words::{Coupling, Scheme, Variant};
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, At, Dialect, Fence, LogPath, Logging, Mem, Pm, Rollback, Val, Width};
use writes::WriteSet;

/// Offset of the word that ends a transaction: undo array and iDO: last committed sequence number; redo: sequence
/// number and record count; undo list: head of the chain.
pub(crate) const COMMIT: u64 = 0;
/// Offset of the word that truncates a redo log: the last applied sequence number.
pub(crate) const APPLIED: u64 = LINE_BYTES;
/// Offset of the first record.
pub(crate) const RECORDS: u64 = 2 * LINE_BYTES;
/// Transactions an operation may hold; sequence numbers are `k * TX_PER_OP + part + 1`.
const TX_PER_OP: u32 = 2;

/// How transactions run, fixed when a program is built: scheme, log areas, allocation pools, deliberate mistake.
#[derive(Clone, Debug)]
pub struct Runtime {
    scheme: Scheme,
    coupling: Coupling,
    variant: Variant,
    logs: Addr,
    log_bytes: u64,
    threads: u32,
    pool: Pool,
}

/// What a transaction does under the dialect in force.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Plain,
    Hardware,
    UndoArray,
    UndoList,
    Redo,
    Ido,
    Raw,
}

impl Runtime {
    /// Reserves `log_bytes` of log per thread and takes over the allocation pools.
    pub fn new(
        layout: &mut Layout,
        threads: u32,
        how: (Scheme, Coupling, Variant),
        log_bytes: u64,
        pool: Pool,
    ) -> Runtime {
        let log_bytes = (RECORDS + log_bytes).next_multiple_of(LINE_BYTES);
        let logs = layout.pm(log_bytes * u64::from(threads));
        Runtime {
            scheme: how.0,
            coupling: how.1,
            variant: how.2,
            logs,
            log_bytes,
            threads,
            pool,
        }
    }
    /// The logging scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }
    /// The deliberate mistake, or `Correct`.
    pub fn variant(&self) -> Variant {
        self.variant
    }
    /// The allocation pools.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }
    pub(crate) fn log(&self, thread: u32) -> Addr {
        Addr(self.logs.0 + u64::from(thread) * self.log_bytes)
    }
    fn mode(&self, dialect: &Dialect) -> Mode {
        match (dialect.logging, self.scheme) {
            (Logging::None, _) => Mode::Plain,
            (Logging::Hardware, _) => Mode::Hardware,
            (Logging::Software, Scheme::UndoArray) => Mode::UndoArray,
            (Logging::Software, Scheme::UndoList) => Mode::UndoList,
            (Logging::Software, Scheme::Redo) => Mode::Redo,
            (Logging::Software, Scheme::Ido) => Mode::Ido,
            (Logging::Software, Scheme::Raw) => Mode::Raw,
        }
    }
    /// Starts the only transaction of operation `k`. The locks of everything it writes are held until after its commit.
    /// `Err`: the hardware rolled this thread back; release the locks and return it.
    #[track_caller]
    pub fn begin<'a, M: Mem>(&'a self, pm: &'a mut Pm<'_, M>, thread: u32, k: u32) -> Result<Tx<'a, M>, Rollback> {
        self.begin_part(pm, thread, k, 0)
    }
    /// Starts transaction `part` (0 or 1) of operation `k`: only the deliberately non-atomic variants have two.
    #[track_caller]
    pub fn begin_part<'a, M: Mem>(
        &'a self,
        pm: &'a mut Pm<'_, M>,
        thread: u32,
        k: u32,
        part: u32,
    ) -> Result<Tx<'a, M>, Rollback> {
        let mode = self.mode(&pm.dialect);
        let dialect = if self.variant == Variant::MissingPcommit {
            without_pcommit(pm.dialect)
        } else {
            pm.dialect
        };
        let mut pm = Pm {
            m: &mut *pm.m,
            dialect,
            ack_every: pm.ack_every,
        };
        if mode == Mode::Hardware {
            pm.m.tx_begin()?;
        }
        let grouped = match self.coupling {
            Coupling::Auto => dialect.log_path == LogPath::Temporal,
            c => c == Coupling::Grouped,
        };
        if self.variant == Variant::MisplacedFence && !matches!(mode, Mode::Plain | Mode::Hardware) {
            pm.order();
        }
        pm.m.compute(sites::TX_BEGIN);
        Ok(Tx {
            pm,
            rt: self,
            mode,
            grouped,
            thread,
            seq: k * TX_PER_OP + part + 1,
            log: self.log(thread),
            cursor: RECORDS,
            sealed: RECORDS,
            previous: 0,
            records: 0,
            region: None,
            regions: 0,
            dirty: Small::new(0),
            covered: Small::new((0, 0)),
            writes: WriteSet::new(),
            late: WriteSet::new(),
            freed: Small::new(At::new(Addr(0))),
            committed_early: false,
            order_slip: matches!(self.variant, Variant::MissingFence | Variant::MisplacedFence),
            flush_slip: matches!(self.variant, Variant::MissingFlush | Variant::MisplacedFlush),
            early_flush: self.variant == Variant::MisplacedFlush,
            unflushed: None,
        })
    }
}

/// The dialect with every `pcommit` taken out of its barriers.
fn without_pcommit(d: Dialect) -> Dialect {
    let strip = |fences: &'static [Fence]| -> &'static [Fence] {
        if fences.contains(&Fence::Pcommit) {
            &[Fence::Sfence]
        } else {
            fences
        }
    };
    Dialect {
        order: strip(d.order),
        log_to_data: strip(d.log_to_data),
        durable: strip(d.durable),
        ..d
    }
}

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
    /// Lines (by number) stored to and not yet flushed.
    dirty: Small<u64, 24>,
    /// Ranges whose old contents are logged.
    covered: Small<(u64, u64), 16>,
    /// Redo: stores not yet applied.
    writes: WriteSet<M::Dep>,
    /// Wrong-store-order variant: contents of new blocks, held back to the end.
    late: WriteSet<M::Dep>,
    freed: Small<At<M::Dep>, 4>,
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
            if let Some(v) = self.writes.get(at.addr) {
                return v;
            }
        }
        if let Some(v) = self.late.get(at.addr) {
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
    /// Writes a word of a block allocated in this transaction: needs no log, because nothing reaches it before commit.
    #[track_caller]
    pub fn fresh(&mut self, at: At<M::Dep>, v: Val<M::Dep>) {
        self.fresh_n(at, v, Width::B8);
    }
    /// Writes `width` bytes of a block allocated in this transaction.
    #[track_caller]
    pub fn fresh_n(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        if self.rt.variant == Variant::WrongStoreOrder && !matches!(self.mode, Mode::Plain | Mode::Hardware) {
            self.late.put(at, v, width);
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
        self.freed.push(block);
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
            Mode::Hardware => {
                self.pm.m.tx_commit();
                if self.pm.ack_every {
                    self.pm.m.tx_flush();
                }
            }
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
        for block in self.freed.as_slice() {
            self.rt.pool.free(self.pm.m, self.thread, *block);
        }
    }

    /// A store in place, remembered for the flush at commit.
    #[track_caller]
    fn store(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        if !matches!(self.mode, Mode::Plain | Mode::Hardware) {
            if self.early_flush {
                self.early_flush = false;
                self.pm.persist(at, width.bytes());
            }
            let line = at.addr.0 / LINE_BYTES;
            if !self.dirty.as_slice().iter().rev().any(|l| *l == line) {
                self.dirty.push(line);
            }
            self.pm.m.compute(sites::TX_STORE);
        }
        self.pm.m.store_n(at, v, width);
    }
    /// Emits what the wrong-store-order variant held back; true if there was anything.
    #[track_caller]
    fn write_late(&mut self) -> bool {
        let late = self.late.take();
        for b in late.as_slice() {
            self.store(b.at, b.value, b.width);
        }
        !late.is_empty()
    }
    #[track_caller]
    fn flush_dirty(&mut self) {
        let lines = std::mem::replace(&mut self.dirty, Small::new(0));
        for line in lines.as_slice() {
            if self.unflushed == Some(*line) || std::mem::take(&mut self.flush_slip) {
                continue;
            }
            self.pm.persist(At::new(Addr(line * LINE_BYTES)), 1);
        }
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
