//! Where the time of a run went.

use fencepost_machine::{RunReport, ThreadReport};

/// Busy time and stalls add up to the finish time of every thread. An in-order core that ends with a store is charged for it
/// up to its retirement only, so that the sum may stay below.
pub(crate) fn accounts(r: &RunReport, in_order: bool) -> Result<(), String> {
    let wrong = |h: &&ThreadReport| {
        let (sum, took) = (h.account.total(), h.finished.saturating_sub(h.started));
        sum > took || (sum < took && !in_order)
    };
    match r.hw_threads.iter().find(wrong) {
        None => Ok(()),
        Some(h) => Err(format!(
            "busy time and stalls are {}, the thread took {}",
            h.account.total(),
            h.finished
        )),
    }
}
