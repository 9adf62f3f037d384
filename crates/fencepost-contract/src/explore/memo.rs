//! Which continuations are known to end well, by recovery's state and the view of the words they read.

use super::known::Known;
use fencepost_kernel::planted;
use fencepost_kernel::rng::mix;
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::Hash;
use std::rc::Rc;

/// More kept results than this and the table starts afresh, to bound memory (about 200 bytes each).
const MOST_KEPT: usize = 4_000_000;

/// Results with the same words read.
struct Group {
    /// Fingerprint of the set of words.
    set: u128,
    words: Rc<[u32]>,
    clean: FxHashSet<u128>,
}

/// States of recovery whose continuations were all explored and found clean.
///
/// The words a continuation reads are learnt by exploring it. Given an equal state, the first word it reads is the
/// same; if the view of that word is equal too, so is what happens next, and so on: equal views of all of them mean
/// equal continuations, whatever the failure point. Hence one table serves every failure point of an execution,
/// provided that the state holds all that depends on the failure point.
pub(super) struct Memo<K> {
    groups: FxHashMap<K, Vec<Group>>,
    kept: usize,
}
impl<K: Eq + Hash> Memo<K> {
    pub(super) fn new() -> Memo<K> {
        Memo {
            groups: FxHashMap::default(),
            kept: 0,
        }
    }
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.groups.clear();
        self.kept = 0;
    }
    /// The words read by the continuations of an equal state with equal views, if they are known to be clean.
    pub(super) fn find(&self, key: &K, known: &Known) -> Option<Rc<[u32]>> {
        let group = self.groups.get(key)?.iter().find(|g| {
            g.clean.contains(&known.view(&g.words))
                || planted!(
                    "explorer.merge-ignores-memory",
                    "states merge only where what they read looks the same"
                )
        })?;
        Some(Rc::clone(&group.words))
    }
    /// Remembers that every continuation is clean and reads `words`, each of them once.
    pub(super) fn keep(&mut self, key: K, known: &Known, words: &[u32]) {
        if self.kept >= MOST_KEPT {
            self.clear();
        }
        self.kept += 1;
        let set = fingerprint(words);
        let groups = self.groups.entry(key).or_default();
        match groups.iter_mut().find(|g| g.set == set) {
            Some(group) => {
                group.clean.insert(known.view(words));
            }
            None => groups.push(Group {
                set,
                words: words.into(),
                clean: FxHashSet::from_iter([known.view(words)]),
            }),
        }
    }
}

/// A fingerprint of a set that does not depend on the order of its elements: lists of thousands of words need no sorting.
fn fingerprint(words: &[u32]) -> u128 {
    let halves = |w: &u32| u128::from(mix(u64::from(*w))) << 64 | u128::from(mix(!u64::from(*w)));
    words.iter().map(halves).fold(0, u128::wrapping_add)
}
