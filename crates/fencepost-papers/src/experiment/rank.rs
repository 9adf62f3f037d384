//! Orders among programs.

use super::measured::{Measured, NUMBER_TOLERANCE, PerProgram, each, missing, shape, verdict, verdict_for_good};
use super::metrics::Compared;
use super::rule::Rank;
use super::runs::Runs;

impl Rank {
    /// Whether the programs keep the order on every medium and at every design point.
    pub(super) fn measure(&self, runs: &Runs) -> Option<Measured> {
        let (mut holds, mut broken, mut notes) = (true, false, Vec::new());
        for (point, media) in self.points.iter().flat_map(|p| self.media.iter().map(move |m| (p, m))) {
            let all = self.values(runs, point, media);
            let ordered = self.in_order(&all)?;
            holds &= ordered;
            broken |= !ordered;
            let text = self.says.replace("{point}", point).replace("{media}", media);
            notes.push(text.replace("{programs}", &each(&all)));
            if let Some(ends) = self.gains {
                return Some(self.ends(&all, ends, &notes.concat(), runs));
            }
        }
        let named: Vec<String> = match self.groups.iter().any(Vec::is_empty) {
            true => Vec::new(),
            false => self.groups.concat(),
        };
        let missing = missing(runs, &self.tag, &named);
        Some(verdict_for_good(holds, broken, notes.join("; "), missing))
    }
    /// Whether it is an order of some programs, one by one, and says nothing of others.
    pub(crate) fn is_total(&self) -> bool {
        self.groups.iter().all(|g| g.len() == 1)
    }
    /// Values in the form in which the paper states them, in the order in which they are shown.
    fn values(&self, runs: &Runs, point: &str, media: &str) -> PerProgram {
        let compared = Compared {
            tag: &self.tag,
            metrics: [&self.metric; 2],
            point,
            base: self.base.as_deref(),
            media,
        };
        let mut all = compared.per_program(runs);
        for value in &mut all {
            value.1 = shape(self.form, value.1);
        }
        if self.is_total() {
            let groups = self.groups.concat();
            let named = groups.iter().filter_map(|p| all.iter().find(|v| v.0 == *p).cloned());
            all = named.collect();
        }
        if self.sorted {
            // By what comes first in the order: the largest, or the smallest where the first group holds all others.
            all.sort_by(|a, b| a.1.total_cmp(&b.1));
            if self.groups.first().is_some_and(|g| !g.is_empty()) {
                all.reverse();
            }
        }
        all
    }
    /// Whether every program of each group has more than every one of the next; `None` where two groups have nobody.
    fn in_order(&self, all: &PerProgram) -> Option<bool> {
        let others = |p: &String| !self.groups.iter().flatten().any(|named| named == p);
        let of = |group: &Vec<String>| -> Vec<f64> {
            let member = |p: &String| if group.is_empty() { others(p) } else { group.contains(p) };
            all.iter().filter(|v| member(&v.0)).map(|v| v.1).collect()
        };
        let groups: Vec<(bool, Vec<f64>)> = self.groups.iter().map(|g| (g.is_empty(), of(g))).collect();
        let there: Vec<&(bool, Vec<f64>)> = groups.iter().filter(|g| !g.1.is_empty()).collect();
        if there.len() < 2 {
            return None;
        }
        // The end of an order may be shared where nothing names the others.
        let apart = |rest: bool, up: f64, down: f64| up > down || (rest && up == down);
        let pair = |w: &[&(bool, Vec<f64>)]| {
            let rest = w[0].0 || w[1].0;
            w[0].1
                .iter()
                .all(|up| w[1].1.iter().all(|down| apart(rest, *up, *down)))
        };
        Some(there.windows(2).all(pair))
    }
    /// Whether the values of the programs named begin and end where the paper says, wherever they stand.
    fn ends(&self, all: &PerProgram, [low, high]: [f64; 2], note: &str, runs: &Runs) -> Measured {
        let named = all.iter().filter(|v| self.groups.iter().flatten().any(|p| *p == v.0));
        let (least, most) = named.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v.1), b.max(v.1)));
        let near = |is: f64, want: f64| (is / want - 1.0).abs() <= NUMBER_TOLERANCE;
        let note = format!("{least:.1} to {most:.1}; {note}");
        verdict(
            near(least, low) && near(most, high),
            note,
            missing(runs, &self.tag, &[]),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::made_up;
    use crate::experiment::runs::Cell;
    use fencepost_run::result::Histogram;

    /// Three programs with gains of 80, 50 and 10 percent, and samples of 10, 20 and 30.
    fn runs() -> Runs {
        let mut runs = Runs {
            programs: ["x", "y", "z"].map(str::to_owned).into(),
            ..Runs::default()
        };
        for (program, slow, sample) in [("x", 180, 10), ("y", 150, 20), ("z", 110, 30)] {
            for (point, time) in [("fast", 100), ("slow", slow)] {
                let mut run = made_up(time);
                run.histograms = [("h".to_owned(), Histogram::new("ns", &[(sample, 5)].into()))].into();
                let cell = Cell {
                    tag: "E".into(),
                    program: program.into(),
                    point: point.into(),
                    media: "m".into(),
                    choice: String::new(),
                };
                runs.by_cell.insert(cell, run);
            }
        }
        runs
    }
    fn rank(runs: &Runs, rest: &str) -> Measured {
        let text = format!("tag = 'E'\npoints = 'slow'\nmedia = 'm'\n{rest}");
        let rank: Rank = toml_edit::de::from_str(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
        rank.measure(runs).expect("they ran")
    }

    #[test]
    fn the_programs_at_one_end_and_their_gains() {
        let mut runs = runs();
        let gains = "base = 'fast'\nform = 'gain-percent'\nsorted = true\n";
        let holds = |groups: &str| rank(&runs, &format!("{gains}groups = {groups}")).holds;
        assert_eq!(holds("[['y', 'x'], []]"), Some(true));
        assert_eq!(holds("[[], ['z']]"), Some(true));
        assert_eq!(holds("[[], ['y']]"), Some(false));
        assert_eq!(holds("[['x'], ['y'], ['z']]"), Some(true));
        assert_eq!(holds("[['x'], ['z'], ['y']]"), Some(false));
        let ends = |groups: &str, ends: &str| rank(&runs, &format!("{gains}groups = {groups}\ngains = {ends}"));
        assert_eq!(ends("[['x', 'y'], []]", "[45.0, 85.0]").holds, Some(true));
        let others = ends("[['x', 'z'], []]", "[45.0, 85.0]");
        assert_eq!(
            others.holds,
            Some(false),
            "the range is that of x and z, 10 to 80, not of the two best"
        );
        assert_eq!(others.note, "10.0 to 80.0; x 80.00, y 50.00, z 10.00");
        assert_eq!(ends("[['x', 'z'], []]", "[9.0, 85.0]").holds, Some(true));
        assert_eq!(ends("[['x', 'y'], []]", "[35.0, 85.0]").holds, Some(false));
        // What a missing program could still do: displace, never bring back.
        runs.missing_programs.insert("w".into());
        let broken = |groups: &str| rank(&runs, &format!("{gains}groups = {groups}")).broken;
        assert!(!broken("[['x', 'w'], []]") && broken("[['y'], []]"));
    }
    #[test]
    fn histograms_of_programs_in_order() {
        let runs = runs();
        let holds = |groups: &str| rank(&runs, &format!("metric = 'median:h'\ngroups = {groups}")).holds;
        assert_eq!(holds("[['z', 'y'], ['x']]"), Some(true));
        assert_eq!(holds("[['y'], ['z']]"), Some(false));
        assert_eq!(holds("[[], ['x']]"), Some(true));
        assert_eq!(holds("[[], ['y']]"), Some(false));
    }
}
