//! A test made ready for enumeration: every path of every thread.

use crate::format::test::{Locations, Test};
use crate::paths::path::{self, Domain, Path, PathError};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Why a test cannot be enumerated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// A thread has too many ways through it.
    #[error("thread {0}: {1}")]
    Path(usize, PathError),
    /// More than 64 accesses in all.
    #[error("unsupported: more than 64 accesses")]
    TooManyEvents,
    /// Accesses overlap in part.
    #[error("unsupported: accesses of mixed size to {0}")]
    MixedSize(String),
    /// Tests have no transactions.
    #[error("contract `{0}` orders transactions, and litmus tests have none")]
    NoTransactions(&'static str),
    /// The contract speaks of x86 instructions.
    #[error("contract `{0}` is of x86 tests")]
    OnlyX86(&'static str),
    /// The search was given up.
    #[error("too many candidate executions")]
    TooManyCandidates,
}

/// Values by address, as far as known.
struct Values {
    of: FxHashMap<u64, Vec<u64>>,
    zero: [u64; 1],
}

impl Values {
    fn new(locations: &Locations) -> Values {
        Values {
            of: locations.initial.iter().map(|(a, v)| (*a, vec![*v])).collect(),
            zero: [0],
        }
    }
    fn add(&mut self, address: u64, value: u64) -> bool {
        let values = self.of.entry(address).or_insert_with(|| vec![0]);
        let fresh = !values.contains(&value);
        if fresh {
            values.push(value);
        }
        fresh
    }
}

impl Domain for Values {
    fn values(&self, address: u64) -> &[u64] {
        self.of.get(&address).map_or(&self.zero, |v| v)
    }
}

/// What a path asks of the others, and gives them, as sets of numbered pairs of address and value.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Exchange {
    /// Values read that are no initial values.
    pub needs: u128,
    /// Values written.
    pub gives: u128,
}

/// A test with every path of every thread.
#[derive(Clone, Debug)]
pub struct Program<'t> {
    /// The test.
    pub test: &'t Test,
    /// By thread.
    pub paths: Vec<Vec<Path>>,
    /// By thread and path.
    pub(crate) exchange: Vec<Vec<Exchange>>,
    /// By thread: what the threads from it on may give.
    pub(crate) rest_gives: Vec<u128>,
}

impl<'t> Program<'t> {
    /// Lists the paths of every thread.
    ///
    /// # Errors
    /// If the test is too large or mixes access sizes.
    pub fn new(test: &'t Test) -> Result<Program<'t>, ProgramError> {
        let mut values = Values::new(&test.locations);
        let mut paths = list(test, &values)?;
        // A value is passed on from write to write at most once by each write.
        let writes: usize = paths.iter().map(|p| most_writes(p)).sum();
        for _ in 0..=writes {
            let mut grew = false;
            for event in paths.iter().flatten().flat_map(|p| &p.events).filter(|e| e.is_write()) {
                grew |= values.add(event.addr, event.value);
            }
            if !grew {
                break;
            }
            paths = list(test, &values)?;
        }
        check_sizes(test, &paths)?;
        Ok(Program::of_paths(test, paths))
    }

    /// A test of which only these paths count.
    pub fn of_paths(test: &'t Test, paths: Vec<Vec<Path>>) -> Program<'t> {
        let mut program = Program {
            test,
            paths,
            exchange: Vec::new(),
            rest_gives: Vec::new(),
        };
        program.number_exchanges();
        program
    }

    fn number_exchanges(&mut self) {
        let mut numbers: FxHashMap<(u64, u64), u32> = FxHashMap::default();
        let locations = &self.test.locations;
        let mut bit = |pair: (u64, u64)| {
            let next = numbers.len() as u32;
            let n = *numbers.entry(pair).or_insert(next);
            // What no longer fits is not looked at: fewer paths are left out.
            if n < 128 { 1u128 << n } else { 0 }
        };
        let mut exchange_of = |path: &Path| {
            let mut exchange = Exchange::default();
            for event in &path.events {
                if event.is_write() {
                    exchange.gives |= bit((event.addr, event.value));
                } else if event.is_read() && event.width.cut(locations.initial(event.addr)) != event.value {
                    exchange.needs |= bit((event.addr, event.value));
                }
            }
            exchange
        };
        self.exchange = (self.paths.iter())
            .map(|paths| paths.iter().map(&mut exchange_of).collect())
            .collect();
        let mut rest = vec![0; self.paths.len() + 1];
        for (t, exchanges) in self.exchange.iter().enumerate().rev() {
            rest[t] = rest[t + 1] | exchanges.iter().fold(0, |s, e: &Exchange| s | e.gives);
        }
        self.rest_gives = rest;
    }
}

fn list(test: &Test, values: &Values) -> Result<Vec<Vec<Path>>, ProgramError> {
    let threads = test.threads.iter().enumerate();
    let listed = threads.map(|(t, thread)| {
        path::paths(thread, &test.locations, values).map_err(|e| ProgramError::Path(test.threads[t].id, e))
    });
    listed.collect()
}

fn most_writes(paths: &[Path]) -> usize {
    let writes = |p: &Path| p.events.iter().filter(|e| e.is_write()).count();
    paths.iter().map(writes).max().unwrap_or(0)
}

fn check_sizes(test: &Test, paths: &[Vec<Path>]) -> Result<(), ProgramError> {
    let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
    for event in paths.iter().flatten().flat_map(|p| &p.events) {
        if event.is_read() || event.is_write() {
            let end = ends.entry(event.addr).or_default();
            *end = (*end).max(event.addr + u64::from(event.width.0));
        }
    }
    let neighbours = ends.iter().zip(ends.iter().skip(1));
    for ((_, end), (next, _)) in neighbours {
        if end > next {
            let name = test.locations.name(*next).unwrap_or_default();
            return Err(ProgramError::MixedSize(name));
        }
    }
    let most = |p: &Vec<Path>| p.iter().map(|p| p.events.len()).max().unwrap_or(0);
    if paths.iter().map(most).sum::<usize>() > 64 {
        return Err(ProgramError::TooManyEvents);
    }
    Ok(())
}
