//! How transactions run, fixed when a program is built; and how one begins.

use super::Tx;
use super::scratch::Scratch;
use crate::layout::Layout;
use crate::pool::Pool;
use crate::sites;
use crate::words::{Coupling, Scheme, Variant};
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, Dialect, Fence, LogPath, Logging, Mem, Pm, Rollback};

/// Offset of the word that ends a transaction: undo array and iDO: last committed sequence number; redo: sequence
/// number and record count; undo list: head of the chain.
pub(crate) const COMMIT: u64 = 0;
/// Offset of the word that truncates a redo log: the last applied sequence number.
pub(crate) const APPLIED: u64 = LINE_BYTES;
/// Offset of the first record.
pub(crate) const RECORDS: u64 = 2 * LINE_BYTES;
/// Transactions an operation may hold; sequence numbers are `k * TX_PER_OP + part + 1`.
pub(crate) const TX_PER_OP: u32 = 2;

/// How transactions run, fixed when a program is built: scheme, log areas, allocation pools, deliberate mistake.
#[derive(Clone, Debug)]
pub struct Runtime {
    pub(super) scheme: Scheme,
    coupling: Coupling,
    pub(super) variant: Variant,
    pub(super) logs: Addr,
    pub(super) log_bytes: u64,
    pub(super) threads: u32,
    pub(super) pool: Pool,
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
            lists: Scratch::take(),
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
