//! What a cycle asks of its events: thread, location, value.

use super::cycle::{Cycle, Edge};
use super::edge::{Com, Direction, Link};

/// One access.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Access {
    /// What it does.
    pub direction: Direction,
    /// Location by number.
    pub location: usize,
    /// What it writes or, in the cycle, reads.
    pub value: u64,
    /// What stands between it and the next access of its thread.
    pub link: Option<Link>,
}

/// A cycle's events by thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// By thread, in program order.
    pub threads: Vec<Vec<Access>>,
    /// What recovery reads: locations and values.
    pub recovery: Vec<(usize, u64)>,
    /// Final values of locations with more than one write.
    pub last: Vec<(usize, u64)>,
    /// Number of locations.
    pub locations: usize,
}

impl Plan {
    /// The plan of a cycle; `None` if its writes to a location would need an observer (more than two).
    pub(super) fn new(cycle: &Cycle) -> Option<Plan> {
        let n = cycle.0.len();
        let locations = cycle.0.iter().filter(|(_, e)| !matches!(e, Edge::Com(_))).count();
        // Locations change with program order; the cycle begins behind a communication, so that the chain of its last location
        // ends at its first event, which therefore has the location of the event before it.
        let mut location = vec![0; n];
        for i in 1..n {
            let moved = !matches!(cycle.0[i - 1].1, Edge::Com(_));
            location[i] = (location[i - 1] + usize::from(moved)) % locations;
        }
        let values = values(cycle, &location, locations)?;
        let mut plan = Plan {
            threads: Vec::new(),
            recovery: Vec::new(),
            last: Vec::new(),
            locations,
        };
        let mut thread: Vec<Access> = Vec::new();
        let mut recovering = false;
        for i in 0..n {
            let (direction, edge) = cycle.0[i];
            let link = match edge {
                Edge::Program(link) => Some(link),
                _ => None,
            };
            recovering |= edge == Edge::Recovery;
            thread.push(Access {
                direction,
                location: location[i],
                value: values[i],
                link,
            });
            if matches!(edge, Edge::Com(_)) {
                let accesses = std::mem::take(&mut thread);
                if std::mem::take(&mut recovering) {
                    plan.recovery = accesses.iter().map(|a| (a.location, a.value)).collect();
                } else {
                    plan.threads.push(accesses);
                }
            }
        }
        for l in 0..locations {
            let writes = (0..n).filter(|i| location[*i] == l && cycle.0[*i].0 == Direction::W);
            let writes: Vec<u64> = writes.map(|i| values[i]).collect();
            if writes.len() > 1 {
                plan.last.push((l, writes.into_iter().max()?));
            }
        }
        Some(plan)
    }
}

/// The value of each event: writes of a location count up along its chain, a read has its source's.
fn values(cycle: &Cycle, location: &[usize], locations: usize) -> Option<Vec<u64>> {
    let n = cycle.0.len();
    let mut values = vec![0; n];
    for l in 0..locations {
        // The chain begins where program order enters the location.
        let entered = |i: &usize| location[*i] == l && !matches!(cycle.0[(*i + n - 1) % n].1, Edge::Com(_));
        let start = (0..n).find(entered)?;
        let (mut at, mut newest) = (start, 0);
        loop {
            let before = cycle.0[(at + n - 1) % n].1;
            if cycle.0[at].0 == Direction::W {
                newest += 1;
            }
            // A read at the head of the chain is overwritten by the next write: it reads what was there before.
            values[at] = newest;
            if at != start && before == Edge::Com(Com::Rfe) {
                values[at] = values[(at + n - 1) % n];
            }
            if newest > 2 {
                return None;
            }
            if !matches!(cycle.0[at].1, Edge::Com(_)) {
                break;
            }
            at = (at + 1) % n;
        }
    }
    Some(values)
}
