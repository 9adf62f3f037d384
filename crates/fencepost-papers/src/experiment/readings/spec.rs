//! `readings.toml`: the open inputs of a paper, their readings, and which one is primary by which rule.

use super::quote::Quote;
use crate::experiment::rule::Over;
use crate::experiment::spec::{Experiment, parse, text};
use fencepost_run::BadInput;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// `experiments/<paper>/readings.toml`.
#[derive(Clone, Debug, Default, Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct Readings {
    /// Tags of the experiments that carry the paper's headline: these are run under every reading.
    #[serde(default)]
    pub headline: Vec<String>,
    /// Joint readings (a Latin hypercube over all inputs) at full scale.
    #[serde(default)]
    pub samples: u32,
    /// Seed of the joint readings.
    #[serde(default)]
    pub sample_seed: u64,
    /// The open inputs.
    #[serde(default)]
    pub input: Vec<Input>,
    /// Rows of a paper's characterisation of its workloads, and the inputs that they fixed.
    #[serde(default)]
    pub calibration: Vec<Calibration>,
    /// Parameters that move the headline and are no input, each with the reason.
    #[serde(default)]
    pub settled: Vec<Settled>,
}

/// A parameter that moves the headline, that the paper does not state, and that has no readings all the same.
#[derive(Clone, Debug, Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct Settled {
    /// Section and key.
    pub parameter: String,
    /// Why: our words.
    pub reason: String,
}

/// A row of a table that characterises a workload on the plain machine: method, not result. It fixes what the text leaves open
/// of the program, before any result is looked at, and its claim is `calibrated`, not measured.
#[derive(Clone, Debug, Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Claim that states the row.
    pub claim: String,
    /// What the paper says of the table.
    pub table: Quote,
    /// How we read its unit, where the paper leaves that open: our words.
    pub denominator: String,
    /// Input that it fixed.
    pub input: String,
    /// The reading chosen: the nearest to the row.
    pub chosen: String,
    /// The row's value under it.
    pub achieved: f64,
    /// Value under each other reading that was tried.
    pub others: BTreeMap<String, f64>,
}

/// An input that the paper leaves open.
#[derive(Clone, Debug, Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Name, as `--reading NAME=READING` takes it.
    pub name: String,
    /// What is open, in one sentence.
    pub about: String,
    /// The first rule of precedence that speaks: 1 the paper's text on its mechanism or method, 2 the documented behaviour of
    /// the simulator that it names, 3 standards, hardware or the authors' public code, 4 the simplest model.
    pub rule: u8,
    /// Sentences of the paper that speak for the primary.
    #[serde(default)]
    pub quotes: Vec<Quote>,
    /// What the paper has no sentence about, where `quotes` is empty.
    #[serde(default)]
    pub silent: String,
    /// What follows from the quotes, or from the rule that speaks where they do not: our words.
    pub conclusion: String,
    /// Sentences of the paper that speak against the primary.
    #[serde(default)]
    pub against: Vec<Quote>,
    /// What else speaks against it: our words.
    #[serde(default)]
    pub doubt: String,
    /// Whether results were known when the primary was set. A claim that such an input decides shows every reading's value.
    #[serde(default)]
    pub seen: bool,
    /// Name of the primary reading.
    pub primary: String,
    /// The readings.
    pub reading: Vec<Reading>,
}

/// One reading of an input: what it changes in the experiment as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Name.
    pub name: String,
    /// Why one may read the paper so.
    pub reason: String,
    /// Settings of every run, as `--set` takes them.
    #[serde(default)]
    pub set: Vec<String>,
    /// Logging runtime of every point that names none.
    #[serde(default)]
    pub log: Option<String>,
    /// Logging runtime of single programs, where a point names none.
    #[serde(default)]
    pub logs: BTreeMap<String, String>,
    /// Other programs, by the program that the experiment names.
    #[serde(default)]
    pub programs: BTreeMap<String, String>,
    /// Threads of every run.
    #[serde(default)]
    pub threads: Option<u32>,
    /// Whether equal numbers of cycles are compared (true) or equal work.
    #[serde(default)]
    pub equal_cycles: Option<bool>,
    /// Other media presets, by the preset that the experiment names.
    #[serde(default)]
    pub media: BTreeMap<String, String>,
    /// Settings of the runs on single media, by the preset that the experiment names.
    #[serde(default)]
    pub on_media: BTreeMap<String, Vec<String>>,
    /// Changes to single design points, by label.
    #[serde(default)]
    pub points: BTreeMap<String, PointChange>,
    /// Other metrics of the runs, by the metric that claims name: what the paper's words count.
    #[serde(default)]
    pub metrics: BTreeMap<String, String>,
    /// Other ways from programs to one value (`over` of a claim), by the way that claims name.
    #[serde(default)]
    pub over: BTreeMap<Over, Over>,
    /// Other logging runtimes of native runs, by the one that claims name.
    #[serde(default)]
    pub native_logs: BTreeMap<String, String>,
}

/// What a reading changes at one design point.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct PointChange {
    /// Another design.
    #[serde(default)]
    pub design: Option<String>,
    /// Further settings.
    #[serde(default)]
    pub set: Vec<String>,
    /// Further settings where the point has its own design, not the one that stands in for it on certain media.
    #[serde(default)]
    pub set_here: Vec<String>,
    /// Another logging runtime.
    #[serde(default)]
    pub log: Option<String>,
}

impl Reading {
    /// Whether it changes no simulated run: nothing, or native runs.
    fn is_native(&self) -> bool {
        let named = Reading {
            name: self.name.clone(),
            reason: self.reason.clone(),
            native_logs: self.native_logs.clone(),
            ..Reading::default()
        };
        *self == named
    }
}

impl Readings {
    /// The embedded readings of a paper; none where it has no such file.
    pub fn of_paper(paper: &str, experiment: &Experiment) -> Result<Readings, BadInput> {
        let Some((path, text)) = text(paper, "readings.toml")? else {
            return Ok(Readings::default());
        };
        let readings: Readings = parse(&path, &text)?;
        match readings.flaw(experiment) {
            None => Ok(readings),
            Some(why) => Err(BadInput::new(format!("{path}: {why}"))),
        }
    }
    /// The input of this name.
    pub fn input(&self, name: &str) -> Option<&Input> {
        self.input.iter().find(|i| i.name == name)
    }

    /// What is wrong with the file in itself, if anything.
    fn flaw(&self, experiment: &Experiment) -> Option<String> {
        let tags: BTreeSet<&str> = experiment.matrix.iter().map(|m| m.tag.as_str()).collect();
        if let Some(tag) = self.headline.iter().find(|t| !tags.contains(t.as_str())) {
            return Some(format!("headline experiment `{tag}` does not exist"));
        }
        let mut names = BTreeSet::new();
        for input in &self.input {
            if !names.insert(&input.name) {
                return Some(format!("input `{}` is declared twice", input.name));
            }
            if let Some(why) = input.flaw(experiment) {
                return Some(format!("input `{}`: {why}", input.name));
            }
        }
        let flaw = |c: &Calibration| Some(format!("calibration by {}: {}", c.claim, self.unfixed(c)?));
        self.calibration.iter().find_map(flaw)
    }
    /// Why a calibration has not fixed its input, if it has not.
    fn unfixed(&self, c: &Calibration) -> Option<String> {
        let Some(input) = self.input(&c.input) else {
            return Some(format!("there is no input `{}`", c.input));
        };
        if input.primary != c.chosen {
            return Some(format!("`{}` is not the primary of `{}`", c.chosen, c.input));
        }
        if let Some(unknown) = c.others.keys().find(|r| input.reading(r).is_none()) {
            return Some(format!("`{}` has no reading `{unknown}`", c.input));
        }
        c.table.flaw()
    }
}

impl Input {
    /// Whether its readings change native runs, and no simulated one.
    pub fn is_native(&self) -> bool {
        let changes = self.reading.iter().any(|r| !r.native_logs.is_empty());
        changes && self.reading.iter().all(Reading::is_native)
    }
    /// The reading of this name.
    pub fn reading(&self, name: &str) -> Option<&Reading> {
        self.reading.iter().find(|r| r.name == name)
    }

    fn flaw(&self, experiment: &Experiment) -> Option<String> {
        if !(1..=4).contains(&self.rule) {
            return Some(format!("rule {} is not one of the four rules of precedence", self.rule));
        }
        if let Some(why) = self.unsourced() {
            return Some(why);
        }
        if self.reading.len() < 2 {
            return Some("an open input has at least two readings".into());
        }
        if self.reading(&self.primary).is_none() {
            return Some(format!("the primary `{}` is not among the readings", self.primary));
        }
        let names: BTreeSet<&str> = self.reading.iter().map(|r| r.name.as_str()).collect();
        if names.len() < self.reading.len() {
            return Some("two readings have one name".into());
        }
        let mut labels = self.reading.iter().flat_map(|r| r.points.keys());
        let unknown = labels.find(|l| !experiment.points.contains_key(*l));
        unknown.map(|l| format!("there is no design point `{l}`"))
    }
    /// What is missing of the sources: both sides are quoted, or it is said why a side is not.
    fn unsourced(&self) -> Option<String> {
        if let Some(why) = self.quotes.iter().chain(&self.against).find_map(Quote::flaw) {
            return Some(why);
        }
        if self.rule == 1 && self.quotes.is_empty() {
            return Some("rule 1 is the paper's text, and no sentence of it is quoted".into());
        }
        if self.quotes.is_empty() == self.silent.is_empty() {
            return Some("either sentences are quoted, or it is said that the paper has none (`silent`)".into());
        }
        if self.conclusion.is_empty() {
            return Some("nothing is concluded".into());
        }
        let opposed = !self.against.is_empty() || !self.doubt.is_empty();
        (!opposed).then(|| "nothing is said against the primary".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::spec::names;
    use crate::experiment::spec::read;
    #[test]
    fn embedded_readings_are_sound_and_say_where_they_come_from() {
        for paper in names() {
            let experiment: Experiment = read(paper, "experiment.toml").unwrap_or_else(|e| panic!("{e}"));
            let readings = Readings::of_paper(paper, &experiment).unwrap_or_else(|e| panic!("{e}"));
            for i in &readings.input {
                let reasons = i.reading.iter().all(|r| r.reason.len() > 10);
                assert!(reasons, "{paper} {}: no reason", i.name);
            }
        }
    }
    #[test]
    fn flaws_are_named() {
        let experiment: Experiment = read("dpo", "experiment.toml").unwrap();
        let flaw = |text: &str| {
            let r: Readings = crate::experiment::spec::parse("r.toml", text).unwrap_or_else(|e| panic!("{e}"));
            r.flaw(&experiment).unwrap_or_default()
        };
        let input = |rest: &str| {
            format!("[[input]]\nname='i'\nabout=''\nrule=4\nsilent='s'\nconclusion='c'\ndoubt='d'\nprimary='a'\n{rest}")
        };
        let ok = input("reading=[{name='a',reason=''},{name='b',reason=''}]");
        assert_eq!(flaw(&ok), "");
        assert!(flaw("headline=['E99']").contains("E99"));
        assert!(flaw(&input("reading=[{name='a',reason=''}]")).contains("at least two"));
        assert!(flaw(&input("reading=[{name='c',reason=''},{name='b',reason=''}]")).contains("primary"));
        assert!(flaw(&format!("{ok}\n{ok}")).contains("twice"));
        let unknown_point = input("reading=[{name='a',reason='',points={x={}}},{name='b',reason=''}]");
        assert!(flaw(&unknown_point).contains("point `x`"));
    }
    /// A calibration names an input, its primary, and readings that there are.
    #[test]
    fn calibrations_fix_an_input() {
        let experiment: Experiment = read("dpo", "experiment.toml").unwrap();
        let flaw = |input: &str, chosen: &str, others: &str, table: &str| {
            let text = format!(
                "[[input]]\nname='i'\nabout=''\nrule=4\nsilent='s'\nconclusion='c'\ndoubt='d'\nprimary='a'\n\
                 reading=[{{name='a',reason=''}},{{name='b',reason=''}}]\n\
                 [[calibration]]\nclaim='C'\ntable=['{table}','A table.']\ndenominator=''\ninput='{input}'\n\
                 chosen='{chosen}'\nachieved=1.0\nothers={{{others}}}"
            );
            let r: Readings = crate::experiment::spec::parse("r.toml", &text).unwrap_or_else(|e| panic!("{e}"));
            r.flaw(&experiment).unwrap_or_default()
        };
        assert_eq!(flaw("i", "a", "b=2.0", "Table III"), "");
        assert!(flaw("j", "a", "b=2.0", "Table III").contains("no input `j`"));
        assert!(flaw("i", "b", "a=2.0", "Table III").contains("not the primary"));
        assert!(flaw("i", "a", "c=2.0", "Table III").contains("no reading `c`"));
        assert!(flaw("i", "a", "b=2.0", "here").contains("no section"));
    }
    /// Both sides are quoted with their section, or it is said why not.
    #[test]
    fn inputs_without_sources_are_refused() {
        let experiment: Experiment = read("dpo", "experiment.toml").unwrap();
        let flaw = |rule: u8, sources: &str| {
            let text = format!(
                "[[input]]\nname='i'\nabout=''\nrule={rule}\nprimary='a'\n{sources}\n\
                 reading=[{{name='a',reason=''}},{{name='b',reason=''}}]"
            );
            let r: Readings = crate::experiment::spec::parse("r.toml", &text).unwrap_or_else(|e| panic!("{e}"));
            r.flaw(&experiment).unwrap_or_default()
        };
        let (ours, quoted) = ("conclusion='c'\ndoubt='d'", "quotes=[['IV-B','It does.']]");
        assert_eq!(flaw(1, &format!("{ours}\n{quoted}")), "");
        assert_eq!(
            flaw(1, &format!("conclusion='c'\n{quoted}\nagainst=[['V','It does not.']]")),
            ""
        );
        assert_eq!(flaw(4, &format!("{ours}\nsilent='nothing'")), "");
        assert!(flaw(1, &format!("{ours}\nsilent='nothing'")).contains("rule 1"));
        assert!(flaw(4, ours).contains("silent"));
        assert!(flaw(4, &format!("{ours}\nsilent='nothing'\n{quoted}")).contains("silent"));
        assert!(flaw(1, &format!("conclusion='c'\n{quoted}")).contains("against"));
        assert!(flaw(1, &format!("conclusion=''\ndoubt='d'\n{quoted}")).contains("concluded"));
        assert!(flaw(1, &format!("{ours}\nquotes=[['','It does.']]")).contains("section"));
        assert!(flaw(1, &format!("{ours}\nquotes=[['IV-B','it does']]")).contains("whole"));
    }
}
