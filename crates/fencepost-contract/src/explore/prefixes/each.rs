//! Every crash point by itself, whatever the ones before it gave.

use super::{BrokenPrefix, PrefixCheck, PrefixReport, Recovered};
use crate::explore::log_points::{candidates, is_chosen};
use crate::explore::on_image::{AnyOracle, Walk};
use fencepost_kernel::{Image, PersistLog, Trace};
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::time::Instant;

impl PrefixCheck<'_> {
    /// Recovery after each of the chosen crash points: how many durable events precede it, and how it breaks, if it does. Power
    /// does not fail again meanwhile.
    pub fn each<R: Into<Recovered>>(
        &self,
        mut hardware: impl FnMut(&Image) -> R,
        mut then: impl FnMut(u64, Option<BrokenPrefix>),
    ) {
        let (total, mut candidate) = (candidates(self.log), 0);
        let _ = self.walk(|point| {
            candidate += 1;
            if is_chosen(candidate, total, self.budget) {
                let left: Recovered = hardware(point.image).into();
                let (verdict, _) = self.recover(left.memory(point.image), point, false, Walk::Changed);
                let other = || left.others.iter().find_map(|o| self.other_breaks(o, point));
                let why = verdict.err().or_else(other);
                then(point.records as u64, why.map(|why| self.broken(point, why, None)));
            }
            match self.until.is_some_and(|t| Instant::now() >= t) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
    }
}

/// [`PrefixCheck`] with a budget and nothing else: power does not fail during recovery.
///
/// # Panics
/// Never: without an exploration there is nothing that could fail.
pub fn check_prefixes<R: Into<Recovered>>(
    oracle: &dyn AnyOracle,
    initial: &Image,
    trace: &Trace,
    log: &PersistLog,
    budget: NonZeroU64,
    hardware: impl FnMut(&Image) -> R,
) -> PrefixReport {
    let check = PrefixCheck::new(oracle, initial, trace, log).budget(budget);
    check.run(hardware).expect("nothing is explored")
}
