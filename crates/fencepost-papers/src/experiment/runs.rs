//! The runs of an experiment, by what they vary.

use super::counted::Counted;
use super::rule::Over;
use super::spec::{Experiment, Matrix, Natively, Scale, Work};
use fencepost_run::BadInput;
use fencepost_run::request::Request;
use fencepost_run::result::RunResult;
use std::collections::{BTreeMap, BTreeSet};

/// What distinguishes a run within an experiment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// Experiment tag.
    pub tag: String,
    /// Program.
    pub program: String,
    /// Label of the design point.
    pub point: String,
    /// Media preset, as the experiment names it.
    pub media: String,
    /// Label of the choice of readings; empty for the primaries.
    pub choice: String,
}

/// The choice that tells the runs of a seed apart, where several seeds run.
pub fn seed_label(seed: u64) -> String {
    format!("seed-{seed}")
}

/// A planned run.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its place in the experiment.
    pub cell: Cell,
    /// What to run.
    pub request: Request,
}

/// The jobs of an experiment and what cannot be run.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Runs, in order.
    pub jobs: Vec<Job>,
    /// Programs that are not built yet.
    pub missing_programs: BTreeSet<String>,
    /// Designs that are not built yet.
    pub missing_designs: BTreeSet<String>,
    /// What claims count in the place of what they name.
    pub counted: Counted,
}

/// What exists, by name.
pub struct Known<'a> {
    /// Programs.
    pub programs: &'a [&'a str],
    /// Designs.
    pub designs: &'a [&'a str],
}

/// Expands an experiment into jobs; leaves out, and names, what the registries do not have.
pub fn plan(e: &Experiment, scale: Scale, seed: u64, known: &Known<'_>) -> Result<Plan, BadInput> {
    let mut plan = Plan {
        counted: e.counted.clone(),
        ..Plan::default()
    };
    for m in &e.matrix {
        for program in &m.programs {
            if !known.programs.contains(&program.as_str()) {
                plan.missing_programs.insert(program.clone());
                continue;
            }
            for label in &m.points {
                for media in &m.media {
                    add_job(&mut plan, e, m, scale, seed, known, [program, label, media])?;
                }
            }
        }
    }
    Ok(plan)
}

fn work<'a>(e: &'a Experiment, m: &'a Matrix, scale: Scale) -> &'a Work {
    let scales = m.scale.as_ref().unwrap_or(&e.scale);
    match scale {
        Scale::Quick => &scales.quick,
        Scale::Full => &scales.full,
    }
}

fn add_job(
    plan: &mut Plan,
    e: &Experiment,
    m: &Matrix,
    scale: Scale,
    seed: u64,
    known: &Known<'_>,
    [program, label, media]: [&String; 3],
) -> Result<(), BadInput> {
    let point = (e.points.get(label))
        .ok_or_else(|| BadInput::unknown("design point", label, e.points.keys().map(String::as_str)))?;
    let design = point.on.get(media).unwrap_or(&point.design);
    if !known.designs.contains(&design.as_str()) {
        plan.missing_designs.insert(design.clone());
        return Ok(());
    }
    let here = if point.on.contains_key(media) {
        &[][..]
    } else {
        &point.set_here[..]
    };
    let work = work(e, m, scale);
    let length = work.of(program);
    let cycles = work.cycles.filter(|_| m.equal_cycles && !m.check);
    plan.jobs.push(Job {
        cell: Cell {
            tag: m.tag.clone(),
            program: program.clone(),
            point: label.clone(),
            media: media.clone(),
            choice: String::new(),
        },
        request: Request {
            program: program.clone(),
            design: design.clone(),
            machine: e.machine.clone(),
            media: Some(m.media_as.get(media).unwrap_or(media).clone()),
            threads: Some(m.threads),
            ops: cycles.map_or(length.ops, |c| c.ops),
            warmup: length.warmup,
            cycles: cycles.map(|c| c.measured),
            seed,
            log: (point.log.clone())
                .or_else(|| m.logs.get(program).cloned())
                .or_else(|| m.log.clone()),
            sets: (m.set.iter())
                .chain(m.media_set.get(media).into_iter().flatten())
                .chain(&point.set)
                .chain(here)
                .cloned()
                .collect(),
            check: m.check,
            ..Request::default()
        },
    });
    Ok(())
}

/// Finished runs of an experiment.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// Results by cell.
    pub by_cell: BTreeMap<Cell, RunResult>,
    /// Programs that the experiment names, in its order.
    pub programs: Vec<String>,
    /// Programs that the runs under each tag name; a tag without an entry names all.
    pub of_tag: BTreeMap<String, BTreeSet<String>>,
    /// Programs among them that are not yet built.
    pub missing_programs: BTreeSet<String>,
    /// Designs that are not yet built.
    pub missing_designs: BTreeSet<String>,
    /// What programs do on the real CPU.
    pub native: Natively,
    /// What claims count in the place of what they name.
    pub counted: Counted,
}
impl Runs {
    /// The metric that a claim's name stands for under the readings taken.
    pub fn metric<'a>(&'a self, name: &'a str) -> &'a str {
        self.counted.metric(name)
    }
    /// The way from programs to one value that a claim's stands for under the readings taken.
    pub fn over(&self, over: Over) -> Over {
        self.counted.over(over)
    }
    /// The run of one cell.
    pub fn get(&self, tag: &str, program: &str, point: &str, media: &str) -> Option<&RunResult> {
        self.by_cell.get(&Cell {
            tag: tag.to_owned(),
            program: program.to_owned(),
            point: point.to_owned(),
            media: media.to_owned(),
            choice: String::new(),
        })
    }
    /// The programs that were run, in the experiment's order.
    pub fn run_programs(&self) -> impl Iterator<Item = &String> {
        self.programs.iter().filter(|p| !self.missing_programs.contains(*p))
    }
}
