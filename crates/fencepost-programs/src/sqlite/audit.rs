//! The oracle of `sqlite`, and its audit: SQLite opens the recovered database, checks it and reads every row.

use super::base::Sqlite;
use super::pages::{Pages, Plainly};
use super::requests::{self, Kind};
use crate::oracle::{Builder, Cut, History};
use fencepost_kernel::{CrashPoint, Mem, OpRecord, Program, Violation, rng};
use fencepost_sqlite::Database;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of the crash point: the audit is one step, of which nothing outlives it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SqliteAudit {
    cut: Cut,
}

/// What the oracle knows of a run: a register per key, the name of its value (0: no row).
#[derive(Clone, Debug)]
pub struct SqliteModel {
    history: History,
}

impl SqliteAudit {
    pub(super) fn start(model: &SqliteModel, crash: &CrashPoint) -> SqliteAudit {
        SqliteAudit {
            cut: model.history.cut(crash),
        }
    }
}

impl Sqlite {
    /// Replays the operations in the order in which they had the lock.
    pub(super) fn digest(&self, ops: &[OpRecord]) -> SqliteModel {
        let mut b = Builder::new(ops);
        let mut table: BTreeMap<u64, u64> = (0..self.params.rows).map(|key| (key, Self::planted(key))).collect();
        table.iter().for_each(|(key, value)| b.initial(*key, *value));
        let (mut explained, mut before) = (true, None);
        for o in ops {
            let mut read = 0;
            let requests = self.input(o.thread, o.k);
            for r in requests.as_slice() {
                if r.kind == Kind::Read {
                    read = rng::mix(read ^ rng::mix(table.get(&r.key).copied().unwrap_or(0)));
                } else {
                    table.insert(r.key, r.value);
                    b.write(r.key, (o.thread, o.k), r.value);
                }
            }
            if let Some(before) = before.replace((o.thread, o.k)) {
                b.depends(before, (o.thread, o.k));
            }
            explained &= read == o.outcome.words[0];
        }
        let why = "what the operations read is not what the lock's order of them leaves";
        SqliteModel {
            history: b.build_if(explained, why),
        }
    }
    fn violation(&self, why: impl Into<String>) -> Violation {
        Violation::at(self.files.base(), why)
    }
    /// The whole audit.
    pub(super) fn judge<M: Mem<Dep = ()>>(
        &self,
        model: &SqliteModel,
        m: &mut M,
        state: SqliteAudit,
    ) -> Result<(), Violation> {
        if let Some(why) = model.history.fault() {
            let why = why.into();
            return Err(Violation { why, at: None });
        }
        let mut access = Plainly(m);
        let mut pages = Pages::new(&self.files, &mut access, u64::MAX);
        let len = self.value_bytes();
        let opened =
            Database::new(self.journal(Arc::default())).with(&mut pages, |s| Ok((s.faults()?, requests::all(s, len)?)));
        let (faults, rows) = opened.map_err(|why| self.violation(format!("the database does not open: {why}")))?;
        if let Some(fault) = faults.first() {
            return Err(self.violation(format!("SQLite's integrity check: {fault}")));
        }
        let mut table = BTreeMap::new();
        for (key, value) in rows {
            if value == u64::MAX || key == u64::MAX {
                return Err(self.violation("a row is torn"));
            }
            if model.history.initial(key).is_none() {
                return Err(self.violation(format!("there is a row of key {key}, which nothing stores")));
            }
            table.insert(key, value);
        }
        let mut cut = state.cut;
        for key in model.history.registers() {
            let value = table.get(&key).copied().unwrap_or(0);
            if model.history.observe(&mut cut, key, value).is_err() {
                let state = if value == 0 { "absent" } else { "there with its value" };
                return Err(self.violation(format!(
                    "the row of key {key} is {state} in no prefix of the operations"
                )));
            }
        }
        Ok(())
    }
}
