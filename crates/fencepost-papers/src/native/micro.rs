//! The sequences that a calibration measures, on the simulated machine.

use super::runs::DESIGN;
use fencepost_kernel::{Addr, At, Fence, Flush, Image, Mem, Val};
use fencepost_machine::{Machine, ThreadBody, Workload};
use fencepost_run::LabError;
use fencepost_run::config::Resolved;
use fencepost_run::request::Request;
use fencepost_run::simulate::build_design;

/// A sequence that is repeated.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Sequence {
    /// Store, clwb, sfence on one line.
    Pair,
    /// Non-temporal store, sfence.
    NonTemporal,
    /// A transaction that changes every word of two lines under an undo log past the caches, with or without the fences between them.
    Logged(bool),
    /// A load that depends on the one before and misses every cache.
    Load,
}

/// Repetitions of the shorter and of the longer run, whose difference counts.
const FEW: u64 = 100;
const MANY: u64 = 300;
/// Distance of the lines loaded: rows of their own, sets spread.
const STRIDE: u64 = (8 << 10) + 64;

fn body(sequence: Sequence, times: u64) -> ThreadBody {
    Box::new(move |m| {
        let word = At::new(Addr::pm(4096));
        let mut next = At::new(Addr::pm(4096));
        for i in 0..times {
            match sequence {
                Sequence::Pair => {
                    m.store(word, Val::lit(i));
                    m.flush(word, Flush::Clwb);
                    m.fence(Fence::Sfence);
                }
                Sequence::NonTemporal => {
                    m.nt_store(word, Val::lit(i));
                    m.fence(Fence::Sfence);
                }
                Sequence::Logged(fences) => logged(m, i, fences),
                Sequence::Load => {
                    let zero = m.load(next);
                    next = zero.map(|v| v + Addr::pm(4096 + (i + 1) * STRIDE).0).ptr();
                }
            }
        }
    })
}

/// As the calibration executes it.
fn logged<M: Mem>(m: &mut M, i: u64, fences: bool) {
    let at = |offset: u64| At::new(Addr::pm(4096 + offset));
    let (log, line) = (1 << 20, |n: u64| (2 * i + n) % 16 * 64);
    for word in 0..16 {
        (0..3).for_each(|w| m.nt_store(at(log + 64 + word * 32 + w * 8), Val::lit(i)));
        if fences {
            m.fence(Fence::Sfence);
        }
        m.store(at(line(word / 8) + word % 8 * 8), Val::lit(i));
    }
    (0..2).for_each(|n| m.flush(at(line(n)), Flush::Clwb));
    m.fence(Fence::Sfence);
    m.nt_store(at(log), Val::lit(i));
    m.fence(Fence::Sfence);
}

/// Nanoseconds of one repetition on a machine, with settings besides.
pub(super) fn simulated(machine: &str, sets: &[String], sequence: Sequence) -> Result<f64, LabError> {
    let resolved = Resolved::resolve(&Request {
        program: "cq".into(),
        design: DESIGN.into(),
        machine: machine.into(),
        threads: Some(1),
        sets: sets.to_vec(),
        ..Request::default()
    })?;
    let time = |times: u64| {
        let work = Workload {
            initial: Image::default(),
            threads: vec![body(sequence, times)],
            sites: Vec::new().into(),
            resident: Default::default(),
            warm_up: 0,
            record: false,
        };
        let machine = Machine::new(&resolved.machine.spec, build_design(&resolved)?, work);
        let report = machine.and_then(Machine::run);
        report
            .map(|r| r.time.as_ns())
            .map_err(|e| LabError::Internal(e.to_string()))
    };
    Ok((time(MANY)? - time(FEW)?) / (MANY - FEW) as f64)
}
