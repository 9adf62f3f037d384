//! The battery: what must hold of every design, derived from what its entry in the registry declares.
//!
//! For each design: random programs on random small machines keep its contract, lose nothing and, where it says so, reorder
//! ([`random`]); its faults are convicted and so is a memory on which it cannot keep its promise ([`faults`]); every program of
//! the registry recovers on every machine and medium ([`product`]); and what it declares is complete ([`declared`]). Nothing
//! here names a design. The test suite runs a [sample](Extent::sample) in which every design meets every program, every
//! machine and every medium; `cargo run -p xtask -- battery --full` runs the whole product. [`net`] goes on from there for as long as it is
//! given: programs in the sizes of users, and random programs that are steered to what no run has decided yet.

pub mod blocks;
pub mod command;
pub mod commands;
pub mod declared;
pub mod faults;
mod found;
mod issued;
pub mod net;
pub mod planted;
pub mod product;
pub mod random;
mod remote;

use fencepost_designs::{DesignInfo, Environment};
pub use found::{DesignVerdict, Extent, Found, Part, heading};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Pieces into which the random programs of a design are cut, so that several workers share them.
const SHARES: u64 = 4;

/// Runs the battery of every design of a list on all cores of the host. `parts` picks what is run.
pub fn run(designs: &'static [DesignInfo], extent: Extent, parts: &[Part]) -> Vec<DesignVerdict> {
    let shares = |part: Part| if part == Part::Random { SHARES } else { 1 };
    let jobs: Vec<(usize, Part, u64)> = (0..designs.len())
        .flat_map(|d| parts.iter().flat_map(move |p| (0..shares(*p)).map(move |s| (d, *p, s))))
        .collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((*job, part(designs, job.0, job.1, job.2, extent)));
        }
        done
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let done: Vec<((usize, Part, u64), Found)> = thread::scope(|s| {
        let threads: Vec<_> = (0..workers).map(|_| s.spawn(work)).collect();
        let joined = threads
            .into_iter()
            .map(|t| t.join().expect("panics are caught within a part"));
        joined.flatten().collect()
    });
    let verdict = |d: usize| DesignVerdict {
        design: designs[d].name,
        parts: parts.iter().map(|p| (*p, collect(&designs[d], *p, d, &done))).collect(),
    };
    (0..designs.len()).map(verdict).collect()
}

/// The shares of one part together.
fn collect(info: &DesignInfo, part: Part, d: usize, done: &[((usize, Part, u64), Found)]) -> Found {
    let mut found = Found::default();
    let mine = done.iter().filter(|((design, p, _), _)| (*design, *p) == (d, part));
    mine.for_each(|(_, f)| found.add(f.clone()));
    if part == Part::Random && found.runs > 0 && found.wrong.is_empty() {
        if info.promise.reorders && found.reordered == 0 {
            found.wrong.push("declares that it reorders and never did".into());
        }
        if info.promise.honours.transactions && found.aborted == 0 {
            found.wrong.push("no transaction was ever rolled back".into());
        }
        let honours = &info.promise.honours;
        let dialects = Environment::ALL.into_iter().map(info.dialect);
        let untried = found.issued.untried(honours);
        let undeclared = found.issued.undeclared(honours, dialects);
        (found.wrong).extend(
            untried
                .into_iter()
                .map(|n| format!("honours {n}, and no random program issued it")),
        );
        (found.wrong).extend(
            undeclared
                .into_iter()
                .map(|n| format!("a random program issued {n}, which it does not honour")),
        );
    }
    found
}

fn part(designs: &'static [DesignInfo], d: usize, part: Part, share: u64, extent: Extent) -> Found {
    let info = &designs[d];
    let run = || match part {
        Part::Declared => declared::check(info),
        Part::Random => random::conformance(info, (share..extent.programs).step_by(SHARES as usize)),
        Part::SameSeed => random::same_seed(info),
        Part::Smallest => random::smallest(info, extent.programs / 20),
        Part::Unsound => faults::unsound(info, extent.patience),
        Part::Faults => faults::convicted(info, extent.patience),
        Part::Programs => product::check(info, d, extent),
    };
    let panicked = |e: Box<dyn std::any::Any + Send>| {
        let text = e.downcast_ref::<String>().cloned();
        let text = text.or_else(|| e.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        Found::wrong(format!("{}: panicked: {}", part.name(), text.unwrap_or_default()))
    };
    std::panic::catch_unwind(run).unwrap_or_else(panicked)
}
