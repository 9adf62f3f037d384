//! How long another process may take: time in which it could have run, not time in which other programs had the processor.

use std::process::Child;
use std::time::{Duration, Instant};

/// Waiting for a child process to do something.
pub(super) struct Patience {
    limit: Duration,
    since: Instant,
    statistics: String,
}
impl Patience {
    /// From now on, with a `limit` on the time in which the child was not waiting for a processor.
    pub(super) fn with(child: &Child, limit: Duration) -> Patience {
        Patience {
            limit,
            since: Instant::now(),
            statistics: format!("/proc/{}/schedstat", child.id()),
        }
    }
    /// Whether the child has had its time. Its main thread counts: it prepares what is waited for.
    pub(super) fn is_over(&self) -> bool {
        let elapsed = self.since.elapsed();
        // The file is read only when the time by the clock is over.
        elapsed > self.limit && {
            let statistics = std::fs::read_to_string(&self.statistics).unwrap_or_default();
            elapsed.saturating_sub(waited(&statistics)) > self.limit
        }
    }
}

/// Time that a thread has waited for a processor, by the kernel's scheduling statistics: nanoseconds run, nanoseconds waited,
/// number of turns. Nothing where the kernel keeps none.
fn waited(statistics: &str) -> Duration {
    let field = statistics.split_whitespace().nth(1);
    Duration::from_nanos(field.and_then(|f| f.parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn waits_for_a_processor_do_not_count_and_sleep_does() {
        assert_eq!(waited("1000 2500 7\n"), Duration::from_nanos(2500));
        assert_eq!((waited(""), waited("5")), (Duration::ZERO, Duration::ZERO));
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let (short, long) = (Duration::from_millis(1), Duration::from_secs(1 << 20));
        let [short, long] = [short, long].map(|limit| Patience::with(&child, limit));
        while !short.is_over() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!long.is_over());
        // As if a second had passed by the clock and the child had waited for a processor all that time, and then not.
        let path = super::super::scratch::Scratch::new("schedstat-test");
        for (nanoseconds, over) in [(1_000_000_000_000u64, false), (400_000_000, true)] {
            std::fs::write(path.path(), format!("0 {nanoseconds} 9\n")).unwrap();
            let since = Instant::now().checked_sub(Duration::from_secs(1)).unwrap();
            let limit = Duration::from_millis(500);
            let statistics = path.path().to_str().unwrap().to_owned();
            assert_eq!(
                Patience {
                    limit,
                    since,
                    statistics
                }
                .is_over(),
                over
            );
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
