//! How often named decisions were taken, and planted lines reached.

use std::cell::RefCell;
use std::collections::BTreeMap;

/// How often a decision was not taken, and how often it was. A planted line counts as taken when it is reached.
pub type Sides = [u64; 2];

/// Counts by name.
pub(super) type Counts = BTreeMap<&'static str, Sides>;

thread_local! {
    static COUNTED: RefCell<Option<Counts>> = const { RefCell::new(None) };
}

/// The names of all decisions of the workspace, sorted. `xtask generate` writes the list from the sources.
pub fn decisions() -> impl Iterator<Item = &'static str> {
    include_str!("decisions.txt").lines()
}

/// Counts one, if this thread counts.
#[cold]
pub(super) fn count(name: &'static str, taken: bool) {
    COUNTED.with_borrow_mut(|all| {
        if let Some(all) = all {
            all.entry(name).or_default()[usize::from(taken)] += 1;
        }
    });
}

/// Puts other counts in the place of this thread's, which it returns.
pub(super) fn exchange(counts: Option<Counts>) -> Option<Counts> {
    COUNTED.with_borrow_mut(|all| std::mem::replace(all, counts))
}
