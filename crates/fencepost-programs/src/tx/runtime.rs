//! How transactions run, fixed when a program is built.

use super::block_log;
pub(crate) use super::record::RECORDS;
use crate::choices::{Coupling, LogForm, Scheme, Variant};
use crate::layout::Layout;
use crate::pool::Pool;
use crate::settings::Settings;
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, Mem, Span};

/// Offset of the word that ends a transaction: undo array and iDO: last committed sequence number; redo: sequence
/// number and record count; undo list: head of the chain.
pub(crate) const COMMIT: u64 = 0;
/// Offset of the word that truncates a redo log: the last applied sequence number.
pub(crate) const APPLIED: u64 = LINE_BYTES;
/// Transactions an operation may hold; sequence numbers are `k * TX_PER_OP + part + 1`.
pub(crate) const TX_PER_OP: u32 = 2;
/// Logs of threads lie on pages of their own.
const PAGE: u64 = 4096;
/// No line was remembered yet.
pub(crate) const NO_LINE: u64 = u64::MAX;

/// How transactions run, fixed when a program is built: scheme, log areas, allocation pools, deliberate mistake.
#[derive(Clone, Debug)]
pub struct Runtime {
    pub(super) scheme: Scheme,
    pub(super) coupling: Coupling,
    pub(super) variant: Variant,
    pub(super) logs: Addr,
    pub(super) log_bytes: u64,
    pub(super) threads: u32,
    pub(super) pool: Pool,
    /// Whether code ordered by hand keeps backups in the log area.
    pub(super) backups: bool,
}

impl Runtime {
    /// Reserves space for records of `stores` stores per thread and takes over the allocation pools. `stores` counts the 8-byte words
    /// that the largest transaction stores, new blocks included; each may take a record of its own.
    pub fn new(layout: &mut Layout, s: &Settings, coupling: Coupling, stores: u64, pool: Pool) -> Runtime {
        let records = match s.scheme.form() {
            LogForm::RedoBlock => block_log::log_bytes(stores),
            // A library keeps its journal with the program's data.
            LogForm::ByHand if s.scheme.of_library() => 0,
            _ => RECORDS + stores * 64,
        };
        let log_bytes = records.max(PAGE).next_multiple_of(PAGE) + s.log_stagger.next_multiple_of(LINE_BYTES);
        let logs = layout.pm_aligned(log_bytes * u64::from(s.threads), PAGE);
        Runtime {
            scheme: s.scheme,
            coupling,
            variant: s.variant,
            logs,
            log_bytes,
            threads: s.threads,
            pool,
            backups: false,
        }
    }
    /// The program's hand-ordered form keeps backups ([`super::Tx::back_up`]), which recovery restores.
    pub fn with_backups(self) -> Runtime {
        Runtime { backups: true, ..self }
    }
    /// The logging scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }
    /// The deliberate mistake, or `Correct`. For code outside the measured stretch; inside it, ask [`Runtime::slip`].
    pub fn variant(&self) -> Variant {
        self.variant
    }
    /// Whether the program was asked to make this mistake. A constant `false` in code for a fixed build.
    #[inline(always)]
    pub fn slip<M: Mem>(&self, variant: Variant) -> bool {
        M::FIXED.is_none() && self.variant == variant
    }
    /// The allocation pools.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }
    #[inline(always)]
    pub(crate) fn log(&self, thread: u32) -> Addr {
        Addr(self.logs.0 + u64::from(thread) * self.log_bytes)
    }
    /// What `thread` binds to write sub-queues where the design has them: its own log and pool first, a range each; then the pools of
    /// the others, whose blocks it may change once they are linked, and the program's `data`.
    pub fn ranges(&self, thread: u32, data: Vec<Span>) -> Vec<Span> {
        let log = Span {
            at: self.log(thread),
            len: self.log_bytes,
        };
        let others = (0..self.threads).filter(|t| *t != thread);
        let pools = [thread].into_iter().chain(others).map(|t| self.pool.span_of(t));
        let all = [log].into_iter().chain(pools).chain(data);
        all.filter(|s| s.len > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread binds what is its own before what it shares, and knows the queue of every block that it may change.
    #[test]
    fn threads_bind_their_own_first_and_every_pool() {
        let settings = Settings {
            threads: 3,
            ..Settings::default()
        };
        let mut layout = Layout::default();
        let pool = Pool::new(&mut layout, settings.threads, 64, 5);
        let rt = Runtime::new(&mut layout, &settings, Coupling::Auto, 4, pool);
        let shared = Span {
            at: Addr::pm(1 << 30),
            len: 64,
        };
        let of = [0, 1, 2].map(|t| rt.ranges(t, vec![shared]));
        for (t, ranges) in (0..).zip(&of) {
            let own: Vec<Addr> = ranges[..2].iter().map(|r| r.at).collect();
            assert_eq!(own, [rt.log(t), pool.span_of(t).at]);
            assert_eq!((ranges.len(), ranges.last()), (5, Some(&shared)));
            let mut pools = ranges[1..4].to_vec();
            pools.sort_by_key(|p| p.at);
            assert!(pools.windows(2).all(|p| p[0].at.0 + p[0].len == p[1].at.0));
            let all = pool.span();
            assert_eq!((pools[0].at, pools.iter().map(|p| p.len).sum()), (all.at, all.len));
        }
    }

    /// Logs begin on pages of their own, or as much later as the stagger says, and never overlap.
    #[test]
    fn logs_begin_as_far_apart_as_asked() {
        for (stagger, apart) in [(0, 4096), (256, 4352), (1, 4160), (4096, 8192)] {
            let settings = Settings {
                threads: 4,
                log_stagger: stagger,
                ..Settings::default()
            };
            let mut layout = Layout::default();
            let pool = Pool::new(&mut layout, settings.threads, 64, 0);
            let rt = Runtime::new(&mut layout, &settings, Coupling::Auto, 4, pool);
            let starts: Vec<u64> = (0..4).map(|t| rt.log(t).0 - rt.log(0).0).collect();
            assert_eq!(starts, [0, apart, 2 * apart, 3 * apart]);
        }
    }
}
