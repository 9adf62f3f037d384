//! Versions of words by committed transactions: after which of them the newest version of every word is recoverable.

use crate::graph::Write;
use fencepost_kernel::{Addr, StoreId};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The versions that committed transactions wrote. Each costs what it covers when it becomes recoverable; no transaction is read twice.
#[derive(Debug)]
pub(super) struct Versions {
    /// Stores that are recoverable, whatever became of their transactions.
    pub(super) held: Vec<bool>,
    /// Transactions known to be recoverable, from the first on.
    pub(super) prefix: usize,
    /// After each committed transaction, how many words have a newest version that is not recoverable. Not kept before `prefix`.
    lacking: Vec<u32>,
    /// The transactions after which a store is the newest version of its word.
    newest_after: Vec<Range<usize>>,
    newest: FxHashMap<Addr, Option<StoreId>>,
}

impl Versions {
    /// Nothing is committed and none of so many stores recoverable.
    pub(super) fn of(stores: usize) -> Versions {
        Versions {
            held: vec![false; stores],
            prefix: 0,
            lacking: Vec::new(),
            newest_after: vec![0..0; stores],
            newest: FxHashMap::default(),
        }
    }
    /// The next transaction commits.
    pub(super) fn commit(&mut self, writes: &[Write]) {
        let at = self.lacking.len();
        let mut lacking = self.lacking.last().copied().unwrap_or_default();
        for w in writes {
            if let Some(older) = self.newest.insert(w.at, w.store) {
                lacking -= u32::from(!self.is_held(older));
                if let Some(older) = older {
                    self.newest_after[older.index()].end = at;
                }
            }
            lacking += u32::from(!self.is_held(w.store));
            if let Some(store) = w.store {
                self.newest_after[store.index()] = at..usize::MAX;
            }
        }
        self.lacking.push(lacking);
    }
    /// A store is recoverable; whether it was not before.
    pub(super) fn hold(&mut self, store: StoreId) -> bool {
        if std::mem::replace(&mut self.held[store.index()], true) {
            return false;
        }
        let after = &self.newest_after[store.index()];
        let end = after.end.min(self.lacking.len());
        for lacking in self
            .lacking
            .get_mut(after.start.max(self.prefix)..end)
            .into_iter()
            .flatten()
        {
            *lacking -= 1;
        }
        true
    }
    /// Whether transactions 1..k are recoverable: whether nothing is lacking after some j >= k of them.
    pub(super) fn recover(&mut self, k: usize) -> bool {
        while self.prefix < k {
            let next = self.lacking[self.prefix..].iter().position(|n| *n == 0);
            let Some(next) = next else { return false };
            self.prefix += next + 1;
        }
        true
    }
    fn is_held(&self, store: Option<StoreId>) -> bool {
        store.is_some_and(|s| self.held[s.index()])
    }
}
