//! Committing only now and then: a measure of what committing costs, not a way to be crash-consistent.

use std::collections::HashSet;

/// Has a thread commit at every so-manieth of its program's commits only, and flush then what it has persisted since the last.
///
/// The per-task-committing paper (section IV-B, figure 10) varies it: *If we reduce data committing frequency that starts a data
/// committing period after multiple data updates, program will be less interrupted by committing periods.* Nothing is ordered in between,
/// so such a run has no verdict.
#[derive(Clone, Debug)]
pub struct RareCommits {
    /// Commits of the program for each that the thread makes; 1 makes all.
    pub every: u32,
    since: u32,
    /// Lines persisted since the last, each once, in the order in which they were first.
    lines: Vec<u64>,
    seen: HashSet<u64>,
}

impl Default for RareCommits {
    fn default() -> RareCommits {
        RareCommits::every(1)
    }
}

impl RareCommits {
    /// One commit for each `every` of the program's.
    pub fn every(every: u32) -> RareCommits {
        RareCommits {
            every,
            since: 0,
            lines: Vec::new(),
            seen: HashSet::new(),
        }
    }
    /// The line with this number is to be flushed with the next commit.
    pub(crate) fn persisted(&mut self, line: u64) {
        if self.seen.insert(line) {
            self.lines.push(line);
        }
    }
    /// The program commits: the lines to flush, if the thread does.
    pub(crate) fn due(&mut self) -> Option<Vec<u64>> {
        self.since += 1;
        if self.since < self.every {
            return None;
        }
        self.since = 0;
        self.seen.clear();
        Some(std::mem::take(&mut self.lines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_third_commit_flushes_what_was_persisted_since_the_last() {
        let mut rare = RareCommits::every(3);
        let mut made = Vec::new();
        for k in 0..7 {
            [k, 100, k].into_iter().for_each(|line| rare.persisted(line));
            made.push(rare.due());
        }
        let at = |lines: &[u64]| Some(lines.to_vec());
        let none = None;
        assert_eq!(
            made,
            [
                none.clone(),
                none.clone(),
                at(&[0, 100, 1, 2]),
                none.clone(),
                none.clone(),
                at(&[3, 100, 4, 5]),
                none
            ]
        );
    }
}
