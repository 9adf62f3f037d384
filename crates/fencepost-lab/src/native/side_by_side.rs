//! The same program natively and on the simulated machine.

use super::runs::{NativeRequest, native};
use crate::error::{BadInput, LabError};
use crate::request::Request;
use crate::run::run;
use serde::Serialize;

/// Operations simulated per thread: the simulated machine has no noise.
const SIMULATED: u32 = 2000;

/// One of the two.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// Nanoseconds per operation of a thread, with the fences between log and data.
    pub baseline_ns: f64,
    /// Without them.
    pub ideal_ns: f64,
    /// The first over the second.
    pub gain: f64,
}
impl Compared {
    fn of(baseline_ns: f64, ideal_ns: f64) -> Compared {
        Compared {
            baseline_ns,
            ideal_ns,
            gain: baseline_ns / ideal_ns,
        }
    }
}

/// Both.
#[derive(Clone, Debug, Serialize)]
pub struct SideBySide {
    /// Program.
    pub program: String,
    /// Machine that was simulated.
    pub machine: String,
    /// Software threads.
    pub threads: u32,
    /// On this CPU; fastest batches.
    pub native: Compared,
    /// Simulated, designs `x86-adr` and `x86-ideal`.
    pub simulated: Compared,
    /// Gain simulated over gain native.
    pub ratio_of_gains: f64,
}

/// Runs a program natively and simulated on `machine`, with the same threads, seed, logging runtime and parameters.
pub fn side_by_side(n: &NativeRequest, machine: &str) -> Result<SideBySide, LabError> {
    let simulate = |design: &str| {
        let r = run(&Request {
            design: design.into(),
            machine: machine.into(),
            media: None,
            ops: n.request.ops.min(SIMULATED),
            warmup: n.request.warmup.min(SIMULATED / 4),
            ..n.request.clone()
        })?;
        Ok::<_, LabError>(r.time_ps as f64 / 1e3 * f64::from(r.threads) / r.ops as f64)
    };
    let simulated = Compared::of(simulate("x86-adr")?, simulate("x86-ideal")?);
    let real = native(n)?;
    let Some(ideal) = real.ideal else {
        let e = BadInput::new(format!("`{}` has no `ideal` to compare", real.log));
        return Err(e.hint("an undo log or ido has").into());
    };
    let native = Compared::of(real.baseline.min, ideal.min);
    Ok(SideBySide {
        program: real.program,
        machine: machine.into(),
        threads: real.threads,
        ratio_of_gains: simulated.gain / native.gain,
        native,
        simulated,
    })
}
