//! Which parameters move a paper's headline, and whether they are declared: stated by the paper, an input with readings, or neither.
//!
//! Every parameter of the machine, the designs and the programs is varied alone, the rest as the primaries have it: numbers by a
//! factor of two either way, words to every other word. What moves is time relative to the first design point of its experiment,
//! a geometric mean over programs. Runs are tried in part and shared by content: what a parameter does not reach is not run again.
//! An audit of large experiments may look at some programs and design points of each only.

use super::judge::Simulation;
use super::search::Length;
use super::space::Taken;
use super::subject::{Options, Subject};
use crate::experiment::engine::Step;
use crate::experiment::measured::{aggregate, ratios};
use crate::experiment::readings::{Choice, Reading};
use crate::experiment::rule::Over;
use crate::experiment::runs::{Cell, Runs};
use crate::experiment::spec::{Experiment, Scale};
use fencepost_run::LabError;
use fencepost_run::config::{Resolved, document, one_value};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Who says what a parameter is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stated {
    /// The paper, or a simulator or standard that it names: what stands beside the value.
    Source(String),
    /// An open input of the paper varies it.
    Input(String),
    /// The paper's file of inputs says why it has no readings.
    Settled(String),
    /// None of these: what stands beside the value, if anything does.
    Open(String),
}

/// What a parameter does to the headline.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// Section and key.
    pub path: String,
    /// Its value under the primaries.
    pub value: String,
    /// The value that moved most.
    pub tried: String,
    /// By how much, as a share of what it was: 0.03 are 3 %.
    pub by: f64,
    /// The figure that moved most.
    pub figure: String,
    /// Who says what it is.
    pub stated: Stated,
}

/// The headline under one configuration: a figure by its name.
type Headline = BTreeMap<String, f64>;

/// Varies every parameter; `told` hears what is tried. So many programs and design points of each experiment are enough.
///
/// # Errors
/// Of the folder, or of a run.
pub fn audit(
    o: &Options<'_>,
    (programs, points): (usize, usize),
    told: &dyn Fn(&str),
    progress: &(dyn Fn(&Cell, Step) + Sync),
) -> Result<Vec<Moved>, LabError> {
    let subject = Subject::read(o.paper)?;
    let primaries = Choice::primaries(&subject.readings).taken;
    let mut simulation = subject.simulation(o, (&subject.headline, Scale::Quick), progress);
    for m in &mut simulation.experiment.matrix {
        thin(&mut m.programs, programs);
        thin(&mut m.points, points);
    }
    let parameters = parameters(&simulation, &primaries)?;
    let reached = reached(&subject);
    simulation.begin(&primaries, Length::Fifth)?;
    let before = headline(&mut simulation, &primaries, None)?;
    let before = before.ok_or_else(|| LabError::Internal("the primaries ran and cannot be built".into()))?;
    let unchanged: HashSet<String> = simulation.known.keys().cloned().collect();
    let mut out = Vec::new();
    for (path, (value, note, others)) in parameters {
        told(&path);
        // No other parameter asks for the runs of the one before.
        simulation.known.retain(|key, _| unchanged.contains(key));
        let mut most: Option<(f64, String, String)> = None;
        for tried in others {
            let set = format!("{path}={tried}");
            let Some(after) = headline(&mut simulation, &primaries, Some(&set))? else {
                continue;
            };
            let (by, figure) = farthest(&before, &after);
            if most.as_ref().is_none_or(|m| by > m.0) {
                most = Some((by, tried, figure));
            }
        }
        let Some((by, tried, figure)) = most else { continue };
        let stated = stated(&reached, &path, note);
        out.push(Moved {
            path,
            value,
            tried,
            by,
            figure,
            stated,
        });
    }
    out.sort_by(|a, b| b.by.total_cmp(&a.by).then(a.path.cmp(&b.path)));
    Ok(out)
}

/// Keeps `n` of a list, evenly spread, the first and the last among them.
fn thin<T>(list: &mut Vec<T>, n: usize) {
    let (last, gaps) = (list.len().saturating_sub(1), n.saturating_sub(1).max(1));
    if n > last {
        return;
    }
    let kept: HashSet<usize> = (0..n).map(|i| i * last / gaps).collect();
    let mut at = 0..;
    list.retain(|_| at.next().is_some_and(|i| kept.contains(&i)));
}

/// Value, what stands beside it, and the values to try, by path.
type Parameters = BTreeMap<String, (String, String, Vec<String>)>;

/// Every parameter of the headline's runs under the primaries.
fn parameters(simulation: &Simulation<'_>, primaries: &Taken) -> Result<Parameters, LabError> {
    let (_, jobs) = simulation.plan(primaries, Length::Whole)?;
    let mut all = Parameters::new();
    for job in jobs {
        let resolved = Resolved::resolve(&job.request)?;
        // What runs have in common is not theirs: who runs what stands in the experiment.
        for section in document(&resolved).sections.into_iter().filter(|s| s.name != "run") {
            for v in section.values {
                let path = format!("{}.{}", section.name, v.key);
                if let Entry::Vacant(free) = all.entry(path) {
                    let kind = one_value(&resolved, free.key()).map_or("", |one| one.kind);
                    let others = others(kind, &v.value);
                    free.insert((v.value, v.note.unwrap_or_default(), others));
                }
            }
        }
    }
    // Planted faults are no parameters of a machine.
    all.retain(|path, (_, _, others)| !path.ends_with(".fault") && !others.is_empty());
    Ok(all)
}

/// Other values of a parameter: every other word, or half and double of a number (1 for 0).
fn others(kind: &str, value: &str) -> Vec<String> {
    let value = value.trim_matches('"');
    if kind == "true or false" {
        return vec![if value == "true" { "false" } else { "true" }.into()];
    }
    if let Some(words) = kind.strip_prefix("one of ") {
        return words.split(' ').filter(|w| *w != value).map(str::to_owned).collect();
    }
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let (number, unit) = value.split_at(digits);
    match number.parse::<u64>() {
        Err(_) => Vec::new(),
        Ok(0) => vec![format!("1{unit}")],
        // Half of an odd number of a coarse unit is not whole; the double is.
        Ok(n) if n % 2 == 1 => vec![format!("{}{unit}", n.div_ceil(2)), format!("{}{unit}", 2 * n)],
        Ok(n) => vec![format!("{}{unit}", n / 2), format!("{}{unit}", 2 * n)],
    }
}

/// What a paper's file of inputs says of paths.
fn reached(subject: &Subject) -> BTreeMap<String, Stated> {
    let settled = subject.readings.settled.iter();
    let mut all: BTreeMap<String, Stated> = settled
        .map(|s| (s.parameter.clone(), Stated::Settled(s.reason.clone())))
        .collect();
    for input in &subject.readings.input {
        for path in input.reading.iter().flat_map(paths) {
            all.insert(path, Stated::Input(input.name.clone()));
        }
    }
    all
}

fn paths(reading: &Reading) -> BTreeSet<String> {
    let points = reading.points.values().flat_map(|p| p.set.iter().chain(&p.set_here));
    let media = reading.on_media.values().flatten();
    let sets = reading.set.iter().chain(points).chain(media);
    let path = |set: &String| set.split_once('=').map(|(path, _)| path.trim().to_owned());
    let mut all: BTreeSet<String> = sets.filter_map(path).collect();
    // A preset that stands in for another differs from it in what its file says.
    if !reading.media.is_empty() {
        all.insert("pm.media".into());
    }
    all
}

fn stated(reached: &BTreeMap<String, Stated>, path: &str, note: String) -> Stated {
    // `design.KEY` speaks of every design that has the key.
    let key = path.strip_prefix("design.").and_then(|rest| rest.split_once('.'));
    let of_all = key.and_then(|(_, key)| reached.get(&format!("design.{key}")));
    match reached
        .get(path)
        .or(of_all)
        .or_else(|| reached.get(path.rsplit_once('.')?.0))
    {
        Some(said) => said.clone(),
        None if ["paper:", "simulator:", "standard:"]
            .iter()
            .any(|who| note.starts_with(who)) =>
        {
            Stated::Source(note)
        }
        None => Stated::Open(note),
    }
}

/// The headline's figures with one setting more; `None` where it cannot be built.
fn headline(
    simulation: &mut Simulation<'_>,
    primaries: &Taken,
    set: Option<&String>,
) -> Result<Option<Headline>, LabError> {
    let written = simulation.experiment.clone();
    for m in &mut simulation.experiment.matrix {
        m.set.extend(set.cloned());
    }
    let found = simulation.runs(primaries, Length::Fifth);
    simulation.experiment = written;
    Ok(found?.map(|runs| figures(&simulation.experiment, &runs)))
}

fn figures(e: &Experiment, runs: &Runs) -> Headline {
    let mut all = Headline::new();
    for m in &e.matrix {
        let Some(base) = m.points.first() else { continue };
        for (point, media) in m
            .points
            .iter()
            .skip(1)
            .flat_map(|p| m.media.iter().map(move |x| (p, x)))
        {
            let values = ratios(runs, &m.tag, [point, base], media);
            if let Some(mean) = aggregate(Over::Geomean, &values) {
                all.insert(format!("{} {point}/{base} {media}", m.tag), mean);
            }
        }
    }
    all
}

/// The figure that differs most, and its share.
fn farthest(before: &Headline, after: &Headline) -> (f64, String) {
    let share = |(name, was): (&String, &f64)| Some(((after.get(name)? / was - 1.0).abs(), name.clone()));
    let all = before.iter().filter_map(share);
    all.fold((0.0, String::new()), |a, b| if b.0 > a.0 { b } else { a })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_halved_and_doubled_and_words_exchanged() {
        assert_eq!(others("a time such as \"150ns\"", "4ns"), ["2ns", "8ns"]);
        assert_eq!(others("a whole number", "7"), ["4", "14"]);
        assert_eq!(others("a whole number", "0"), ["1"]);
        assert_eq!(others("one of row line", "row"), ["line"]);
        assert_eq!(others("true or false", "true"), ["false"]);
        assert!(others("a time such as \"150ns\"", "none").is_empty());
    }
    #[test]
    fn a_thinned_list_is_spread_over_the_whole() {
        let thinned = |n| {
            let mut list: Vec<usize> = (0..9).collect();
            thin(&mut list, n);
            list
        };
        assert_eq!(
            [thinned(1), thinned(2), thinned(3)],
            [vec![0], vec![0, 8], vec![0, 4, 8]]
        );
        assert_eq!((thinned(9).len(), thinned(usize::MAX).len()), (9, 9));
    }
    #[test]
    fn the_figure_that_moves_most_is_found() {
        let of = |a: f64, b: f64| Headline::from([("a".into(), a), ("b".into(), b)]);
        assert_eq!(farthest(&of(2.0, 4.0), &of(2.0, 3.0)), (0.25, "b".into()));
        assert_eq!(farthest(&of(2.0, 4.0), &of(2.0, 4.0)).0, 0.0);
    }
    #[test]
    fn inputs_go_before_notes() {
        let inputs = BTreeMap::from([("core.rob".to_owned(), Stated::Input("window".into()))]);
        assert_eq!(
            stated(&inputs, "core.rob", "paper: Table I".into()),
            Stated::Input("window".into())
        );
        // What is said of the key of every design goes for each.
        let all = BTreeMap::from([("design.gap".to_owned(), Stated::Input("slot".into()))]);
        assert_eq!(
            stated(&all, "design.x86-adr.gap", String::new()),
            Stated::Input("slot".into())
        );
        assert_eq!(
            stated(&all, "design.x86-adr.ack", String::new()),
            Stated::Open(String::new())
        );
        assert_eq!(
            stated(&inputs, "l1.ways", "paper: Table I".into()),
            Stated::Source("paper: Table I".into())
        );
        assert_eq!(
            stated(&inputs, "l1.banks", "ours: two".into()),
            Stated::Open("ours: two".into())
        );
    }
}
