//! Memory as a program's setup leaves it, kept for the next runs of the same program on this thread: designs and machines differ between the
//! runs of an experiment, the hundreds of megabytes that a program begins with do not. Threads keep their own (pages are shared within a
//! thread only), within one bound for all of them.

use crate::config::Resolved;
use crate::error::LabError;
use fencepost_harness::AnyProgram;
use fencepost_kernel::Image;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of persistent memory of the programs whose images the threads of a process keep, together. An image takes about as much of the
/// host.
const KEPT: u64 = 2 << 30;

/// Bytes that all threads keep.
static HELD: AtomicU64 = AtomicU64::new(0);

/// A part of a bound, given back when it is dropped.
struct Share<'a> {
    held: &'a AtomicU64,
    bytes: u64,
}
impl<'a> Share<'a> {
    /// So much of what is left below `bound`, if it is.
    fn take(held: &'a AtomicU64, bytes: u64, bound: u64) -> Option<Share<'a>> {
        let more = |held: u64| held.checked_add(bytes).filter(|sum| *sum <= bound);
        held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Share { held, bytes })
    }
}
impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// An image, by everything that it depends on; the one used last stands last.
struct Kept {
    program: String,
    image: Image,
    _share: Share<'static>,
}

thread_local! {
    static IMAGES: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// Memory before the first operation of a run; `bytes` of it are persistent.
pub(super) fn initial(resolved: &Resolved, program: &dyn AnyProgram, bytes: u64) -> Result<Image, LabError> {
    let name = format!("{} {:?}", resolved.program_word(), resolved.program);
    IMAGES.with_borrow_mut(|all| {
        if let Some(at) = all.iter().position(|k| k.program == name) {
            let kept = all.remove(at);
            let image = kept.image.clone();
            all.push(kept);
            return Ok(image);
        }
        let share = make_room(all, || Share::take(&HELD, bytes, KEPT));
        let image = program.initial().map_err(|e| LabError::Internal(e.to_string()))?;
        if let Some(share) = share {
            all.push(Kept {
                program: name,
                image: image.clone(),
                _share: share,
            });
        }
        Ok(image)
    })
}

/// Drops what was used longest ago until `take` succeeds, or nothing is left to drop.
fn make_room<K, S>(kept: &mut Vec<K>, take: impl Fn() -> Option<S>) -> Option<S> {
    loop {
        match take() {
            None if !kept.is_empty() => drop(kept.remove(0)),
            taken => return taken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_together_stay_within_the_bound() {
        static HELD: AtomicU64 = AtomicU64::new(0);
        let held = || HELD.load(Ordering::Relaxed);
        let take = |bytes| Share::take(&HELD, bytes, 100);
        let mut mine = vec![take(40).unwrap(), take(30).unwrap()];
        let theirs = take(30).unwrap();
        assert_eq!(held(), 100);
        // One more of mine: my oldest goes, what another thread keeps stays.
        let third = make_room(&mut mine, || take(20)).unwrap();
        mine.push(third);
        assert_eq!((held(), mine.len()), (80, 2));
        // Too much even without all of mine: it is not kept.
        assert!(make_room(&mut mine, || take(71)).is_none());
        assert_eq!((held(), mine.len()), (30, 0));
        drop(theirs);
        assert_eq!(held(), 0);
        assert!(take(u64::MAX).is_none() && take(101).is_none());
    }
}
