//! A choice takes one reading of every input; it turns the experiment as written into the one to run.

use super::spec::{Reading, Readings};
use crate::experiment::spec::Experiment;
use fencepost_kernel::rng;
use fencepost_run::BadInput;

/// One reading per input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What distinguishes it: empty for the primaries, `input=reading` for one other reading alone, `joint-N` for a sample.
    pub label: String,
    /// Index of the reading taken, per input, in the order of the file.
    pub taken: Vec<usize>,
}

impl Choice {
    /// The primary reading of every input.
    pub fn primaries(readings: &Readings) -> Choice {
        let primary = |i: &super::Input| i.reading.iter().position(|r| r.name == i.primary);
        Choice {
            label: String::new(),
            taken: readings.input.iter().map(|i| primary(i).unwrap_or(0)).collect(),
        }
    }
    /// The primaries but for what `asked` names, each as `INPUT=READING`.
    pub fn asked(readings: &Readings, asked: &[String]) -> Result<Choice, BadInput> {
        let mut choice = Choice::primaries(readings);
        for text in asked {
            let Some((name, value)) = text.split_once('=').map(|(n, v)| (n.trim(), v.trim())) else {
                return Err(BadInput::new(format!("`{text}` is not of the form INPUT=READING"))
                    .hint("`fencepost list readings` names them"));
            };
            let inputs = || readings.input.iter().map(|i| i.name.as_str());
            let at = readings.input.iter().position(|i| i.name == name);
            let at = at.ok_or_else(|| BadInput::unknown("open input", name, inputs()))?;
            let of = &readings.input[at].reading;
            let reading = of.iter().position(|r| r.name == value);
            let names = || of.iter().map(|r| r.name.as_str());
            choice.taken[at] =
                reading.ok_or_else(|| BadInput::unknown(&format!("reading of `{name}`"), value, names()))?;
        }
        choice.label = asked.join(",");
        Ok(choice)
    }
    /// Every reading that is not primary, alone: all other inputs as in `self`. Not those of native runs, which change no simulated one.
    pub fn one_at_a_time(&self, readings: &Readings) -> Vec<Choice> {
        let mut out = Vec::new();
        for (i, input) in readings.input.iter().enumerate() {
            let open = |r: &(usize, &Reading)| r.0 != self.taken[i] && !input.is_native();
            let others = input.reading.iter().enumerate().filter(open);
            for (r, reading) in others {
                let mut taken = self.taken.clone();
                taken[i] = r;
                let label = format!("{}={}", input.name, reading.name);
                out.push(Choice { label, taken });
            }
        }
        out
    }
    /// A Latin hypercube: in `samples` choices every reading of an input occurs equally often, up to one, in shuffled order.
    pub fn joint(readings: &Readings) -> Vec<Choice> {
        let n = readings.samples as usize;
        let columns: Vec<Vec<usize>> = (readings.input.iter().enumerate())
            .map(|(i, input)| {
                let mut column: Vec<usize> = (0..n).map(|s| s % input.reading.len()).collect();
                for s in (1..n).rev() {
                    let h = rng::hash(&[readings.sample_seed, i as u64, s as u64]);
                    column.swap(s, (h % (s as u64 + 1)) as usize);
                }
                column
            })
            .collect();
        let sample = |s: usize| Choice {
            label: format!("joint-{}", s + 1),
            taken: columns.iter().map(|c| c[s]).collect(),
        };
        (0..n).map(sample).collect()
    }
    /// The readings taken, in the order of the inputs.
    pub fn readings<'a>(&'a self, readings: &'a Readings) -> impl Iterator<Item = (&'a str, &'a Reading)> {
        let pairs = readings.input.iter().zip(&self.taken);
        pairs.map(|(i, r)| (i.name.as_str(), &i.reading[*r]))
    }
    /// The experiment under this choice.
    pub fn apply(&self, experiment: &Experiment, readings: &Readings) -> Experiment {
        let mut e = experiment.clone();
        for (_, reading) in self.readings(readings) {
            change(&mut e, reading);
        }
        e
    }
    /// Only the headline experiments under this choice.
    pub fn apply_to_headline(&self, experiment: &Experiment, readings: &Readings) -> Experiment {
        let mut e = self.apply(experiment, readings);
        e.matrix.retain(|m| readings.headline.contains(&m.tag) && !m.check);
        e
    }
}

fn change(e: &mut Experiment, reading: &Reading) {
    for m in &mut e.matrix {
        // Checked runs keep their own sizes: recovery reads all of a structure at every crash point.
        let at = if m.check { 0 } else { m.set.len() };
        m.set.splice(at..at, reading.set.iter().cloned());
        for program in &mut m.programs {
            if let Some(other) = reading.programs.get(program) {
                program.clone_from(other);
            }
        }
        m.threads = reading.threads.unwrap_or(m.threads);
        m.equal_cycles = reading.equal_cycles.unwrap_or(m.equal_cycles);
        m.log = reading.log.clone().or(m.log.take());
        let named = |l: &(&String, &String)| m.programs.contains(l.0);
        let logs: Vec<_> = (reading.logs.iter().filter(named))
            .map(|(p, l)| (p.clone(), l.clone()))
            .collect();
        m.logs.extend(logs);
        for (from, to) in &reading.media {
            m.media_as.insert(from.clone(), to.clone());
        }
        for (media, sets) in &reading.on_media {
            m.media_set
                .entry(media.clone())
                .or_default()
                .extend(sets.iter().cloned());
        }
    }
    e.counted.metrics.extend(reading.metrics.clone());
    e.counted.over.extend(&reading.over);
    e.native.logs.extend(reading.native_logs.clone());
    for (label, c) in &reading.points {
        let Some(point) = e.points.get_mut(label) else { continue };
        if let Some(design) = &c.design {
            point.design = design.clone();
        }
        point.set.extend(c.set.iter().cloned());
        point.set_here.extend(c.set_here.iter().cloned());
        point.log = c.log.clone().or(point.log.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::spec::parse;

    fn readings() -> Readings {
        let text = "samples = 12\n[[input]]\nname='a'\nabout=''\nrule=1\nconclusion='c'\nprimary='y'\n\
                    reading=[{name='x',reason='',set=['core.rob=8']},{name='y',reason=''},{name='z',reason='',media={pcm='pwq'}}]\n\
                    [[input]]\nname='b'\nabout=''\nrule=4\nconclusion='c'\nprimary='p'\n\
                    reading=[{name='p',reason=''},{name='q',reason='',points={so={design='so-adr'}}}]\n";
        parse("r.toml", text).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn an_input_of_native_runs_changes_no_simulated_one() {
        let of = |set: &str| {
            let text = format!(
                "samples = 1\n[[input]]\nname='n'\nabout=''\nrule=4\nconclusion='c'\nprimary='p'\n\
                 reading=[{{name='p',reason=''}},{{name='q',reason='',native_logs={{'undo-array'='library-list'}}{set}}}]\n"
            );
            parse::<Readings>("r.toml", &text).unwrap_or_else(|e| panic!("{e}"))
        };
        let (native, both) = (of(""), of(",set=['core.rob=8']"));
        let others = |r: &Readings| Choice::primaries(r).one_at_a_time(r).len();
        assert_eq!([others(&native), others(&both)], [0, 1]);
        let mut e: Experiment = crate::experiment::spec::read("themis", "experiment.toml").unwrap();
        let matrix = format!("{:?}", e.matrix);
        change(&mut e, &native.input[0].reading[1]);
        assert_eq!(e.native.logs["undo-array"], "library-list");
        assert_eq!(format!("{:?}", e.matrix), matrix);
    }
    #[test]
    fn one_at_a_time_differs_from_the_primaries_in_one_input() {
        let (r, p) = (readings(), Choice::primaries(&readings()));
        assert_eq!(p.taken, [1, 0]);
        let others = p.one_at_a_time(&r);
        let labels: Vec<&str> = others.iter().map(|c| c.label.as_str()).collect();
        assert_eq!(labels, ["a=x", "a=z", "b=q"]);
        for c in &others {
            let different = c.taken.iter().zip(&p.taken).filter(|(x, y)| x != y).count();
            assert_eq!(different, 1, "{}", c.label);
        }
    }
    #[test]
    fn a_latin_hypercube_takes_every_reading_equally_often() {
        let joint = Choice::joint(&readings());
        assert_eq!(joint.len(), 12);
        let times = |input: usize, reading: usize| joint.iter().filter(|c| c.taken[input] == reading).count();
        assert_eq!([times(0, 0), times(0, 1), times(0, 2)], [4; 3]);
        assert_eq!([times(1, 0), times(1, 1)], [6; 2]);
        let ordered = |i: usize| joint.windows(2).all(|w| w[0].taken[i] <= w[1].taken[i]);
        assert!(!ordered(0) && !ordered(1), "the columns are not shuffled");
    }
    /// What stands later wins: of two million keys a checked run would read every one at each of thousands of crash points.
    #[test]
    fn checked_runs_keep_their_own_sizes() {
        let e: Experiment = crate::experiment::spec::read("dpo", "experiment.toml").unwrap();
        let text = "samples = 1\n[[input]]\nname='tree'\nabout=''\nrule=1\nconclusion='c'\nprimary='large'\n\
                    reading=[{name='large',reason='',set=['program.rbtree.keys=2000000']}]\n";
        let r: Readings = parse("r.toml", text).unwrap_or_else(|e| panic!("{e}"));
        let applied = Choice::primaries(&r).apply(&e, &r);
        let keys = |m: &crate::experiment::spec::Matrix| {
            let sets = m.set.iter().filter_map(|s| s.strip_prefix("program.rbtree.keys="));
            sets.map(str::to_owned).next_back()
        };
        let of = |check: bool| applied.matrix.iter().filter(move |m| m.check == check).map(keys);
        assert!(of(true).all(|k| k.as_deref() == Some("2048")));
        assert!(of(false).all(|k| k.as_deref() == Some("2000000")));
    }
    #[test]
    fn a_choice_changes_what_its_readings_say() {
        let e: Experiment = crate::experiment::spec::read("dpo", "experiment.toml").unwrap();
        let r = readings();
        let asked = |a: &[&str]| Choice::asked(&r, &a.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>());
        let x = asked(&["a=x", "b = q"]).unwrap().apply(&e, &r);
        assert!(x.matrix.iter().all(|m| m.set.contains(&"core.rob=8".to_owned())));
        assert_eq!(x.points["so"].design, "so-adr");
        assert_eq!(x.matrix[0].programs, e.matrix[0].programs);
        let mut swapped = r.clone();
        let from = e.matrix[0].programs[0].clone();
        swapped.input[0].reading[0].programs.insert(from.clone(), "sdg".into());
        let other = Choice::asked(&swapped, &["a=x".to_owned()])
            .unwrap()
            .apply(&e, &swapped);
        assert_eq!(other.matrix[0].programs[0], "sdg");
        assert!(!other.matrix[0].programs.contains(&from));
        let z = asked(&["a=z"]).unwrap().apply(&e, &r);
        assert_eq!(z.matrix[0].media_as["pcm"], "pwq");
        assert_eq!(z.points["so"].design, "so");
        assert!(asked(&["c=x"]).unwrap_err().to_string().contains("open input"));
        assert!(asked(&["a=w"]).unwrap_err().to_string().contains("reading of `a`"));
        assert!(asked(&["a"]).unwrap_err().to_string().contains("INPUT=READING"));
    }
}
