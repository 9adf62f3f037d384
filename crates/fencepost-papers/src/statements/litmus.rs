//! Litmus tests on the machine, as a power failure sees them: the observer is recovery, and what threads read they record in
//! persistent memory (a crash state under strict persistency is what one more thread could have seen). The tests are the `litmus` folder of this crate;
//! the contract's crash states come from enumeration, and what the machine leaves must be among them.

use crate::experiment::embedded::EMBEDDED;
use fencepost_contract::ContractKind;
use fencepost_litmus::{Program, Test, crash, parse};
use fencepost_run::config::Resolved;
use fencepost_run::litmus::{Prepared, Ran};
use fencepost_run::request::Request;
use std::collections::BTreeSet;

const FOLDER: &str = "litmus/";

/// The tests of a list: `barriers` have a barrier on every edge that needs one, `chains` are Figure 5 of the BROI paper, in
/// `crossing` epochs depend on each other.
fn tests(list: &str) -> Result<Vec<Test>, String> {
    let text = |name: &str| {
        let found = EMBEDDED.iter().find(|e| e.0.strip_prefix(FOLDER) == Some(name));
        found.map(|e| e.1).ok_or_else(|| format!("there is no {FOLDER}{name}"))
    };
    let names = text(&format!("@{list}"))?.lines();
    names
        .map(|name| parse(text(name)?).map_err(|e| format!("{name}: {e}")))
        .collect()
}

/// A test, ready to run, with what its contract allows and forbids.
struct Shape<'t> {
    test: &'t Test,
    prepared: Prepared<'t>,
    allowed: BTreeSet<Vec<u64>>,
}

impl<'t> Shape<'t> {
    fn new(test: &'t Test) -> Result<Shape<'t>, String> {
        let named = |e: &dyn std::fmt::Display| format!("{}: {e}", test.name);
        let program = Program::new(test).map_err(|e| named(&e))?;
        let outcome = crash::crash(&program, ContractKind::Rcbsp).map_err(|e| named(&e))?;
        // What the papers forbid, the contract forbids.
        if test.crash.is_some() && outcome.observation() != "Never" {
            return Err(format!("{}: the contract allows what the paper forbids", test.name));
        }
        Ok(Shape {
            test,
            prepared: Prepared::new(&program),
            allowed: outcome.states,
        })
    }
    fn run(&self, resolved: &Resolved, seed: u64) -> Result<Ran, String> {
        let ran = self.prepared.run(resolved, seed);
        let ran = ran.map_err(|e| format!("{}: {e}", self.test.name))?;
        match ran.defect {
            Some(defect) => Err(format!("{}: {defect}", self.test.name)),
            None => Ok(ran),
        }
    }
    /// A run with a fault planted, which may be a defect by the machine's own rules.
    fn run_broken(&self, resolved: &Resolved, seed: u64) -> Result<Ran, String> {
        let ran = self.prepared.run(resolved, seed);
        ran.map_err(|e| format!("{}: {e}", self.test.name))
    }
    /// Whether a run persisted in an order, or left a state, that the contract does not allow.
    fn sound(&self, ran: &Ran) -> Result<(), String> {
        if let Some(why) = &ran.refused {
            return Err(format!("{}: {why}", self.test.name));
        }
        match ran.crash_states.difference(&self.allowed).next() {
            Some(state) => Err(format!("{}: {state:?} is forbidden", self.test.name)),
            None => Ok(()),
        }
    }
}

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
pub(crate) fn coherence_chain(designs: &[&str], fault: &str) -> Result<String, String> {
    let fault = format!("design.fault={fault}");
    let tests = tests("chains")?;
    let chains: Vec<Shape<'_>> = tests.iter().map(Shape::new).collect::<Result<_, _>>()?;
    let (mut runs, mut chained, mut convicted) = (0, 0, 0);
    for design in designs {
        let right = on("broi", design, "broi-nvm", &[])?;
        let faulty = on("broi", design, "broi-nvm", &[&fault])?;
        for (chain, seed) in chains.iter().flat_map(|c| (0..640).map(move |seed| (c, seed))) {
            let ran = chain.run(&right, seed)?;
            chain
                .sound(&ran)
                .map_err(|why| format!("seed {seed} on {design}: {why}"))?;
            runs += 1;
            // Words stand in alphabetical order: b, c, x, y.
            chained += u32::from(ran.crash_states.iter().any(|s| s[1] == 1));
            convicted += u32::from(chain.sound(&chain.run_broken(&faulty, seed)?).is_err());
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
/// that the contract allows; and with dependences between cores ignored, forbidden outcomes do appear.
pub(crate) fn no_forbidden_outcome() -> Result<String, String> {
    let tests = tests("barriers")?;
    let shapes: Vec<Shape<'_>> = tests.iter().map(Shape::new).collect::<Result<_, _>>()?;
    let (mut runs, mut states_shown, mut states_allowed) = (0, 0, 0);
    for shape in &shapes {
        let mut all_shown = BTreeSet::new();
        for design in ["delegated", "delegated-merge"] {
            for media in ["pcm", "ddr3-1600", "pwq"] {
                let resolved = machine(design, media, &[])?;
                for seed in 0..8 {
                    let ran = shape.run(&resolved, seed)?;
                    shape.sound(&ran).map_err(|why| format!("{design}: {why}"))?;
                    all_shown.extend(ran.crash_states);
                    runs += 1;
                }
            }
        }
        states_shown += all_shown.len();
        states_allowed += shape.allowed.len();
    }
    // The clean half of what convicts the fault: the same programs, seeds and slow path.
    if let Some(shape) = broken_by("none", &shapes)?.first() {
        return Err(format!("{shape}: a forbidden outcome on a slow path"));
    }
    let faulty = broken_by("drain-ignores-dependences", &shapes)?;
    if faulty.is_empty() {
        return Err("ignoring dependences between cores shows no forbidden outcome".into());
    }
    Ok(format!(
        "{} shapes, {runs} runs, {states_shown} of {states_allowed} allowed crash states shown, none forbidden; \
         with dependences ignored {} break",
        shapes.len(),
        faulty.join(", ")
    ))
}

/// Threads whose epochs depend on each other drain, on every seed.
pub(crate) fn crossing_epochs_drain() -> Result<String, String> {
    const EACH: u64 = 60;
    let tests = tests("crossing")?;
    let shapes: Vec<Shape<'_>> = tests.iter().map(Shape::new).collect::<Result<_, _>>()?;
    let mut runs = 0;
    for design in ["delegated", "delegated-merge"] {
        let resolved = machine(design, "pcm", &["design.path_slot=2us"])?;
        for shape in &shapes {
            for seed in 0..EACH {
                shape.run(&resolved, seed)?;
                runs += 1;
            }
        }
    }
    let all = 2 * shapes.len() as u64 * EACH;
    Ok(format!(
        "{runs} of {all} runs of epochs that depend on each other drained"
    ))
}

/// Runs of each shape, clean and with a fault.
const SEEDS: u64 = 200;

/// The shapes of which a machine with a planted fault shows a forbidden outcome. Runs that lose bytes do not count: what is lost has no order.
fn broken_by<'t>(fault: &str, shapes: &[Shape<'t>]) -> Result<Vec<&'t str>, String> {
    let set = format!("design.fault={fault}");
    let resolved = machine("delegated", "pcm", &[&set, "design.path_slot=200ns"])?;
    let mut broken = Vec::new();
    for shape in shapes {
        for seed in 0..SEEDS {
            let ran = match fault {
                "none" => shape.run(&resolved, seed)?,
                _ => shape.run_broken(&resolved, seed)?,
            };
            if ran.lost && fault == "none" {
                return Err(format!("{}: seed {seed} lost bytes without a fault", shape.test.name));
            }
            if !ran.lost && !ran.crash_states.is_subset(&shape.allowed) {
                broken.push(&*shape.test.name);
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
        let tests = super::tests("barriers").unwrap();
        assert_eq!(tests.len(), 14);
        let shapes: Vec<Shape<'_>> = tests.iter().map(|t| Shape::new(t).unwrap()).collect();
        assert_eq!(broken_by("none", &shapes), Ok(Vec::new()));
        let broken = broken_by("drain-ignores-dependences", &shapes).unwrap();
        assert!(!broken.is_empty());
        // One thread alone has no dependences on others.
        assert!(!broken.contains(&"MP") && !broken.contains(&"undo-log"), "{broken:?}");
        println!("{}", no_forbidden_outcome().unwrap());
    }

    #[test]
    fn chains_and_crossing_epochs() {
        println!("{}", coherence_chain(&["epoch", "broi"], "released-when-sent").unwrap());
        println!("{}", crossing_epochs_drain().unwrap());
    }
}
