//! `mysql`: sysbench's OLTP transactions as a database's files see them, on the file system (WHISPER).
//!
//! The database itself is not simulated: threads make the calls that InnoDB makes for the transaction *OLTP complex* (ten point
//! selects, four ranges, two updates, a delete and an insert). An operation is a call.
//!
//! **By rule**, compared with a recorded run of MariaDB (`experiments/fgc/TRACES.md`). A transaction touches 18 pages; three in four are of
//! sysbench's hot hundredth of the rows and in the buffer pool, of the others as many as the pool is of the table; the rest is read, one call a
//! page. At its end it writes its redo record, whole log blocks, and syncs (`flush_log_at_trx_commit=1`); the log is a circle. Where
//! a binary log is kept, an event is appended and synced. In the steady state as many pages are written back as become dirty: into the
//! doublewrite buffer, a sync, each in its place, a sync. Rows are replaced, so no table grows.
//!
//! **Otherwise**: pages are written back by the thread that made them dirty and a transaction's at a time, where the database's own
//! thread writes up to 128; which pages those are is drawn uniformly.
//!
//! The oracle is the file system's: a page is in its place only if it is in the doublewrite buffer, and that only if the log is
//! written, because calls of a thread are in order. A page torn in its place is what the doublewrite buffer is for.

use super::calls::Call;
use super::program::{OnPmfs, Workload, whole_words};
use super::shape::Shape;
use crate::draw;
use crate::settings::Settings;
use fencepost_kernel::{Bytes, params, rng};

params! {
    /// Parameters of `mysql`.
    pub struct MysqlParams {
        /// Rows of the table.
        #[range(1..=50_000_000)]
        rows: u64 = 10_000_000,
        /// Bytes of a page.
        #[range(Bytes(64)..=Bytes(16384))]
        page: Bytes = Bytes(16384),
        /// Bytes of the buffer pool.
        #[range(Bytes(0)..=Bytes(1 << 38))]
        pool: Bytes = Bytes(128 << 20),
        /// Bytes of the redo log.
        #[range(Bytes(64)..=Bytes(1 << 32))]
        log: Bytes = Bytes(96 << 20),
        /// Bytes of a transaction's redo record; whole words.
        #[range(Bytes(8)..=Bytes(1 << 16))]
        redo: Bytes = Bytes(8192),
        /// Bytes of a transaction's event in the binary log; none: it is not kept, as Debian ships it.
        #[range(Bytes(0)..=Bytes(1 << 16))]
        binlog: Bytes = Bytes(0),
        /// Pages that a transaction makes dirty.
        #[range(1..=64)]
        dirty: u64 = 3,
        /// Bytes of a block of the file system, a power of two.
        #[range(Bytes(64)..=Bytes(4096))]
        block: Bytes = Bytes(4096),
        /// Undo entries of the journal.
        #[range(16..=1 << 20)]
        journal: u64 = 16_384,
    }
}

/// Bytes of a row with its share of the secondary index: sysbench's row of 189 bytes, a page filled to fifteen sixteenths.
const ROW: u64 = 220;
/// Pages that a transaction touches: of ten selects, four ranges, two updates, a delete and an insert.
const TOUCHED: u64 = 18;
const TABLE: u64 = 0;
const LOG: u64 = 1;
const DOUBLEWRITE: u64 = 2;
const BINLOG: u64 = 3;
const FILES: u64 = 4;

/// The database's calls.
#[derive(Clone, Debug)]
pub struct Database {
    params: MysqlParams,
    seed: u64,
    threads: u64,
}

/// The program `mysql`.
pub type Mysql = OnPmfs<Database>;

impl Database {
    fn pages(&self) -> u64 {
        (self.params.rows * ROW).div_ceil(self.params.page.0).max(1)
    }
    /// Pages that a transaction finds not in the pool, rounded.
    fn reads(&self) -> u64 {
        let kept = (self.params.pool.0 / self.params.page.0).min(self.pages());
        (TOUCHED * (self.pages() - kept) + 2 * self.pages()) / (4 * self.pages())
    }
    /// Calls of a transaction.
    fn calls(&self) -> u64 {
        let binlog = if self.params.binlog.0 > 0 { 2 } else { 0 };
        self.reads() + 2 + binlog + 2 + self.params.dirty + 1
    }
    fn page(&self, h: u64) -> u64 {
        draw::below(h, self.pages()) * self.params.page.0
    }
    /// What a transaction writes: log, binary log, doublewrite buffer, pages. `step` counts from its first write.
    fn write(&self, thread: u64, transaction: u64, step: u64) -> Call {
        let p = &self.params;
        let serial = transaction * self.threads + thread;
        let mut step = step;
        if step < 2 {
            let at = serial * p.redo.0 % p.log.0;
            return match step {
                0 => Call::Overwrite {
                    name: LOG,
                    at,
                    len: p.redo.0,
                },
                _ => Call::Sync,
            };
        }
        step -= 2;
        if p.binlog.0 > 0 {
            if step < 2 {
                let (name, len) = (BINLOG, p.binlog.0);
                return if step == 0 {
                    Call::Append { name, len }
                } else {
                    Call::Sync
                };
            }
            step -= 2;
        }
        let (bytes, buffer) = (p.dirty * p.page.0, thread * p.dirty * p.page.0);
        match step {
            0 => Call::Overwrite {
                name: DOUBLEWRITE,
                at: buffer,
                len: bytes,
            },
            s if s > 1 && s < 2 + p.dirty => Call::Overwrite {
                name: TABLE,
                at: self.page(rng::hash(&[self.seed, thread, transaction, s])),
                len: p.page.0,
            },
            _ => Call::Sync,
        }
    }
}

impl Workload for Database {
    const NAME: &'static str = "mysql";
    const ABOUT: &'static str = "the files of a database on pmfs: redo log, doublewrite buffer, pages (WHISPER)";
    const SMALL: &'static [(&'static str, &'static str)] = &[
        ("rows", "9"),
        ("page", "128B"),
        ("pool", "1024B"),
        ("log", "192B"),
        ("redo", "72B"),
        ("binlog", "40B"),
        ("dirty", "2"),
        ("block", "64B"),
        ("journal", "16"),
    ];
    type Params = MysqlParams;

    fn new(params: MysqlParams, settings: &Settings) -> Result<Database, String> {
        let p = &params;
        let words = [("page", p.page), ("log", p.log), ("redo", p.redo), ("binlog", p.binlog)];
        whole_words(&words, p.block)?;
        let (seed, threads) = (settings.seed, u64::from(settings.threads));
        Ok(Database { params, seed, threads })
    }
    fn shape(&self) -> Shape {
        let p = &self.params;
        Shape {
            names: FILES,
            names_per_dir: FILES,
            block: p.block.0,
            journal: p.journal,
            largest: (p.dirty * p.page.0).max(p.redo.0).max(p.binlog.0),
            inodes: 0,
            blocks: 0,
        }
    }
    fn planted(&self, name: u64) -> Option<u64> {
        let p = &self.params;
        Some(match name {
            TABLE => self.pages() * p.page.0,
            LOG => p.log.0,
            DOUBLEWRITE => self.threads * p.dirty * p.page.0,
            _ => 0,
        })
    }
    fn call(&self, thread: u32, k: u32) -> Call {
        let (transaction, step) = (u64::from(k) / self.calls(), u64::from(k) % self.calls());
        match step.checked_sub(self.reads()) {
            Some(step) => self.write(u64::from(thread), transaction, step),
            None => Call::Read {
                name: TABLE,
                at: self.page(rng::hash(&[self.seed, u64::from(thread), u64::from(k), 1])),
                most: self.params.page.0,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    /// The default table does not fit the pool: 94 of a hundred cold pages are read, and a quarter of 18 are cold.
    #[test]
    fn a_transaction_has_the_calls_of_its_rules() {
        let w = Database::new(MysqlParams::default(), &Settings::default()).expect("sizes that fit");
        assert_eq!((w.pages(), w.reads()), (134_278, 4));
        let calls: Vec<Call> = (0..w.calls() as u32).map(|k| w.call(0, k)).collect();
        let of = |wanted: fn(&Call) -> bool| calls.iter().filter(|c| wanted(c)).count();
        assert_eq!(of(|c| matches!(c, Call::Read { .. })), 4);
        assert_eq!(of(|c| matches!(c, Call::Overwrite { name: TABLE, .. })), 3);
        assert_eq!(of(|c| matches!(c, Call::Sync)), 3);
        assert_eq!(of(|c| matches!(c, Call::Append { .. })), 0);
    }
    /// Transactions write their log one behind the other, whoever commits.
    #[test]
    fn each_transaction_has_its_own_place_in_the_log() {
        let settings = Settings {
            threads: 3,
            ..Settings::default()
        };
        let w = Database::new(MysqlParams::default(), &settings).expect("sizes that fit");
        let place = |transaction, thread| match w.write(thread, transaction, 0) {
            Call::Overwrite { name: LOG, at, .. } => at / w.params.redo.0,
            call => panic!("{call:?}"),
        };
        let places = (0..4).flat_map(|transaction| (0..3).map(move |thread| (transaction, thread)));
        let places: Vec<u64> = places.map(|(transaction, thread)| place(transaction, thread)).collect();
        assert_eq!(places, (0..12).collect::<Vec<_>>());
    }

    fn database(threads: u32, params: MysqlParams) -> Database {
        let settings = Settings {
            threads,
            ..Settings::default()
        };
        Database::new(params, &settings).expect("sizes that fit")
    }
    /// A quarter of 18 pages are cold, and those of them are read that the pool does not hold, rounded to the nearest.
    #[test]
    fn a_pool_saves_reads() {
        // A hundred pages of rows of 220 bytes.
        let reads = |kept: u64| {
            let params = MysqlParams {
                rows: 7447,
                pool: Bytes(kept * 16_384),
                ..MysqlParams::default()
            };
            let w = database(1, params);
            assert_eq!(w.pages(), 100);
            w.reads()
        };
        for (kept, cold) in [
            (0, 4.5f64),
            (1, 4.455),
            (50, 2.25),
            (60, 1.8),
            (85, 0.675),
            (99, 0.045),
            (100, 0.0),
            (200, 0.0),
        ] {
            assert_eq!(reads(kept), (cold + 0.5) as u64, "{kept} of 100 pages in the pool");
        }
    }
    /// All calls of a transaction in order, with and without a binary log.
    #[test]
    fn a_transaction_reads_logs_and_writes_back() {
        for (binlog, dirty) in [(0, 3), (40, 2), (40, 1)] {
            let params = MysqlParams {
                binlog: Bytes(binlog),
                dirty,
                ..MysqlParams::default()
            };
            let w = database(3, params);
            let (page, redo, calls) = (16_384, 8192, w.calls() as u32);
            for (transaction, thread) in [(0, 0), (5, 2), (7, 1)] {
                let mut made = (0..calls).map(|n| w.call(thread, transaction * calls + n));
                for _ in 0..w.reads() {
                    let Some(Call::Read { name: TABLE, at, most }) = made.next() else {
                        panic!("a read")
                    };
                    assert!(at % page == 0 && at < w.pages() * page && most == page);
                }
                let at = (u64::from(transaction) * 3 + u64::from(thread)) * redo;
                assert_eq!(
                    made.next(),
                    Some(Call::Overwrite {
                        name: LOG,
                        at,
                        len: redo
                    })
                );
                assert_eq!(made.next(), Some(Call::Sync));
                if binlog > 0 {
                    assert_eq!(
                        made.next(),
                        Some(Call::Append {
                            name: BINLOG,
                            len: binlog
                        })
                    );
                    assert_eq!(made.next(), Some(Call::Sync));
                }
                let (at, len) = (u64::from(thread) * dirty * page, dirty * page);
                assert_eq!(
                    made.next(),
                    Some(Call::Overwrite {
                        name: DOUBLEWRITE,
                        at,
                        len
                    })
                );
                assert_eq!(made.next(), Some(Call::Sync));
                for _ in 0..dirty {
                    let Some(Call::Overwrite { name: TABLE, at, len }) = made.next() else {
                        panic!("a page")
                    };
                    assert!(at % page == 0 && at < w.pages() * page && len == page);
                }
                assert_eq!((made.next(), made.next()), (Some(Call::Sync), None));
            }
        }
    }
    /// Pages are drawn from the whole table, and each call for itself; the log is a circle.
    #[test]
    fn pages_are_drawn_from_the_whole_table() {
        let params = MysqlParams {
            rows: 500,
            page: Bytes(4400),
            pool: Bytes(0),
            log: Bytes(8192 * 5),
            ..MysqlParams::default()
        };
        let w = database(2, params);
        assert_eq!(w.pages(), 25);
        let (mut read, mut written, mut logged) = ([0u32; 25], [0u32; 25], std::collections::BTreeSet::new());
        for k in 0..20_000 {
            match w.call(1, k) {
                Call::Read { at, .. } => read[(at / 4400) as usize] += 1,
                Call::Overwrite { name: TABLE, at, .. } => written[(at / 4400) as usize] += 1,
                Call::Overwrite { name: LOG, at, .. } => drop(logged.insert(at / 8192)),
                _ => {}
            }
        }
        for drawn in [read, written] {
            let mean = drawn.iter().sum::<u32>() / 25;
            assert!(drawn.iter().all(|n| n.abs_diff(mean) < mean / 3), "{drawn:?}");
        }
        assert_eq!(logged.len(), 5);
    }
    /// Table, log and a doublewrite buffer of each thread's pages are there; no write is longer than the largest.
    #[test]
    fn files_hold_what_is_written_in_place() {
        for (dirty, redo, binlog) in [(3, 8192, 0), (1, 1 << 16, 40), (1, 8, 1 << 16)] {
            let params = MysqlParams {
                dirty,
                redo: Bytes(redo),
                binlog: Bytes(binlog),
                ..MysqlParams::default()
            };
            let w = database(4, params);
            let planted = [TABLE, LOG, DOUBLEWRITE, BINLOG].map(|f| w.planted(f));
            let (page, log) = (16_384, 96 << 20);
            assert_eq!(planted, [w.pages() * page, log, 4 * dirty * page, 0].map(Some));
            let shape = w.shape();
            let largest = [dirty * page, redo, binlog].into_iter().max();
            assert_eq!((shape.names, shape.names_per_dir, Some(shape.largest)), (4, 4, largest));
        }
    }
}
