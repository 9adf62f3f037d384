//! What a run cost on the host.

use cpu_time::ThreadTime;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Time that a simulation took.
#[derive(Copy, Clone, Debug)]
pub struct Spent {
    /// On the clock on the wall.
    pub wall: Duration,
    /// Of the core that ran it.
    pub core: Duration,
}

/// Measures the thread that holds it.
pub struct Stopwatch {
    wall: Instant,
    core: ThreadTime,
}
impl Stopwatch {
    /// Starts now.
    pub fn start() -> Stopwatch {
        Stopwatch {
            wall: Instant::now(),
            core: ThreadTime::now(),
        }
    }
    /// Time since the start.
    pub fn stop(self) -> Spent {
        Spent {
            wall: self.wall.elapsed(),
            core: self.core.elapsed(),
        }
    }
}

/// Host side of a run. Rates are per second of one host core, whatever else the host did meanwhile, and count all that
/// was simulated, warm-up included.
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
    /// Rates of a simulation of so many instructions and memory operations.
    pub fn new(spent: Spent, (instructions, memory_ops): (u64, u64)) -> Host {
        let core = spent.core.as_secs_f64().max(1e-9);
        Host {
            seconds: spent.wall.as_secs_f64(),
            minstr_per_s: instructions as f64 / core / 1e6,
            mops_per_s: memory_ops as f64 / core / 1e6,
            peak_rss_bytes: peak_rss(),
        }
    }
}

/// `VmHWM` of this process in bytes, where `/proc` exists.
pub fn peak_rss() -> Option<u64> {
    kib(&std::fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}
/// Bytes of memory that this process uses, where `/proc` exists.
pub fn resident() -> Option<u64> {
    kib(&std::fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}
/// Bytes of memory that are free on this host or easily become so, where `/proc` exists.
pub fn available_memory() -> Option<u64> {
    kib(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}
/// The value of a line such as `VmHWM:  1234 kB`, in bytes.
fn kib(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(key))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn reads_the_high_water_mark() {
        assert_eq!(
            kib("Name:\tx\nVmHWM:\t  1234 kB\nVmRSS:\t 1 kB\n", "VmHWM:"),
            Some(1234 * 1024)
        );
        assert_eq!(kib("Name:\tx\n", "VmHWM:"), None);
    }
}
