//! The same programs natively and on the simulated machine, side by side, and what explains where their gains differ.

use super::micro::{Sequence, simulated};
use super::runs::{NativeRequest, native, refused};
use fencepost_native::Times;
use fencepost_run::request::Request;
use fencepost_run::run::run;
use fencepost_run::{BadInput, LabError};
use serde::Serialize;

/// Operations simulated per thread: the simulated machine has no noise.
const SIMULATED: u32 = 2000;
/// Stores of the sequence that stands beside the programs.
const STORES: f64 = 16.0;
/// Gains that are closer than this need no explanation.
pub const CLOSE: f64 = 0.25;

/// With and without the fences between log and data, on one of the two.
#[derive(Copy, Clone, Debug, Serialize)]
pub struct Compared {
    /// Nanoseconds per operation of a thread, with them.
    pub baseline_ns: f64,
    /// Without them.
    pub ideal_ns: f64,
    /// The first over the second.
    pub gain: f64,
    /// Their difference for each fence that was left out.
    pub fence_ns: f64,
}
impl Compared {
    fn of(baseline_ns: f64, ideal_ns: f64, fences: f64) -> Compared {
        Compared {
            baseline_ns,
            ideal_ns,
            gain: baseline_ns / ideal_ns,
            fence_ns: (baseline_ns - ideal_ns) / fences,
        }
    }
    /// Of batches on a real CPU: the medians. Batches of a program differ (a hundred operations of redis may all read), so that the
    /// fastest with fences and the fastest without need not have done the same.
    fn of_batches(baseline: Times, ideal: Times, fences: f64) -> Compared {
        Compared::of(baseline.median, ideal.median, fences)
    }
}

/// A program, or a sequence, on both.
#[derive(Clone, Debug, Serialize)]
pub struct SideBySide {
    /// Program.
    pub program: String,
    /// Fences per operation that `ideal` leaves out, counted natively.
    pub fences: f64,
    /// On this CPU; medians of batches.
    pub native: Compared,
    /// Simulated, designs `x86-adr` and `x86-ideal`.
    pub simulated: Compared,
    /// Gain simulated over gain native, minus 1.
    pub difference: f64,
    /// The same, if a fence took as long simulated as natively and only the rest of an operation differed.
    pub of_the_rest: f64,
    /// The same, if only the time of a fence differed.
    pub of_the_fences: f64,
}
impl SideBySide {
    fn of(program: String, fences: f64, native: Compared, simulated: Compared) -> SideBySide {
        let gain = |fence_ns: f64, ideal_ns: f64| (ideal_ns + fences * fence_ns) / ideal_ns / native.gain - 1.0;
        SideBySide {
            program,
            fences,
            native,
            simulated,
            difference: simulated.gain / native.gain - 1.0,
            of_the_rest: gain(native.fence_ns, simulated.ideal_ns),
            of_the_fences: gain(simulated.fence_ns, native.ideal_ns),
        }
    }
    /// Whether the gains agree.
    pub fn is_close(&self) -> bool {
        self.difference.abs() <= CLOSE
    }
}

/// Several programs on one machine.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Machine that was simulated.
    pub machine: String,
    /// Software threads.
    pub threads: u32,
    /// Each program.
    pub programs: Vec<SideBySide>,
    /// Sixteen stores, each with its record and fence, in a loop without a program: what the machine file alone makes of fences.
    pub logged_stores: SideBySide,
}

/// Runs programs natively and simulated on `machine`, with the same threads, seed, logging runtime and parameters.
pub fn side_by_side(requests: &[NativeRequest], machine: &str) -> Result<Comparison, LabError> {
    let programs = requests.iter().map(|n| program(n, machine)).collect::<Result<_, _>>()?;
    let without = requests.first().map_or(&[][..], |n| &n.without);
    Ok(Comparison {
        machine: machine.into(),
        threads: requests.first().and_then(|n| n.request.threads).unwrap_or(1),
        programs,
        logged_stores: logged_stores(without, machine)?,
    })
}

/// What makes a simulated log that of the implementation that runs natively: records of a list behind calls go through the caches, one for each store.
fn as_natively(r: &Request) -> Vec<String> {
    match r.log.as_deref() {
        Some("library-list") => vec![
            "machine.log_path=caches".into(),
            format!("program.{}.coupling=per-store", r.program),
        ],
        _ => Vec::new(),
    }
}

fn program(n: &NativeRequest, machine: &str) -> Result<SideBySide, LabError> {
    let simulate = |design: &str| {
        let r = run(&Request {
            design: design.into(),
            machine: machine.into(),
            media: None,
            ops: n.request.ops.min(SIMULATED),
            warmup: n.request.warmup.min(SIMULATED / 4),
            sets: [as_natively(&n.request), n.request.sets.clone()].concat(),
            ..n.request.clone()
        })?;
        Ok::<_, LabError>(r.time_ps as f64 / 1e3 * f64::from(r.threads) / r.ops as f64)
    };
    let simulated = (simulate("x86-adr")?, simulate("x86-ideal")?);
    let real = native(n)?;
    let Some(ideal) = real.ideal else {
        let e = BadInput::new(format!("`{}` has no `ideal` to compare", real.log));
        return Err(e.hint("an undo log or ido has").into());
    };
    let fences = real.per_operation.removable_fences;
    let native = Compared::of_batches(real.baseline, ideal, fences);
    let simulated = Compared::of(simulated.0, simulated.1, fences);
    Ok(SideBySide::of(real.program, fences, native, simulated))
}

fn logged_stores(without: &[fencepost_native::FlushWith], machine: &str) -> Result<SideBySide, LabError> {
    let [with, ideal] = fencepost_native::logged_stores(without).map_err(refused)?;
    let native = Compared::of_batches(with, ideal, STORES);
    let on = |fences| simulated(machine, &[], Sequence::Logged(fences));
    let simulated = Compared::of(on(true)?, on(false)?, STORES);
    Ok(SideBySide::of("16 logged stores".into(), STORES, native, simulated))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn one_fast_batch_changes_no_comparison() {
        // Nine batches of 400 with fences and of 200 without; in one of each an operation did nothing.
        let with = Times::of([vec![400.0; 9], vec![3.0]].concat());
        let without = Times::of([vec![200.0; 9], vec![1.0]].concat());
        let compared = Compared::of_batches(with, without, 4.0);
        assert_eq!((compared.gain, compared.fence_ns), (2.0, 50.0));
    }
    #[test]
    fn a_difference_is_told_apart_into_fences_and_the_rest() {
        // Ten fences of 100 ns each over 500 ns of other work.
        let native = Compared::of(1500.0, 500.0, 10.0);
        let with = |fence: f64, rest: f64| {
            let simulated = Compared::of(rest + 10.0 * fence, rest, 10.0);
            let s = SideBySide::of(String::new(), 10.0, native, simulated);
            [s.difference, s.of_the_fences, s.of_the_rest].map(|d| (d * 1000.0).round() / 1000.0)
        };
        assert_eq!(with(100.0, 500.0), [0.0, 0.0, 0.0]);
        // Gain 3 natively. Fences twice as long: 5. The rest twice as long: 2.
        assert_eq!(with(200.0, 500.0), [0.667, 0.667, 0.0]);
        assert_eq!(with(100.0, 1000.0), [-0.333, 0.0, -0.333]);
        // Both twice as long: the same gain.
        assert_eq!(with(200.0, 1000.0), [0.0, 0.667, -0.333]);
    }
}
