//! A connection, and what is done with it.

use crate::error::SqliteError;
use crate::index::WalIndex;
use crate::statement::Statement;
use crate::store::{PAGE_BYTES, Store};
use crate::vfs::{self, Context};
use libsqlite3_sys as ffi;
use std::ffi::CStr;
use std::ffi::CString;
use std::panic::resume_unwind;
use std::sync::Arc;

/// What makes a transaction's page writes atomic.
#[derive(Clone)]
pub enum Journal {
    /// Whoever calls.
    Off,
    /// SQLite's rollback journal: what pages were, until the journal's header is overwritten (`journal_mode=PERSIST`).
    Rollback,
    /// SQLite's write-ahead log: what pages become (`journal_mode=WAL`). The first connection switches it on, under a rollback journal.
    Wal {
        /// Pages in the log from which on a commit copies them to the database.
        checkpoint: u32,
        /// The log's index, one for all connections.
        index: Arc<WalIndex>,
    },
}
impl Journal {
    /// How a connection is used before anything else: no temporary files, and no page of an unfinished transaction written early.
    fn settings(&self, syncs: bool) -> String {
        let syncs = if syncs { "FULL" } else { "OFF" };
        let journal = match self {
            Journal::Off => "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;".to_owned(),
            Journal::Rollback => format!("PRAGMA journal_mode=PERSIST; PRAGMA synchronous={syncs};"),
            Journal::Wal { checkpoint, .. } => {
                format!("PRAGMA synchronous={syncs}; PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint={checkpoint};")
            }
        };
        format!(
            "PRAGMA page_size=4096; {journal} PRAGMA cache_size=4096; PRAGMA cache_spill=OFF; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0;"
        )
    }
}

/// A connection to a database.
pub struct Database {
    db: *mut ffi::sqlite3,
    journal: Journal,
    syncs: bool,
    context: *mut Context,
    statements: Vec<(&'static CStr, Statement)>,
    set_up: bool,
    /// A call has not returned, or the store has panicked in one: SQLite's state is what it was in the middle of it.
    broken: bool,
}

impl Database {
    /// A connection that has not been opened yet: the first call opens it, which reads the database's header.
    pub fn new(journal: Journal) -> Database {
        vfs::register();
        let index = match &journal {
            Journal::Wal { index, .. } => Arc::clone(index),
            _ => Arc::default(),
        };
        Database {
            db: std::ptr::null_mut(),
            journal,
            syncs: true,
            context: Box::into_raw(Box::new(Context::new(index))),
            statements: Vec::new(),
            set_up: false,
            broken: false,
        }
    }
    /// Never syncs (`synchronous=OFF`): power failures may then corrupt the database.
    pub fn without_syncs(self) -> Database {
        let mut this = self;
        this.syncs = false;
        this
    }
    fn open(&mut self) -> Result<(), SqliteError> {
        let flags = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE | ffi::SQLITE_OPEN_NOMUTEX;
        // SAFETY: the context is the connection's own, and outlives it.
        unsafe {
            let name = (*self.context).file_name();
            let code = ffi::sqlite3_open_v2(name.as_ptr().cast(), &raw mut self.db, flags, vfs::NAME.as_ptr());
            SqliteError::check(self.db, code)?;
            // Whoever closes a connection has no store at hand.
            let off = ffi::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
            let code = ffi::sqlite3_db_config(self.db, off, 1, std::ptr::null_mut::<i32>());
            SqliteError::check(self.db, code)
        }
    }
    /// Works with the database that `store` holds.
    ///
    /// # Panics
    /// With what an access of the store panicked with.
    pub fn with<R>(
        &mut self,
        store: &mut dyn Store,
        work: impl FnOnce(&mut Session<'_>) -> Result<R, SqliteError>,
    ) -> Result<R, SqliteError> {
        assert!(!self.broken, "the connection was left in the middle of a call");
        assert!(self.set_up || self.db.is_null(), "the connection could not be opened");
        self.broken = true;
        let context = self.context;
        let result = Context::with_store(context, store, || {
            if !self.set_up {
                self.open()?;
                let settings = CString::new(self.journal.settings(self.syncs)).unwrap_or_default();
                Session { of: self }.run_all(&settings)?;
                self.set_up = true;
            }
            work(&mut Session { of: self })
        });
        // SAFETY: the context is the connection's own, and no call into SQLite runs.
        if let Some(panic) = unsafe { (*context).panic.take() } {
            resume_unwind(panic);
        }
        self.broken = false;
        result
    }
}

impl Drop for Database {
    /// A connection that was left in the middle of a call is not closed: its memory is lost, which is all that can be done.
    fn drop(&mut self) {
        if self.broken {
            return;
        }
        self.statements.drain(..).for_each(|(_, s)| s.finalize());
        // SAFETY: every statement is finalised; the context was made by `new` and is freed once.
        unsafe {
            ffi::sqlite3_close(self.db);
            drop(Box::from_raw(self.context));
        }
    }
}

/// A connection with its database at hand.
pub struct Session<'a> {
    of: &'a mut Database,
}

impl Session<'_> {
    /// Runs statements that are not kept, and have no result.
    pub fn run_all(&mut self, sql: &CStr) -> Result<(), SqliteError> {
        // SAFETY: an open connection and a C string.
        unsafe {
            let code = ffi::sqlite3_exec(
                self.of.db,
                sql.as_ptr(),
                None,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            );
            SqliteError::check(self.of.db, code)
        }
    }
    /// Runs a statement with these blobs; it is compiled once a connection. `row` is given the columns of each row.
    pub fn run(&mut self, sql: &'static CStr, blobs: &[&[u8]], row: impl FnMut(&[&[u8]])) -> Result<(), SqliteError> {
        let known = self.of.statements.iter().position(|s| s.0 == sql);
        let index = match known {
            Some(index) => index,
            None => {
                // SAFETY: an open connection, which finalises its statements before it is closed.
                let statement = unsafe { Statement::new(self.of.db, sql) }?;
                self.of.statements.push((sql, statement));
                self.of.statements.len() - 1
            }
        };
        // SAFETY: compiled for this connection.
        unsafe { self.of.statements[index].1.run(self.of.db, blobs, row) }
    }
    /// What SQLite finds wrong with the database: every page of it is read.
    pub fn faults(&mut self) -> Result<Vec<String>, SqliteError> {
        let mut found = Vec::new();
        self.run(c"PRAGMA integrity_check", &[], |columns| {
            found.push(String::from_utf8_lossy(columns[0]).into_owned());
        })?;
        found.retain(|line| line != "ok");
        Ok(found)
    }
    /// Pages in use.
    pub fn pages(&mut self) -> Result<u64, SqliteError> {
        let mut pages = 0;
        self.run(c"PRAGMA page_count", &[], |columns| {
            pages = String::from_utf8_lossy(columns[0]).parse().unwrap_or(0);
        })?;
        Ok(pages)
    }
    /// Bytes in use.
    pub fn bytes(&mut self) -> Result<u64, SqliteError> {
        Ok(self.pages()? * PAGE_BYTES)
    }
}
