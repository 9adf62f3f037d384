//! What the battery consists of, and what it finds.

use super::issued::Issued;
use std::fmt;

/// How much is run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Random programs for each design.
    pub programs: u64,
    /// Random programs within which a fault must be convicted.
    pub patience: u64,
    /// Whether every program runs on every machine with every medium, or each of them at least once.
    pub whole_product: bool,
    /// Crash points of a program that are examined, evenly spread: SQLite writes pages, and has tens of thousands.
    pub points: u64,
}
impl Extent {
    /// What the test suite runs.
    pub const fn sample() -> Extent {
        Extent {
            programs: 4_000,
            patience: 6_000,
            whole_product: false,
            points: 2_000,
        }
    }
    /// Everything.
    pub const fn full() -> Extent {
        Extent {
            programs: 40_000,
            patience: 24_000,
            whole_product: true,
            points: 20_000,
        }
    }
}

/// A part of the battery.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Page, storage cost, parameters, contract: all there.
    Declared,
    /// Random programs conform, recover and lose nothing; some reorder.
    Random,
    /// The same seed gives the same log, another seed another.
    SameSeed,
    /// Every queue of machine and design at its smallest.
    Smallest,
    /// Where the promise cannot be kept, that shows.
    Unsound,
    /// Every declared fault is convicted.
    Faults,
    /// Every program of the registry on machines and media.
    Programs,
}
impl Part {
    /// Every part, in the order of the table.
    pub const ALL: [Part; 7] = [
        Part::Declared,
        Part::Random,
        Part::SameSeed,
        Part::Smallest,
        Part::Unsound,
        Part::Faults,
        Part::Programs,
    ];
    /// Heading of its column.
    pub const fn name(self) -> &'static str {
        match self {
            Part::Declared => "declared",
            Part::Random => "random programs",
            Part::SameSeed => "same seed",
            Part::Smallest => "smallest",
            Part::Unsound => "unsound",
            Part::Faults => "faults",
            Part::Programs => "programs",
        }
    }
}

/// What a part of the battery found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Runs made.
    pub runs: u64,
    /// Stores durable before older ones, as the contract permits.
    pub reordered: u64,
    /// Crash points after which recovery was tried.
    pub crash_points: u64,
    /// Transactions that were rolled back, by program or hardware.
    pub aborted: u64,
    /// The instructions that random programs issued.
    pub issued: Issued,
    /// Runs with more crash points than are examined of one.
    pub capped: Vec<String>,
    /// What must not be.
    pub wrong: Vec<String>,
}
impl Found {
    /// One wrong thing.
    pub fn wrong(why: impl Into<String>) -> Found {
        Found {
            wrong: vec![why.into()],
            ..Found::default()
        }
    }
    /// Adds what another share of the same part found.
    pub fn add(&mut self, other: Found) {
        self.runs += other.runs;
        self.reordered += other.reordered;
        self.crash_points += other.crash_points;
        self.aborted += other.aborted;
        self.issued.add(&other.issued);
        self.capped.extend(other.capped);
        self.wrong.extend(other.wrong);
    }
}

/// The verdict on one design.
#[derive(Clone, Debug)]
pub struct DesignVerdict {
    /// Name of the design.
    pub design: &'static str,
    /// What each part found, in the order of [`Part::ALL`].
    pub parts: Vec<(Part, Found)>,
}
impl DesignVerdict {
    /// Everything wrong with the design.
    pub fn wrong(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(|(_, f)| f.wrong.iter().map(String::as_str))
    }
}
impl fmt::Display for DesignVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<16}", self.design)?;
        for (part, found) in &self.parts {
            let text = match (found.wrong.len(), part) {
                (0, Part::Random) => format!("{} ({} reordered)", found.runs, found.reordered),
                (0, _) if found.runs == 0 => "-".to_owned(),
                (0, _) => found.runs.to_string(),
                (n, _) => format!("{n} WRONG"),
            };
            write!(f, " {text:<width$}", width = column(*part))?;
        }
        let mut capped = self.parts.iter().flat_map(|(_, f)| &f.capped);
        capped.try_for_each(|run| write!(f, "\n    capped: {run}"))?;
        self.wrong().try_for_each(|why| write!(f, "\n    {why}"))
    }
}
const fn column(part: Part) -> usize {
    match part {
        Part::Random => 26,
        _ => 10,
    }
}
/// The line above the table of verdicts.
pub fn heading() -> String {
    let columns = Part::ALL.map(|p| format!(" {:<width$}", p.name(), width = column(p)));
    format!("{:<16}{}", "design", columns.concat())
}
