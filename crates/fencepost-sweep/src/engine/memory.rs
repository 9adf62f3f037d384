//! A bound on memory: no further run is begun while one more of the size of those under way would exceed it.

use fencepost_run::host::{available_memory, resident};
use std::sync::Mutex;
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(20);

/// Three quarters of what the host has left; `None` where the system does not tell.
pub fn default_bound() -> Option<u64> {
    Some(available_memory()? / 4 * 3)
}

/// Counts the runs under way.
pub(super) struct Memory {
    bound: Option<u64>,
    running: Mutex<u64>,
}
impl Memory {
    /// A bound in bytes.
    pub(super) fn new(bound: Option<u64>) -> Memory {
        Memory {
            bound,
            running: Mutex::new(0),
        }
    }
    /// Waits until one more run fits. The first always does.
    pub(super) fn admit(&self, is_over: &dyn Fn() -> bool) -> Admitted<'_> {
        loop {
            let mut running = self.running.lock().unwrap_or_else(|e| e.into_inner());
            if fits(*running, resident(), self.bound) || is_over() {
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

/// Whether one more run of the mean size of those under way stays within the bound.
fn fits(running: u64, resident: Option<u64>, bound: Option<u64>) -> bool {
    let (Some(resident), Some(bound)) = (resident, bound) else {
        return true;
    };
    running == 0 || resident + resident / running <= bound
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn one_more_run_is_begun_where_it_fits() {
        assert!(fits(0, Some(100), Some(1)), "the first always runs");
        assert!(fits(2, Some(100), Some(150)));
        assert!(!fits(2, Some(100), Some(149)));
        assert!(fits(9, None, Some(1)) && fits(9, Some(100), None));
    }
}
