//! Where a test's locations lie: which share a line, which are persistent.

use crate::format::test::Test;
use crate::paths::program::Program;
use fencepost_kernel::Addr;
use std::collections::{BTreeMap, BTreeSet};

/// One word of the test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its address in the test.
    pub at: u64,
    /// Its name.
    pub name: String,
    /// Where it lies on the machine.
    pub addr: Addr,
    /// Whether it survives a power failure.
    pub persistent: bool,
    /// Its value at first.
    pub initial: u64,
}

/// Every word of a test, by name. Each lies on a line of its own unless the header `Lines=xa,xb;y` puts some together; all are
/// persistent unless the header `Persistent=x,y` lists those that are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The words in alphabetical order.
    pub words: Vec<Word>,
}

/// The groups of names of a header, by line.
fn groups(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.split(';').map(|line| {
        line.split([',', ' '])
            .map(str::trim)
            .filter(|n| !n.is_empty())
            .collect()
    })
}

impl Layout {
    /// The layout of a test.
    pub fn new(program: &Program<'_>) -> Layout {
        let test = program.test;
        let mut used: BTreeSet<u64> = BTreeSet::new();
        for event in program.paths.iter().flatten().flat_map(|p| &p.events) {
            used.insert(event.addr);
        }
        let named = test.locations.names().iter().filter_map(|n| test.locations.find(n));
        used.extend(named.filter(|at| test.locations.length(*at) <= 1));
        Layout::of(test, &used)
    }

    fn of(test: &Test, used: &BTreeSet<u64>) -> Layout {
        let mut lines: Vec<Vec<u64>> = Vec::new();
        let together: Vec<Vec<u64>> = groups(test.header("Lines").unwrap_or(""))
            .map(|names| names.into_iter().filter_map(|n| test.locations.find(n)).collect())
            .collect();
        let base = |at: u64| at - (at - crate::format::test::BASE) % crate::format::test::STRIDE;
        for at in used {
            let home = together.iter().find(|g| g.contains(&base(*at)));
            let shares =
                |line: &&mut Vec<u64>| base(line[0]) == base(*at) || home.is_some_and(|g| g.contains(&base(line[0])));
            match lines.iter_mut().find(shares) {
                Some(line) => line.push(*at),
                None => lines.push(vec![*at]),
            }
        }
        let listed: Option<BTreeSet<&str>> = test.header("Persistent").map(|p| groups(p).flatten().collect());
        let mut words = BTreeMap::new();
        for (n, line) in lines.iter().enumerate() {
            for (i, at) in line.iter().enumerate() {
                let name = test.locations.show(*at);
                let persistent = listed
                    .as_ref()
                    .is_none_or(|l| l.contains(name.as_str()) || l.contains(test.locations.show(base(*at)).as_str()));
                // Eight words to a line; what an array has beyond lies on lines of its own.
                let offset = 4096 * n as u64 + 8 * i as u64;
                let addr = if persistent { Addr::pm(offset) } else { Addr(offset) };
                let initial = test.locations.initial(*at);
                words.insert(
                    name.clone(),
                    Word {
                        at: *at,
                        name,
                        addr,
                        persistent,
                        initial,
                    },
                );
            }
        }
        Layout {
            words: words.into_values().collect(),
        }
    }
    /// The number of a word by its address in the test.
    pub fn index(&self, at: u64) -> Option<usize> {
        self.words.iter().position(|w| w.at == at)
    }
    /// The words that survive.
    pub fn persistent(&self) -> impl Iterator<Item = &Word> + '_ {
        self.words.iter().filter(|w| w.persistent)
    }
    /// Whether two words share a line.
    pub fn same_line(&self, a: usize, b: usize) -> bool {
        self.words[a].addr.line() == self.words[b].addr.line()
    }
}
