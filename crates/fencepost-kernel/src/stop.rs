//! Giving up work that somebody asked to stop: a flag for the thread, looked at now and then by whatever may take long, which then
//! unwinds to who set it.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What work that was stopped unwinds with.
#[derive(Debug)]
pub struct Stopped;

thread_local! {
    static FLAG: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Does `work`, which unwinds with [`Stopped`] soon after `flag` is set by another thread.
pub fn with<T>(flag: &Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    struct Before(Option<Arc<AtomicBool>>);
    impl Drop for Before {
        fn drop(&mut self) {
            FLAG.set(self.0.take());
        }
    }
    let _before = Before(FLAG.replace(Some(flag.clone())));
    work()
}

/// The flag of this thread, for others that work for it; a new one where it has none.
pub fn current() -> Arc<AtomicBool> {
    FLAG.with_borrow(|flag| flag.clone().unwrap_or_default())
}

/// Unwinds if this thread was asked to stop. Cheap, but not for every step of a simulation.
pub fn look() {
    let asked = FLAG.with_borrow(|flag| flag.as_ref().is_some_and(|f| f.load(Ordering::Relaxed)));
    if asked {
        resume_unwind(Box::new(Stopped));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;
    #[test]
    fn work_ends_when_it_looks_and_only_where_it_was_asked() {
        let flag = Arc::new(AtomicBool::new(false));
        with(&flag, look);
        flag.store(true, Ordering::Relaxed);
        let ended = catch_unwind(|| with(&flag, look)).unwrap_err();
        assert!(ended.is::<Stopped>());
        look();
    }
}
