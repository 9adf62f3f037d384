//! Which continuations are known to end well, by the number (or the hash) of recovery's state and the view of the words they read.

use super::known::Known;
use fencepost_kernel::planted;
use fencepost_kernel::rng::mix;
use rustc_hash::{FxHashMap, FxHashSet};
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
pub(super) struct Memo {
    groups: FxHashMap<u64, Vec<Group>>,
    kept: usize,
}
impl Memo {
    pub(super) fn new() -> Memo {
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
    /// Whether it should start afresh.
    pub(super) fn is_full(&self) -> bool {
        self.kept >= MOST_KEPT
    }
    /// The words read by the continuations of an equal state with equal views, if they are known to be clean.
    pub(super) fn find(&self, state: u64, known: &Known) -> Option<Rc<[u32]>> {
        let looks_same = |g: &&Group| {
            g.clean.contains(&known.view(&g.words))
                || planted!(
                    "explorer.merge-ignores-memory",
                    "states merge only where what they read looks the same"
                )
        };
        let group = self.groups.get(&state)?.iter().find(looks_same)?;
        Some(Rc::clone(&group.words))
    }
    /// Remembers that every continuation is clean and reads `words`, each of them once.
    pub(super) fn keep(&mut self, state: u64, known: &Known, words: &[u32]) {
        self.kept += 1;
        let set = fingerprint(words);
        let groups = self.groups.entry(state).or_default();
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
