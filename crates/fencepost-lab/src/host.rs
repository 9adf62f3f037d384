//! What a run cost on the host.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Host side of a run. Rates are per second of one host core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Wall-clock seconds spent simulating (set-up and checking excluded).
    pub seconds: f64,
    /// Simulated instructions, in millions per second.
    pub minstr_per_s: f64,
    /// Simulated memory operations, in millions per second.
    pub mops_per_s: f64,
    /// Largest resident size of the process so far, in bytes; `None` where the system does not tell.
    pub peak_rss_bytes: Option<u64>,
}
impl Host {
    /// Rates of a simulation that took `elapsed`.
    pub fn new(elapsed: Duration, instructions: u64, memory_ops: u64) -> Host {
        let seconds = elapsed.as_secs_f64().max(1e-9);
        Host {
            seconds,
            minstr_per_s: instructions as f64 / seconds / 1e6,
            mops_per_s: memory_ops as f64 / seconds / 1e6,
            peak_rss_bytes: peak_rss(),
        }
    }
}

/// `VmHWM` of this process in bytes, where `/proc` exists.
pub fn peak_rss() -> Option<u64> {
    parse_peak(&std::fs::read_to_string("/proc/self/status").ok()?)
}
fn parse_peak(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn reads_the_high_water_mark() {
        assert_eq!(
            parse_peak("Name:\tx\nVmHWM:\t  1234 kB\nVmRSS:\t 1 kB\n"),
            Some(1234 * 1024)
        );
        assert_eq!(parse_peak("Name:\tx\n"), None);
    }
}
