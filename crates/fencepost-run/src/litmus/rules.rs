//! Why an allowed state is never shown: the rule of the machine that forbids it, found by switching rules off.

use super::run::Prepared;
use super::{Refused, Sweep, configurations};
use crate::config::Resolved;
use fencepost_designs::DesignInfo;
use fencepost_kernel::fault;
use fencepost_litmus::Program;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A state and the rule without which it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// The crash state: values of the persistent words in alphabetical order.
    pub state: Vec<u64>,
    /// The planted fault that breaks the rule.
    pub fault: String,
    /// The rule.
    pub breaks: &'static str,
}

/// A way to break one rule.
struct Switch {
    fault: String,
    breaks: &'static str,
    configurations: Vec<Resolved>,
}

/// Switches one rule after the other off and looks which of `wanted` crash states are shown then: those of the design first, then
/// every one that the runs reach. Only builds with faults can break them all; others know those that are a parameter.
///
/// # Errors
/// Why the test cannot run.
pub fn switched_off(
    program: &Program<'_>,
    info: &'static DesignInfo,
    sweep: &Sweep,
    mut wanted: BTreeSet<Vec<u64>>,
) -> Result<Vec<Rule>, Refused> {
    let prepared = Prepared::new(program);
    let mut found = Vec::new();
    for switch in switches(&prepared, info, sweep)? {
        if wanted.is_empty() {
            break;
        }
        let (shown, _) = fault::with(&switch.fault, || {
            let mut shown = BTreeSet::new();
            for seed in 0..sweep.seeds {
                let n = seed % switch.configurations.len() as u64;
                // With a rule broken a run may break others, or get stuck: that is not what is asked here.
                if let Ok(ran) = prepared.run(&switch.configurations[n as usize], seed) {
                    shown.extend(ran.crash_states);
                }
            }
            shown
        });
        for state in wanted.intersection(&shown).cloned().collect::<Vec<_>>() {
            wanted.remove(&state);
            found.push(Rule {
                state,
                fault: switch.fault.clone(),
                breaks: switch.breaks,
            });
        }
    }
    Ok(found)
}

fn switches(prepared: &Prepared<'_>, info: &'static DesignInfo, sweep: &Sweep) -> Result<Vec<Switch>, Refused> {
    let mut by_name: BTreeMap<String, Switch> = BTreeMap::new();
    for fault in info.faults {
        let mut sweep = sweep.clone();
        let values = fault.values.iter().map(|(k, v)| format!("design.{k}={v}"));
        sweep.sets.extend(values);
        if let Ok(configurations) = configurations(info, &sweep) {
            by_name.insert(
                fault.name.to_owned(),
                Switch {
                    fault: fault.name.to_owned(),
                    breaks: fault.breaks,
                    configurations,
                },
            );
        }
    }
    let plain = configurations(info, sweep)?;
    let (_, reached) = fault::rules_asked(|| {
        for (seed, resolved) in plain.iter().enumerate() {
            let _ = prepared.run(resolved, seed as u64);
        }
    });
    let mut list: Vec<Switch> = by_name.into_values().collect();
    for (name, breaks) in reached {
        if !list.iter().any(|s| s.fault == name) {
            list.push(Switch {
                fault: name.to_owned(),
                breaks,
                configurations: plain.clone(),
            });
        }
    }
    Ok(list)
}
