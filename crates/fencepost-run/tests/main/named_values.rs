//! Every named value of a parameter is another one: some run tells it from each other value.

use crate::felt::{NEVER_BY_MACHINE, OF_DESIGNS, on_machines, outcome, request, values};
use fencepost_kernel::params::Field;
use fencepost_run::config::reference;
use fencepost_run::request::Request;
use std::collections::BTreeMap;

/// Parameters whose names mean the same in these runs, and why, beside those that no run feels at all.
const ALIKE: [&str; 2] = [
    // No design declares another execution of fences than at retirement.
    "core.fence_execution",
    // Its records are grouped unless it is told otherwise.
    "program.commitstore.coupling",
];

/// Names that no run of these tells apart. Recovery's own mistakes show where power fails, and are convicted by checks.
fn alike(section: &str, fields: &[Field], trials: &[Request]) -> Vec<String> {
    let mut all = Vec::new();
    let name = |field: &Field| format!("{section}.{}", field.name);
    let excused = |name: &str| ALIKE.contains(&name) || NEVER_BY_MACHINE.contains(&name);
    let named = |f: &&Field| f.kind.starts_with("one of ") && f.name != "fault" && !excused(&name(f));
    for field in fields.iter().filter(named) {
        // What runs have told apart so far.
        let mut groups = vec![values(field)];
        for trial in trials {
            if groups.iter().all(|g| g.len() == 1) {
                break;
            }
            let of = |value: &String| {
                let set = format!("{section}.{}={value}", field.name);
                let sets = trial.sets.iter().cloned().chain([set]).collect();
                outcome(&Request { sets, ..trial.clone() })
            };
            groups = groups.into_iter().flat_map(|group| apart(group, of)).collect();
        }
        let same = groups.into_iter().filter(|values| values.len() > 1);
        all.extend(same.map(|values| format!("{}: {}", name(field), values.join(" "))));
    }
    all
}

/// A group's values by what comes of them.
fn apart(group: Vec<String>, outcome: impl Fn(&String) -> Option<String>) -> Vec<Vec<String>> {
    if group.len() == 1 {
        return vec![group];
    }
    let mut by_outcome: BTreeMap<Option<String>, Vec<String>> = BTreeMap::new();
    group
        .into_iter()
        .for_each(|value| by_outcome.entry(outcome(&value)).or_default().push(value));
    by_outcome.into_values().collect()
}

#[test]
fn named_values_of_a_machine_differ() {
    let mut trials = on_machines().to_vec();
    // On a medium that is durable where it accepts, too.
    let accepting = trials[0].clone();
    trials.push(Request {
        media: Some("pwq".into()),
        ..accepting
    });
    let found: Vec<String> = reference()
        .iter()
        .flat_map(|(section, fields)| alike(section, fields, &trials))
        .collect();
    assert_eq!(found, [""; 0]);
}

#[test]
fn named_values_of_a_design_differ() {
    let mut found = Vec::new();
    for design in fencepost_designs::all() {
        let trials: Vec<Request> = OF_DESIGNS.iter().map(|(c, t)| request(design.name, c, *t)).collect();
        found.extend(alike(&format!("design.{}", design.name), &(design.params)(), &trials));
    }
    assert_eq!(found, [""; 0]);
}

#[test]
fn named_values_of_a_program_differ() {
    let mut found = Vec::new();
    for about in fencepost_programs::programs() {
        let most = if about.name == "sqlite" { 5 } else { 60 };
        let on = |design, machine| request(design, "", (about.name, machine, 4, most, ""));
        let trials = [on("x86-adr", "dpo"), on("delegated", "broi"), on("loc-wal", "loc")];
        found.extend(alike(&format!("program.{}", about.name), &about.fields, &trials));
    }
    assert_eq!(found, [""; 0]);
}
