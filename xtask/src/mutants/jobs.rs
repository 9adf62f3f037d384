//! Work that is done some at a time.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Does a piece of work for each of a list, some at a time, up to the first that fails.
pub(super) fn each(
    list: &[usize],
    jobs: usize,
    work: impl Fn(usize) -> Result<(), String> + Sync,
) -> Result<(), String> {
    let next = AtomicUsize::new(0);
    let worker = || {
        while let Some(i) = list.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(*i)?;
        }
        Ok(())
    };
    std::thread::scope(|s| {
        let threads: Vec<_> = (0..jobs.max(1)).map(|_| s.spawn(worker)).collect();
        threads
            .into_iter()
            .try_for_each(|t| t.join().expect("no panic in a worker"))
    })
}
