//! The measured stretch: short batches of both variants in turn, on pinned threads.

use super::choice::{Pair, WithPair, dialects};
use super::memory::Raw;
use super::pinned::{Meeting, on_threads, pin};
use super::sample::Switches;
use crate::native_report::Times;
use fencepost_kernel::{Addr, Mem, Mode, Pm, Program, Span, resident, run_batch};
use std::hint::black_box;
use std::time::Instant;

/// What is run.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Software threads.
    pub threads: u32,
    /// Operations of a batch.
    pub batch: u32,
    /// Rounds that are not measured, then rounds that are. A round is one batch of each variant.
    pub rounds: [u32; 2],
    /// How the program logs.
    pub mode: Mode,
    /// Whether the variants differ; else only the baseline runs.
    pub paired: bool,
}
impl Plan {
    /// Operations that each thread runs in all.
    pub(super) fn total(&self) -> u32 {
        self.rounds.iter().sum::<u32>() * self.batch * if self.paired { 2 } else { 1 }
    }
}

/// Nanoseconds of the batches of a round, the slowest thread's.
#[derive(Copy, Clone, Debug)]
pub(super) struct Round {
    /// Baseline, ideal.
    pub ns: [f64; 2],
    /// Whether some thread was switched out meanwhile.
    pub disturbed: bool,
}

/// Times a program on memory that is mapped and set up.
pub(super) struct Timed<'a> {
    /// What is run.
    pub plan: &'a Plan,
    /// The memory.
    pub raw: Raw,
    /// Processors to run on.
    pub cpus: &'a [usize],
}

/// What is compiled for every program and way of logging: the measured stretch, and as little else as possible.
trait Batches {
    /// Makes the inputs of the operations from `from` on.
    fn prepare(&mut self, from: u32, ops: u32);
    /// Runs them on the baseline, or on the ideal; nanoseconds.
    fn run(&mut self, variant: usize) -> f64;
}

/// A program for one thread, with and without the fences between log and data.
struct Two<'a, 'm, P: Program, M: Mem> {
    program: &'a P,
    thread: u32,
    from: u32,
    inputs: Vec<P::Input>,
    baseline: Pm<'m, M>,
    ideal: Pm<'m, M>,
}
impl<P: Program, M: Mem<Dep = ()>> Batches for Two<'_, '_, P, M> {
    fn prepare(&mut self, from: u32, ops: u32) {
        self.from = from;
        inputs(self.program, self.thread, (from, ops), &mut self.inputs);
    }
    fn run(&mut self, variant: usize) -> f64 {
        let (t, from) = (self.thread, self.from);
        let pm = match variant {
            0 => &mut self.baseline,
            _ => &mut self.ideal,
        };
        batch(self.program, pm, t, from, &self.inputs)
    }
}

fn inputs<P: Program>(program: &P, thread: u32, (from, ops): (u32, u32), into: &mut Vec<P::Input>) {
    into.clear();
    for k in from..from + ops {
        into.push(program.input(thread, k));
    }
}

impl WithPair for Timed<'_> {
    type Out = Vec<Round>;

    fn with<P: Program, Q: Pair>(self, program: &P) -> Vec<Round> {
        let raw = self.raw;
        let [fenced, unfenced] = dialects(self.plan.mode);
        self.all(&program.resident(), &|thread, rounds| {
            // A clone of its own, so that no thread reads a line that another one writes.
            let program = program.clone();
            let (mut baseline, mut ideal) = (Q::memory(raw, true), Q::memory(raw, false));
            rounds(&mut Two {
                program: &program,
                thread,
                from: 0,
                inputs: Vec::new(),
                baseline: Pm::new(&mut baseline, fenced),
                ideal: Pm::new(&mut ideal, unfenced),
            });
        })
    }
}

/// Gives what a thread runs to somebody who runs it.
type OfThread<'a> = &'a (dyn Fn(u32, &mut dyn FnMut(&mut dyn Batches)) + Sync);

impl Timed<'_> {
    /// All threads, each pinned; the slowest counts.
    fn all(&self, resident: &[Span], of_thread: OfThread<'_>) -> Vec<Round> {
        let meeting = Meeting::new(self.plan.threads);
        let one = |t: u32| {
            pin(self.cpus, t);
            self.warm(resident, t);
            let mut out = Vec::new();
            of_thread(t, &mut |batches| out = rounds(self.plan, &meeting, batches));
            out
        };
        let times = on_threads(self.plan.threads, &one);
        let rounds = times[0].len();
        let slowest = |r: usize, v: usize| times.iter().map(|t| t[r].ns[v]).fold(0.0, f64::max);
        let round = |r: usize| Round {
            ns: [slowest(r, 0), slowest(r, 1)],
            disturbed: times.iter().any(|t| t[r].disturbed),
        };
        (0..rounds).map(round).collect()
    }
    /// Reads the thread's share of the data that stays in a cache, the hottest last.
    fn warm(&self, spans: &[Span], thread: u32) {
        for line in resident(spans, 64 << 20, thread, self.plan.threads) {
            black_box(self.raw.load(Addr(line.0 * 64), fencepost_kernel::Width::B8));
        }
    }
}

fn rounds(plan: &Plan, meeting: &Meeting, batches: &mut dyn Batches) -> Vec<Round> {
    let mut out = Vec::with_capacity(plan.rounds[1] as usize);
    let (mut k, mut meetings, switches) = (0, 0, Switches::new());
    for round in 0..plan.rounds[0] + plan.rounds[1] {
        let (mut times, mut disturbed) = ([0.0; 2], false);
        // The variant that runs first changes from round to round.
        for variant in [round % 2, 1 - round % 2] {
            if variant == 1 && !plan.paired {
                continue;
            }
            batches.prepare(k, plan.batch);
            meetings += 1;
            meeting.wait(meetings);
            let before = switches.count();
            times[variant as usize] = batches.run(variant as usize);
            disturbed |= switches.count() != before;
            k += plan.batch;
        }
        if round >= plan.rounds[0] {
            out.push(Round { ns: times, disturbed });
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
pub(super) fn times(rounds: &[Round], variant: usize, batch: u32) -> Times {
    Times::of(rounds.iter().map(|r| r.ns[variant] / f64::from(batch)).collect())
}
/// The rounds in which every thread ran all the time; all, if there are fewer than `least` of them.
pub(super) fn undisturbed(rounds: &[Round], least: usize) -> Vec<Round> {
    let kept: Vec<Round> = rounds.iter().copied().filter(|r| !r.disturbed).collect();
    if kept.len() < least { rounds.to_vec() } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn minimum_and_median_are_per_operation() {
        let rounds = [[300.0, 90.0], [100.0, 30.0], [200.0, 60.0]].map(|ns| Round { ns, disturbed: false });
        assert_eq!(times(&rounds, 0, 100), Times { min: 1.0, median: 2.0 });
        assert_eq!(times(&rounds, 1, 10), Times { min: 3.0, median: 6.0 });
    }
    #[test]
    fn rounds_of_threads_that_were_switched_out_count_only_where_too_few_are_left() {
        let rounds = [10.0, 20.0, 30.0].map(|ns| Round {
            ns: [ns; 2],
            disturbed: ns < 15.0,
        });
        let kept = |least| undisturbed(&rounds, least).len();
        assert_eq!([kept(1), kept(2), kept(3)], [2, 2, 3]);
    }
    #[test]
    fn a_plan_counts_both_variants() {
        let plan = |paired| Plan {
            threads: 2,
            batch: 100,
            rounds: [2, 8],
            mode: Mode::Raw,
            paired,
        };
        assert_eq!((plan(true).total(), plan(false).total()), (2000, 1000));
    }
}
