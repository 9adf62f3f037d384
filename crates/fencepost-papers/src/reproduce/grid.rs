//! A paper's experiment, under any of its readings, as a block of a grid.
//!
//! `[[experiment]]` stands beside the blocks that [`fencepost_sweep::grid`] knows and becomes a `[[product]]`: its first axis are
//! the experiment's runs under each reading, its others are what else the block names.

use super::under_readings::plan_registered;
use crate::experiment::readings::{Choice, Readings};
use crate::experiment::runs::Job;
use crate::experiment::spec::{self, Experiment, Scale};
use fencepost_run::request::Request;
use fencepost_run::{BadInput, LabError};
use fencepost_sweep::grid::{Kind, Node, Scalar};

/// The grid with every `[[experiment]]` as what it stands for.
///
/// # Errors
/// What is wrong with such a block: an unknown paper, experiment, reading or scale, with its place.
pub fn expanded(grid: &Node) -> Result<Node, LabError> {
    let mut entries = Vec::new();
    for (key, node) in grid.entries("a grid")? {
        if key != "experiment" {
            entries.push((key.clone(), node.clone()));
            continue;
        }
        let blocks = node.elements("[[experiment]]")?;
        let products = blocks.into_iter().map(product).collect::<Result<_, LabError>>()?;
        entries.push(("product".to_owned(), made(Kind::List(products))));
    }
    let kind = Kind::Table(entries);
    Ok(Node { kind, ..grid.clone() })
}

/// What a block asks for.
struct Asked {
    paper: String,
    tags: Vec<String>,
    readings: Vec<String>,
    scale: Scale,
    /// Its other axes.
    axes: Vec<(String, Node)>,
}

fn product(node: &Node) -> Result<Node, LabError> {
    let asked = asked(node)?;
    let placed = |e: BadInput| match &node.place {
        Some(place) if e.place.is_none() => e.at(place.clone()),
        _ => e,
    };
    let experiment: Experiment = spec::experiment(&asked.paper)?;
    let readings = Readings::of_paper(&asked.paper, &experiment)?;
    for tag in &asked.tags {
        if !experiment.matrix.iter().any(|m| m.tag == *tag) {
            let known = experiment.matrix.iter().map(|m| m.tag.as_str());
            return Err(placed(BadInput::unknown("experiment", tag, known)).into());
        }
    }
    let mut values = Vec::new();
    for choice in choices(&readings, &asked.readings).map_err(placed)? {
        let mut e = choice.apply(&experiment, &readings);
        e.matrix.retain(|m| match asked.tags.is_empty() {
            true => readings.headline.contains(&m.tag) && !m.check,
            false => asked.tags.contains(&m.tag),
        });
        let label = if choice.label.is_empty() {
            "primary"
        } else {
            &choice.label
        };
        let jobs = plan_registered(&e, asked.scale, Request::default().seed)?.jobs;
        values.extend(jobs.iter().map(|job| settings(job, label)));
    }
    if values.is_empty() {
        let e = node.wrong(format!("`{}` has no run there", asked.paper));
        return Err(e.hint("name its experiments: tag = [\"E01\"]").into());
    }
    let mut axes = vec![("experiment".to_owned(), made(Kind::List(values)))];
    axes.extend(asked.axes);
    Ok(Node {
        kind: Kind::Table(axes),
        ..node.clone()
    })
}

fn asked(node: &Node) -> Result<Asked, BadInput> {
    let (mut paper, mut tags, mut readings) = (None, Vec::new(), vec!["primary".to_owned()]);
    let (mut scale, mut axes) = (Scale::Quick, Vec::new());
    for (key, n) in node.entries("[[experiment]]")? {
        match key.as_str() {
            "paper" => paper = Some(text(n, "paper")?),
            "tag" => tags = texts(n, "tag")?,
            "reading" => readings = texts(n, "reading")?,
            "scale" => {
                scale = match text(n, "scale")?.as_str() {
                    "quick" => Scale::Quick,
                    "full" => Scale::Full,
                    other => return Err(BadInput::unknown("scale", other, ["quick", "full"])),
                }
            }
            _ => axes.push((key.clone(), n.clone())),
        }
    }
    let Some(paper) = paper else {
        return Err(node.wrong("[[experiment]] needs `paper`"));
    };
    Ok(Asked {
        paper,
        tags,
        readings,
        scale,
        axes,
    })
}

fn text(node: &Node, key: &str) -> Result<String, BadInput> {
    match node.scalar(&format!("`{key}`"))? {
        Scalar::Text(t) => Ok(t.clone()),
        other => Err(node.wrong(format!("`{key}` must be a name, not `{other}`"))),
    }
}

fn texts(node: &Node, key: &str) -> Result<Vec<String>, BadInput> {
    match &node.kind {
        Kind::List(list) => list.iter().map(|n| text(n, key)).collect(),
        _ => Ok(vec![text(node, key)?]),
    }
}

/// `primary`, `each` (every other reading alone), `joint` (a sample of joint readings), or `INPUT=READING,...`.
fn choices(readings: &Readings, names: &[String]) -> Result<Vec<Choice>, BadInput> {
    let mut out: Vec<Choice> = Vec::new();
    for name in names {
        let more = match name.as_str() {
            "primary" => vec![Choice::primaries(readings)],
            "each" => Choice::primaries(readings).one_at_a_time(readings),
            "joint" => Choice::joint(readings),
            asked => {
                let parts: Vec<String> = asked.split(',').map(|p| p.trim().to_owned()).collect();
                vec![Choice::asked(readings, &parts)?]
            }
        };
        out.extend(more);
    }
    Ok(out)
}

fn made(kind: Kind) -> Node {
    Node { place: None, kind }
}

/// A run as what a cell sets; columns that begin with `label.` only say where it belongs.
fn settings(job: &Job, reading: &str) -> Node {
    let r = &job.request;
    let scalar = |s: Scalar| made(Kind::Scalar(s));
    let text = |t: &str| scalar(Scalar::Text(t.to_owned()));
    let number = |n: u64| scalar(Scalar::Int(i64::try_from(n).unwrap_or(i64::MAX)));
    let mut all = vec![
        ("label.experiment".to_owned(), text(&job.cell.tag)),
        ("label.point".to_owned(), text(&job.cell.point)),
        ("label.reading".to_owned(), text(reading)),
        ("program".to_owned(), text(&r.program)),
        ("design".to_owned(), text(&r.design)),
        ("machine".to_owned(), text(&r.machine)),
        ("ops".to_owned(), number(r.ops.into())),
        ("warmup".to_owned(), number(r.warmup.into())),
        ("check".to_owned(), scalar(Scalar::Bool(r.check))),
    ];
    let mut maybe = |name: &str, value: Option<Node>| all.extend(value.map(|v| (name.to_owned(), v)));
    maybe("media", r.media.as_deref().map(text));
    maybe("threads", r.threads.map(|n| number(n.into())));
    maybe("cycles", r.cycles.map(number));
    maybe("log", r.log.as_deref().map(text));
    for set in &r.sets {
        let (path, value) = set.split_once('=').unwrap_or((set, ""));
        all.push((path.trim().to_owned(), text(value.trim())));
    }
    made(Kind::Table(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_run::run::identified;
    use fencepost_sweep::grid::Plan;
    use std::collections::BTreeSet;

    fn plan(text: &str) -> Result<Plan, String> {
        let grid = Node::from_toml("g.toml", text).map_err(|e| e.to_string())?;
        let grid = expanded(&grid).map_err(|e| e.to_string())?;
        Plan::read(&grid, 100_000).map_err(|e| e.to_string())
    }
    fn keys(plan: &Plan) -> BTreeSet<String> {
        let key = |i| identified(&plan.cell(i).unwrap().request).unwrap().0.key;
        (0..plan.len()).map(key).collect()
    }

    #[test]
    fn a_block_has_the_runs_that_reproduce_has() {
        let plan = plan("[[experiment]]\npaper='dpo'\nreading=['primary','log-database=inline']\n").unwrap();
        let e: Experiment = spec::experiment("dpo").unwrap();
        let readings = Readings::of_paper("dpo", &e).unwrap();
        let mut wanted = BTreeSet::new();
        for asked in [vec![], vec!["log-database=inline".to_owned()]] {
            let choice = Choice::asked(&readings, &asked).unwrap();
            let jobs = plan_registered(&choice.apply_to_headline(&e, &readings), Scale::Quick, 1).unwrap();
            wanted.extend(jobs.jobs.iter().map(|j| identified(&j.request).unwrap().0.key));
        }
        assert_eq!(keys(&plan), wanted);
        let of = |i: usize| plan.cell(i).unwrap().values["label.reading"].clone();
        assert_eq!(of(0), Scalar::Text("primary".into()));
        assert_eq!(of(plan.len() - 1), Scalar::Text("log-database=inline".into()));
    }

    #[test]
    fn readings_are_an_axis_among_others() {
        let one = plan("[[experiment]]\npaper='dpo'\n").unwrap();
        let more = plan("[[experiment]]\npaper='dpo'\nreading='each'\nseed={from=1,to=3}\n").unwrap();
        let e: Experiment = spec::experiment("dpo").unwrap();
        let readings = Readings::of_paper("dpo", &e).unwrap();
        let others: usize = readings.input.iter().map(|i| i.reading.len() - 1).sum();
        assert_eq!(more.len(), one.len() * others * 3);
    }

    #[test]
    fn what_is_unknown_is_named_with_the_nearest() {
        let says = |text: &str| plan(text).unwrap_err();
        assert!(says("[[experiment]]\nreading='each'\n").contains("needs `paper`"));
        let near = says("[[experiment]]\npaper='dpo'\nreading='log-databse=inline'\n");
        assert!(near.contains("log-database"), "{near}");
        assert!(says("[[experiment]]\npaper='dpo'\ntag='E99'\n").contains("unknown experiment"));
        assert!(says("[[experiment]]\npaper='dpo'\nscale='huge'\n").contains("unknown scale"));
        assert!(says("[[experiment]]\npaper='dpo'\nsede=[1]\n").contains("seed"));
    }
}
