//! The measured stretch: short batches of both variants in turn, on pinned threads.

use super::choice::{BASELINE, IDEAL, Pair, WithPair};
use super::memory::Raw;
use super::pinned::{Meeting, on_threads, pin};
use crate::report::Times;
use fencepost_kernel::{Addr, Mem, Pm, Program, resident, run_batch};
use std::hint::black_box;
use std::time::Instant;

/// What is run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Software threads.
    pub threads: u32,
    /// Operations of a batch.
    pub batch: u32,
    /// Rounds that are not measured, then rounds that are. A round is one batch of each variant.
    pub rounds: [u32; 2],
    /// Whether the variants differ; else only the baseline runs.
    pub paired: bool,
}
impl Plan {
    /// Operations that each thread runs in all.
    pub fn total(&self) -> u32 {
        self.rounds.iter().sum::<u32>() * self.batch * if self.paired { 2 } else { 1 }
    }
}

/// Nanoseconds of the batches of a round, the slowest thread's: baseline, ideal.
pub type Round = [f64; 2];

/// Times a program on memory that is mapped and set up.
pub struct Timed<'a> {
    /// What is run.
    pub plan: &'a Plan,
    /// The memory.
    pub raw: Raw,
    /// Processors to run on.
    pub cpus: &'a [usize],
}

impl WithPair for Timed<'_> {
    type Out = Vec<Round>;

    fn with<P: Program, Q: Pair>(self, program: &P) -> Vec<Round> {
        let meeting = Meeting::new(self.plan.threads);
        let (plan, raw, cpus) = (self.plan, self.raw, self.cpus);
        let one = |t: u32| {
            // A clone of its own, so that no thread reads a line that another one writes.
            let program = program.clone();
            pin(cpus, t);
            warm(&program, raw, t, plan.threads);
            rounds::<P, Q>(&program, raw, plan, t, &meeting)
        };
        let times = on_threads(plan.threads, &one);
        let rounds = times[0].len();
        let slowest = |r: usize, v: usize| times.iter().map(|t| t[r][v]).fold(0.0, f64::max);
        (0..rounds).map(|r| [slowest(r, 0), slowest(r, 1)]).collect()
    }
}

/// Reads the thread's share of the data that stays in a cache, the hottest last.
fn warm<P: Program>(program: &P, raw: Raw, thread: u32, threads: u32) {
    for line in resident(&program.resident(), 64 << 20, thread, threads) {
        black_box(raw.load(Addr(line.0 * 64), fencepost_kernel::Width::B8));
    }
}

fn rounds<P: Program, Q: Pair>(program: &P, raw: Raw, plan: &Plan, t: u32, meeting: &Meeting) -> Vec<Round> {
    let (mut baseline, mut ideal) = Q::memories(raw);
    let mut baseline = Pm::new(&mut baseline, BASELINE);
    let mut ideal = Pm::new(&mut ideal, IDEAL);
    let mut out = Vec::with_capacity(plan.rounds[1] as usize);
    let (mut k, mut meetings) = (0, 0);
    for round in 0..plan.rounds[0] + plan.rounds[1] {
        let mut times = [0.0; 2];
        // The variant that runs first changes from round to round.
        for variant in [round % 2, 1 - round % 2] {
            if variant == 1 && !plan.paired {
                continue;
            }
            let inputs: Vec<P::Input> = (k..k + plan.batch).map(|k| program.input(t, k)).collect();
            meetings += 1;
            meeting.wait(meetings);
            times[variant as usize] = match variant {
                0 => batch(program, &mut baseline, t, k, &inputs),
                _ => batch(program, &mut ideal, t, k, &inputs),
            };
            k += plan.batch;
        }
        if round >= plan.rounds[0] {
            out.push(times);
        }
    }
    out
}

/// One batch, in nanoseconds.
#[inline(never)]
fn batch<P: Program, M: Mem<Dep = ()>>(program: &P, pm: &mut Pm<'_, M>, t: u32, from: u32, inputs: &[P::Input]) -> f64 {
    let begun = Instant::now();
    run_batch(program, pm, t, from, inputs);
    begun.elapsed().as_nanos() as f64
}

/// Minimum and median of one variant's batches, per operation.
pub fn times(rounds: &[Round], variant: usize, batch: u32) -> Times {
    let mut all: Vec<f64> = rounds.iter().map(|r| r[variant] / f64::from(batch)).collect();
    Times {
        min: all.iter().copied().fold(f64::INFINITY, f64::min),
        median: median(&mut all),
    }
}
/// The middle value; 0 of none.
pub fn median(all: &mut [f64]) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn minimum_and_median_are_per_operation() {
        let rounds = [[300.0, 90.0], [100.0, 30.0], [200.0, 60.0]];
        assert_eq!(times(&rounds, 0, 100), Times { min: 1.0, median: 2.0 });
        assert_eq!(times(&rounds, 1, 10), Times { min: 3.0, median: 6.0 });
    }
    #[test]
    fn a_plan_counts_both_variants() {
        let plan = |paired| Plan {
            threads: 2,
            batch: 100,
            rounds: [2, 8],
            paired,
        };
        assert_eq!((plan(true).total(), plan(false).total()), (2000, 1000));
    }
}
