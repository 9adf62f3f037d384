//! Recovery of `sqlite`: that of the runtime's logs, or SQLite's own.

use super::base::Sqlite;
use super::pages::{Pages, Syncing};
use crate::choices::Scheme;
use crate::tx::LogStep;
use fencepost_kernel::{Flow, Mem, Violation};
use fencepost_sqlite::{Database, Journal, WalIndex};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Where recovery stands.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum SqliteRebuild {
    /// At a step of the runtime's logs.
    Logs(LogStep),
    /// SQLite opens the database, and with it whatever journal it finds.
    Opens,
}

impl Sqlite {
    /// What SQLite keeps of its own under the scheme, with this index of the write-ahead log.
    pub(super) fn journal(&self, index: Arc<WalIndex>) -> Journal {
        if self.rt.scheme() == Scheme::SqliteJournal {
            Journal::Rollback
        } else if self.rt.scheme() == Scheme::SqliteWal {
            Journal::Wal {
                checkpoint: self.params.checkpoint,
                index,
            }
        } else {
            Journal::Off
        }
    }
    pub(super) fn first_rebuild(&self) -> SqliteRebuild {
        if self.rt.scheme().of_library() {
            SqliteRebuild::Opens
        } else {
            SqliteRebuild::Logs(self.rt.recover_start())
        }
    }
    pub(super) fn rebuild_step<M: Mem<Dep = ()>>(&self, m: &mut M, state: SqliteRebuild) -> Flow<SqliteRebuild> {
        match state {
            SqliteRebuild::Logs(step) => match self.rt.rebuild_without_regions(m, step) {
                Flow::Next(step) => Flow::Next(SqliteRebuild::Logs(step)),
                Flow::Done(verdict) => Flow::Done(verdict),
            },
            SqliteRebuild::Opens => Flow::Done(self.open_again(m)),
        }
    }
    /// The first statement that looks at the database rolls a hot journal back, or reads the write-ahead log.
    fn open_again<M: Mem<Dep = ()>>(&self, m: &mut M) -> Result<(), Violation> {
        let mut access = Syncing {
            m,
            dirty: BTreeSet::new(),
        };
        let mut pages = Pages::new(&self.files, &mut access, u64::MAX);
        let opened = Database::new(self.journal(Arc::default())).with(&mut pages, |s| s.pages());
        let failed = |why| Violation::at(self.files.base(), format!("SQLite's recovery: {why}"));
        opened.map(|_| ()).map_err(failed)
    }
}
