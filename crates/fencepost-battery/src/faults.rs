//! Faults planted in a design are convicted, and so is a memory on which it cannot keep its promise.

use super::found::Found;
use super::product;
use super::random::Case;
use fencepost_designs::info::{Conviction, PlantedFault, Scenario};
use fencepost_designs::{DesignInfo, Environment};
use fencepost_kernel::fault;

/// Every declared fault is convicted.
pub fn convicted(info: &'static DesignInfo, patience: u64) -> Found {
    let mut found = Found::default();
    for f in info.faults {
        found.runs += 1;
        let (convicted, reached) = fault::with(f.name, || is_convicted(info, f, patience));
        match convicted {
            Ok(true) => {}
            // A switch that is not part of this build cannot be tried.
            _ if !fault::ENABLED && !reached && f.values.iter().all(|v| v.0 != "fault") => found.runs -= 1,
            Ok(false) => found
                .wrong
                .push(format!("`{}` is not convicted within {patience} programs", f.name)),
            Err(why) => found.wrong.push(format!("`{}`: {why}", f.name)),
        }
    }
    found
}

fn is_convicted(info: &'static DesignInfo, fault: &PlantedFault, patience: u64) -> Result<bool, String> {
    match fault.scenario {
        Scenario::Program { program, machine, sets } => {
            let mut request = product::request(info, program, machine, None, 1)?;
            request.ops = 40;
            request.sets.extend(sets.iter().map(|s| (*s).to_owned()));
            let values = fault
                .values
                .iter()
                .map(|(name, value)| format!("design.{name}={value}"));
            request.sets.extend(values);
            Ok(product::checked(info, &request)?.violated())
        }
        Scenario::Random => Ok((0..patience).any(|seed| {
            let sound: Vec<Environment> = Environment::ALL.into_iter().filter(|e| (info.sound)(*e)).collect();
            let mut case = Case::in_environment(info, seed, sound[seed as usize % sound.len()]);
            case.set(fault.values);
            // Longer programs: a mistake needs several operations to show.
            case.settings.ops += 4;
            match fault.conviction {
                Conviction::Stuck => case.run().is_err(),
                Conviction::Conformance | Conviction::Recovery => is_wrong(&case),
            }
        })),
    }
}
/// Whether a user's check of this run convicts it.
fn is_wrong(case: &Case) -> bool {
    case.run()
        .is_ok_and(|r| r.broken_rule.is_some() || case.conforms(&r).is_err() || case.recovers(&r).is_err())
}

/// In every environment in which the design cannot keep its promise some random program shows it.
pub fn unsound(info: &'static DesignInfo, patience: u64) -> Found {
    let mut found = Found::default();
    for environment in Environment::ALL.into_iter().filter(|e| !(info.sound)(*e)) {
        found.runs += 1;
        if !(0..patience).any(|seed| is_wrong(&Case::in_environment(info, seed, environment))) {
            found.wrong.push(format!(
                "declared unsound with {environment:?}, and {patience} programs do not show it"
            ));
        }
    }
    found
}
