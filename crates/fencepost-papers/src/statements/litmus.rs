//! Litmus programs on the machine, as a power failure sees them: the observer is recovery, and what threads read they record in
//! persistent memory (a crash state under strict persistency is what one more thread could have seen). Reads act when the timing
//! model performs them, so outcomes are the machine's. The programs are data, in `litmus/shapes.toml`.

mod run;
mod shape;

use self::run::{run, shown};
use self::shape::{Location, SHAPES};
use super::graph::states;
use fencepost_contract::{Contract, ContractKind, Demands, conform};
use fencepost_run::config::Resolved;
use fencepost_run::request::Request;
use std::collections::BTreeSet;

fn on(machine: &str, design: &str, media: &str, sets: &[&str]) -> Result<Resolved, String> {
    let request = Request {
        design: design.into(),
        machine: machine.into(),
        media: Some(media.into()),
        sets: sets.iter().map(|s| (*s).to_owned()).collect(),
        ..Request::default()
    };
    Resolved::resolve(&request).map_err(|e| e.to_string())
}

fn machine(design: &str, media: &str, sets: &[&str]) -> Result<Resolved, String> {
    on(&Request::default().machine, design, media, sets)
}

/// On the machine of the BROI paper no power failure leaves c without b, every run conforms, and with a fault planted some does not.
pub fn coherence_chain(designs: &[&str], fault: &str) -> Result<String, String> {
    let rcbsp = Contract::from(ContractKind::Rcbsp);
    let fault = format!("design.fault={fault}");
    let (mut runs, mut chained, mut convicted) = (0, 0, 0);
    for design in designs {
        let [right, faulty] = [
            on("broi", design, "broi-nvm", &[])?,
            on("broi", design, "broi-nvm", &[&fault])?,
        ];
        for (chain, seed) in SHAPES.chains.iter().flat_map(|c| (0..40).map(move |seed| (c, seed))) {
            let judge = |resolved: &Resolved| {
                let report = run(chain, resolved, seed)?;
                let trace = report.trace.as_ref().ok_or("the run was not recorded")?;
                let conforms = conform(trace, report.log.records(), &rcbsp, Demands { complete: true }).is_ok();
                let states = shown(&report);
                let forbidden = states.iter().any(|s| chain.forbids(s));
                let c = Location::PERSISTENT.iter().position(|l| l.name() == 'C').unwrap_or(0);
                Ok::<_, String>((conforms && !forbidden, states.iter().any(|s| s[c] == 1)))
            };
            let (sound, dependent) = judge(&right)?;
            if !sound {
                return Err(format!(
                    "seed {seed} on {design} persists c before b, or does not conform"
                ));
            }
            runs += 1;
            chained += u32::from(dependent);
            convicted += u32::from(!judge(&faulty)?.0);
        }
    }
    match (chained, convicted) {
        (0, _) => Err("in no run did the second thread see d".into()),
        (_, 0) => Err(format!("`{fault}` goes unnoticed")),
        _ => Ok(format!(
            "{runs} runs, in {chained} of them a chain; never c without b; {convicted} convicted with `{fault}`"
        )),
    }
}

/// No litmus outcome that barriers forbid is ever left behind by a power failure, on any medium; every state shown is one
/// that the contract allows of that run; and with dependences between cores ignored, forbidden outcomes do appear.
pub fn no_forbidden_outcome() -> Result<String, String> {
    let rcbsp = Contract::from(ContractKind::Rcbsp);
    let (mut runs, mut states_shown, mut states_allowed) = (0, 0, 0);
    for shape in &SHAPES.barriers {
        let (mut all_shown, mut all_allowed) = (BTreeSet::new(), BTreeSet::new());
        for design in ["delegated", "delegated-merge"] {
            for media in ["pcm", "ddr3-1600", "pwq"] {
                let resolved = machine(design, media, &[])?;
                for seed in 0..8 {
                    let report = run(shape, &resolved, seed)?;
                    let trace = report.trace.as_ref().ok_or("the run was not recorded")?;
                    conform(trace, report.log.records(), &rcbsp, Demands { complete: true })
                        .map_err(|e| format!("{} on {design}: {e}", shape.name))?;
                    all_shown.extend(shown(&report));
                    all_allowed.extend(states(&rcbsp, trace, Location::PERSISTENT.map(Location::addr)));
                    runs += 1;
                }
            }
        }
        if let Some(state) = all_shown.iter().chain(&all_allowed).find(|s| shape.forbids(s)) {
            return Err(format!("{}: {state:?} is forbidden", shape.name));
        }
        if let Some(state) = all_shown.difference(&all_allowed).next() {
            return Err(format!("{}: the contract does not allow {state:?}", shape.name));
        }
        states_shown += all_shown.len();
        states_allowed += all_allowed.len();
    }
    // The clean half of what convicts the fault: the same programs, seeds and slow path.
    if let Some(shape) = broken_by("none")?.first() {
        return Err(format!("{shape}: a forbidden outcome on a slow path"));
    }
    let faulty = broken_by("drain-ignores-dependences")?;
    if faulty.is_empty() {
        return Err("ignoring dependences between cores shows no forbidden outcome".into());
    }
    Ok(format!(
        "{} shapes, {runs} runs, {states_shown} of {states_allowed} allowed crash states shown, none forbidden; \
         with dependences ignored {} break",
        SHAPES.barriers.len(),
        faulty.join(", ")
    ))
}

/// Threads whose epochs depend on each other drain, on every seed.
pub fn crossing_epochs_drain() -> Result<String, String> {
    const SEEDS: u64 = 60;
    let mut runs = 0;
    for design in ["delegated", "delegated-merge"] {
        let resolved = machine(design, "pcm", &["design.path_slot=2us"])?;
        for shape in &SHAPES.crossing {
            for seed in 0..SEEDS {
                run(shape, &resolved, seed)?;
                runs += 1;
            }
        }
    }
    let all = 2 * SHAPES.crossing.len() as u64 * SEEDS;
    Ok(format!(
        "{runs} of {all} runs of epochs that depend on each other drained"
    ))
}

/// The shapes of which a machine with a planted fault shows a forbidden outcome.
fn broken_by(fault: &str) -> Result<Vec<&'static str>, String> {
    let fault = format!("design.fault={fault}");
    let resolved = machine("delegated", "pcm", &[&fault, "design.path_slot=200ns"])?;
    let mut broken = Vec::new();
    for shape in &SHAPES.barriers {
        for seed in 0..40 {
            let states = shown(&run(shape, &resolved, seed)?);
            if states.iter().any(|s| shape.forbids(s)) {
                broken.push(&*shape.name);
                break;
            }
        }
    }
    Ok(broken)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn forbidden_outcomes_appear_exactly_where_dependences_are_ignored() {
        assert_eq!(broken_by("none"), Ok(Vec::new()));
        let broken = broken_by("drain-ignores-dependences").unwrap();
        assert!(!broken.is_empty());
        // One thread alone has no dependences on others.
        assert!(!broken.contains(&"MP") && !broken.contains(&"undo log"), "{broken:?}");
        no_forbidden_outcome().unwrap();
    }
}
