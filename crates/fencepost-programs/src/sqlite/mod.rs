//! `sqlite`: the real SQLite, driven as LevelDB's benchmark drives it, on a database whose pages lie in persistent memory.
//!
//! SQLite is the library itself; a file system of ours turns each page that it reads or writes into loads and stores. An operation is
//! one transaction of SQLite, from `BEGIN` to `END`, of `batch` requests: fills in key order, fills at random, overwrites and reads, in
//! declared shares, with keys of 16 digits and values of 100 bytes on pages of 4 KiB. SQLite's journal is off: the transaction
//! runtime, or the hardware, makes the page writes of a transaction atomic and durable. Two more schemes of software are SQLite's own:
//! its rollback journal (`--log sqlite-journal`; `journal_mode=PERSIST`, `synchronous=FULL`) and its write-ahead log (`--log sqlite-wal`),
//! in persistent memory beside the pages. What they write are loads and stores too, and a sync flushes the lines written since the last and
//! orders them as the design does.
//!
//! What is not simulated as memory operations is SQLite's own volatile memory: the page cache of up to 4,096 pages, the parsed schema and
//! prepared statements, one connection a thread. It is instructions between page accesses, which are counted. A connection checks the
//! database's change counter when a transaction begins and drops its cache if another thread has committed; a thread that the hardware
//! rolled back starts with a new connection. One lock stands for SQLite's file lock.
//!
//! The index of the write-ahead log is volatile memory that connections share; it is not simulated either.
//!
//! Recovery is that of the logs, or SQLite's own: it opens the database and rolls a hot journal back, or finds the committed part of the
//! write-ahead log. The audit opens the database, runs `PRAGMA integrity_check` and reads every row.
//!
//! Used by loc (Table II).

mod audit;
mod base;
mod files;
mod pages;
mod recovery;
mod requests;

pub use audit::{SqliteAudit, SqliteModel};
pub use recovery::SqliteRebuild;
pub use requests::{Kind, Request};

use crate::choices::{Scheme, Variant};
use crate::layout::{Footprint, Layout, Locks};
use crate::pool::Pool;
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::small::Small;
use crate::tx::{Runtime, Tx};
pub use base::Sqlite;
use base::SqliteParams;
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{At, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, Val, rng};
use fencepost_sqlite::{Database, Journal, PAGE_BYTES, Session, SqliteError, WalIndexes};
use files::Files;
use pages::{Pages, Plainly};

/// Pages that one request may change: on each level of table and index a page, its two neighbours and a new one; the first page and
/// the list of free ones.
const PAGES_CHANGED: u64 = 2 * 4 * 4 + 2;
const SERVED: u8 = 1;

impl Described for Sqlite {
    const NAME: &'static str = "sqlite";
    const ABOUT: &'static str = "SQLite itself on pages in persistent memory: fills, overwrites and reads of a table";
    const SCHEMES: &'static [Scheme] = Scheme::SQLITE;
    const OWN_VARIANTS: &'static [Variant] =
        &[Variant::NonAtomicUpdate, Variant::SemanticMistake, Variant::MissingSync];
    const SMALL: &'static [(&'static str, &'static str)] = &[("rows", "24"), ("checkpoint", "8")];

    fn fields() -> Vec<Field> {
        SqliteParams::fields()
    }
    fn build(s: &Settings) -> Result<Sqlite, ProgramError> {
        let params: SqliteParams = read_params::<Sqlite, _>(s)?;
        if params.fill + params.random + params.overwrite > 100 {
            return Err(impossible::<Sqlite>("fill, random and overwrite exceed 100"));
        }
        let requests = u64::from(s.threads) * u64::from(s.ops) * u64::from(params.batch);
        if params.rows + requests >= 1 << 32 {
            return Err(impossible::<Sqlite>(
                "rows and requests reach 4294967296, beyond which values would repeat",
            ));
        }
        // Rows fill their pages half at least; the index holds keys.
        let bytes = (2 * params.rows + requests) * 2 * (u64::from(params.value) + 96);
        let pages = 16 + bytes.div_ceil(PAGE_BYTES);
        let changed = (u64::from(params.batch) * PAGES_CHANGED).min(pages);
        let mut layout = Layout::default();
        let files = Files::new(&mut layout, pages, journal_bytes(s.scheme, &params, changed));
        let pool = Pool::new(&mut layout, s.threads, 64, 0);
        let rt = Runtime::new(&mut layout, s, params.coupling, changed * PAGE_BYTES / 8, pool);
        let locks = Locks::new(&mut layout, 1);
        let index = (s.scheme == Scheme::SqliteWal).then(|| layout.dram(8));
        Ok(Sqlite {
            rt,
            seed: s.seed,
            threads: s.threads,
            params,
            files,
            index,
            indexes: WalIndexes::default(),
            locks,
            footprint: layout.footprint(),
        })
    }
}

/// Room for a rollback journal of so many pages, and for a write-ahead log at its largest: each page with its header, and those of the
/// file. The write-ahead log is switched on under a rollback journal.
fn journal_bytes(scheme: Scheme, params: &SqliteParams, changed: u64) -> (u64, u64) {
    let framed = PAGE_BYTES + 64;
    let log = (u64::from(params.checkpoint) + 2 * changed) * framed;
    if scheme == Scheme::SqliteJournal {
        ((changed + 2) * framed, 0)
    } else if scheme == Scheme::SqliteWal {
        (4 * framed, log + framed)
    } else {
        (0, 0)
    }
}

impl Sqlite {
    fn value_bytes(&self) -> usize {
        self.params.value as usize
    }
    /// The value that a row has before the run.
    fn planted(key: u64) -> u64 {
        key + 1
    }
    fn request(&self, thread: u32, k: u32, sub: u32) -> Request {
        let h = |salt| rng::hash(&[self.seed, u64::from(thread), u64::from(k), u64::from(sub), salt]);
        let below = |x: u64, n: u64| ((u128::from(x) * u128::from(n)) >> 64) as u64;
        let p = &self.params;
        let serial = u64::from(k) * u64::from(p.batch) + u64::from(sub);
        let drawn = below(h(0), 100) as u32;
        let (kind, key) = if drawn < p.fill {
            // Beyond the keys that are drawn at random, ascending in each thread.
            (
                Kind::Fill,
                2 * p.rows + serial * u64::from(self.threads) + u64::from(thread),
            )
        } else if drawn < p.fill + p.random {
            (Kind::Random, below(h(1), 2 * p.rows))
        } else if drawn < p.fill + p.random + p.overwrite {
            (Kind::Overwrite, below(h(1), p.rows))
        } else {
            (Kind::Read, below(h(1), 2 * p.rows))
        };
        let value = (u64::from(thread) + 1) << 32 | (serial + 1);
        Request { kind, key, value }
    }
    /// The requests of an operation; what each has read (0: nothing).
    fn serve(&self, s: &mut Session<'_>, wanted: &[Request], torn: bool, wrong: bool) -> Result<u64, SqliteError> {
        let len = self.value_bytes();
        let mut read = 0;
        requests::begin(s)?;
        for (i, r) in wanted.iter().enumerate() {
            // The mistakes: half of an update, and a row under another key.
            let value = if torn && i + 1 == wanted.len() {
                r.value | 1 << 63
            } else {
                r.value
            };
            let key = if wrong { r.key + 1 } else { r.key };
            match r.kind {
                Kind::Read => read = rng::mix(read ^ rng::mix(requests::get(s, r.key, len)?)),
                _ => requests::put(s, key, value, len)?,
            }
        }
        requests::end(s)?;
        Ok(read)
    }
    /// The operation's transaction on the thread's connection; a digest of what it read.
    fn transact<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        db: &mut Option<Database>,
        (thread, k): (u32, u32),
        wanted: &[Request],
    ) -> Result<u64, Rollback> {
        let parts = 1 + u32::from(self.rt.slip::<M>(Variant::NonAtomicUpdate));
        let mut read = 0;
        for part in 0..parts {
            let mut tx = self.rt.begin_part(pm, thread, k, part)?;
            let wrong = k % 4 == 1 && tx.slip(Variant::SemanticMistake);
            let connection = match db {
                Some(connection) => connection,
                None => db.insert(self.connect(&mut tx)),
            };
            let number = rng::hash(&[self.seed, u64::from(thread), u64::from(k), u64::from(part)]);
            let mut pages = Pages::new(&self.files, &mut tx, number);
            match connection.with(&mut pages, |s| self.serve(s, wanted, part + 1 < parts, wrong)) {
                Ok(digest) => read = digest,
                // The hardware gave the transaction up while it ran: what SQLite saw was no state of the database.
                Err(_) if tx.may_roll_back() => *db = None,
                Err(why) => refused(&why),
            }
            tx.commit();
        }
        Ok(read)
    }
    /// A connection of the thread, which keeps a journal of its own where the scheme says so and software logs.
    fn connect<M: Mem>(&self, tx: &mut Tx<'_, '_, M>) -> Database {
        if !tx.by_hand() {
            return Database::new(Journal::Off);
        }
        let mut shared = Default::default();
        if let Some(at) = self.index.map(At::new) {
            let known = tx.pm.m.load(at).v;
            let (number, index) = self.indexes.find(known);
            if number != known {
                tx.pm.m.store(at, Val::lit(number));
            }
            shared = index;
        }
        let connection = Database::new(self.journal(shared));
        if tx.slip(Variant::MissingSync) {
            return connection.without_syncs();
        }
        connection
    }
    /// The database before the run, made by SQLite.
    fn plant(&self, s: &mut Session<'_>) -> Result<(), SqliteError> {
        requests::create(s)?;
        requests::begin(s)?;
        for key in 0..self.params.rows {
            requests::put(s, key, Self::planted(key), self.value_bytes())?;
        }
        requests::end(s)
    }
}

#[cold]
#[inline(never)]
fn refused(why: &SqliteError) -> ! {
    panic!("{why}")
}

impl Program for Sqlite {
    type Input = Small<Request, 4>;
    type Audit = SqliteAudit;
    type Model = SqliteModel;
    type Rebuild = SqliteRebuild;

    fn footprint(&self) -> Footprint {
        self.footprint
    }

    fn setup<M: Mem>(&self, m: &mut M) {
        let mut access = Plainly(m);
        let mut pages = Pages::new(&self.files, &mut access, u64::MAX);
        if let Err(why) = Database::new(Journal::Off).with(&mut pages, |s| self.plant(s)) {
            refused(&why);
        }
    }
    fn resident(&self) -> Vec<Span> {
        // A page holds its rows and their keys once more; those in use lie in front.
        vec![self.files.span((2 + self.params.rows / 16) * PAGE_BYTES)]
    }
    fn ranges(&self, thread: u32) -> Vec<Span> {
        self.rt.ranges(thread, self.files.spans(self.resident()[0].len))
    }
    fn input(&self, thread: u32, k: u32) -> Small<Request, 4> {
        let mut all = Small::new(Request::default());
        (0..self.params.batch).for_each(|sub| all.push(self.request(thread, k, sub)));
        all
    }
    fn op<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        thread: u32,
        k: u32,
        input: &Small<Request, 4>,
    ) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        let lock = self.locks.of(0);
        pm.lock(lock);
        let mut db = pm.private.take::<Database>();
        let result = self.transact(pm, &mut db, (thread, k), input.as_slice());
        if let Some(db) = db {
            pm.private.keep(db);
        }
        pm.unlock(lock);
        pm.m.compute(sites::EPILOGUE);
        Ok(Outcome {
            kind: SERVED,
            words: [result?, 0, 0],
        })
    }
    fn rebuild_start(&self) -> SqliteRebuild {
        self.first_rebuild()
    }
    fn rebuild<M: Mem<Dep = ()>>(&self, m: &mut M, state: SqliteRebuild) -> Flow<SqliteRebuild> {
        self.rebuild_step(m, state)
    }
    fn model(&self, ops: &[OpRecord]) -> SqliteModel {
        self.digest(ops)
    }
    fn audit_start(&self, model: &SqliteModel, crash: &CrashPoint) -> SqliteAudit {
        SqliteAudit::start(model, crash)
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &SqliteModel, m: &mut M, state: SqliteAudit) -> Flow<SqliteAudit> {
        Flow::Done(self.judge(model, m, state))
    }
}

#[cfg(test)]
mod tests;
