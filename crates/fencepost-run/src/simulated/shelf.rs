//! What runs of the same program have in common, kept for the next of them, by everything that it depends on.

use std::sync::{Arc, Mutex, OnceLock};

/// Entries, at most.
const MOST: usize = 64;

/// Made by the first thread that needs it; the others wait.
pub(super) type Made<T> = Arc<OnceLock<T>>;

struct Kept<T> {
    name: String,
    bytes: u64,
    made: Made<T>,
}

/// What is kept; what was used last stands last.
pub(super) struct Shelf<T>(Vec<Kept<T>>);
impl<T> Shelf<T> {
    /// Nothing is kept.
    pub(super) const fn new() -> Shelf<T> {
        Shelf(Vec::new())
    }
    /// What has this name on a shelf that threads share ([`Shelf::place`]).
    pub(super) fn of(shelf: &Mutex<Shelf<T>>, name: String, bytes: u64, bound: u64) -> Made<T> {
        shelf
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .place(name, bytes, bound)
    }
    /// What has this name, or its place. What was used longest ago makes room; what alone is larger than the bound is not kept.
    fn place(&mut self, name: String, bytes: u64, bound: u64) -> Made<T> {
        let known = self.0.iter().position(|k| k.name == name);
        let kept = match known {
            Some(at) => self.0.remove(at),
            None => Kept {
                name,
                bytes,
                made: Made::default(),
            },
        };
        let made = kept.made.clone();
        if kept.bytes > bound {
            return made;
        }
        self.0.push(kept);
        let held = |all: &[Kept<T>]| all.iter().map(|k| k.bytes).sum::<u64>();
        while held(&self.0) > bound || self.0.len() > MOST {
            self.0.remove(0);
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_is_kept_within_the_bound() {
        let mut shelf = Shelf::<()>::new();
        let mut place = |name: &str, bytes| shelf.place(name.to_owned(), bytes, 100);
        let first = place("a", 40);
        place("b", 30);
        assert!(Arc::ptr_eq(&first, &place("a", 40)), "the same until it makes room");
        // `b` was used longest ago.
        place("c", 50);
        assert!(Arc::ptr_eq(&first, &place("a", 40)));
        // More than the bound: it is not kept, and nothing makes room for it.
        let large = place("d", 101);
        assert!(!Arc::ptr_eq(&large, &place("d", 101)) && Arc::ptr_eq(&first, &place("a", 40)));
        for n in 0..2 * MOST {
            place(&format!("small {n}"), 0);
        }
        assert_eq!(shelf.0.len(), MOST);
    }
}
