//! A bound on memory: no further run is begun while one more of the size of those under way would exceed it.

use fencepost_run::host::{available_memory, resident};
use std::sync::Mutex;
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(20);

/// What this process uses, and three quarters of what the host has left; `None` where the system does not tell.
pub fn default_bound() -> Option<u64> {
    Some(resident()? + available_memory()? / 4 * 3)
}

/// Counts the runs under way.
pub(super) struct Memory {
    bound: Option<u64>,
    /// What was there before the first of these runs.
    before: u64,
    running: Mutex<u64>,
}
impl Memory {
    /// A bound in bytes.
    pub(super) fn new(bound: Option<u64>) -> Memory {
        Memory {
            bound,
            before: resident().unwrap_or(0),
            running: Mutex::new(0),
        }
    }
    /// Waits until one more run fits. The first always does.
    pub(super) fn admit(&self, is_over: &dyn Fn() -> bool) -> Admitted<'_> {
        loop {
            let mut running = self.running.lock().unwrap_or_else(|e| e.into_inner());
            if fits(*running, (self.before, resident()), self.bound) || is_over() {
                *running += 1;
                return Admitted(self);
            }
            drop(running);
            std::thread::sleep(LOOK);
        }
    }
}

/// A run that is under way.
pub(super) struct Admitted<'a>(&'a Memory);
impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        *self.0.running.lock().unwrap_or_else(|e| e.into_inner()) -= 1;
    }
}

/// Whether one more run of the mean size of those under way, beside what was there before them, stays within the bound.
fn fits(running: u64, (before, now): (u64, Option<u64>), bound: Option<u64>) -> bool {
    let (Some(now), Some(bound)) = (now, bound) else {
        return true;
    };
    running == 0 || now + now.saturating_sub(before) / running <= bound
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn one_more_run_is_begun_where_it_fits() {
        assert!(fits(0, (0, Some(100)), Some(1)), "the first always runs");
        assert!(fits(2, (0, Some(100)), Some(150)));
        assert!(!fits(2, (0, Some(100)), Some(149)));
        // Memory that earlier runs left behind is no measure of the next.
        assert!(fits(1, (80, Some(100)), Some(120)) && !fits(1, (80, Some(100)), Some(119)));
        assert!(fits(9, (0, None), Some(1)) && fits(9, (0, Some(100)), None));
    }
}
