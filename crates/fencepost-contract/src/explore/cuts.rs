//! The marks that plain recoveries set where paths may merge.

use super::memo::Memo;
use super::path::Path;
use super::search::Doubt;
use super::stop::Stop;

/// The marks of plain recoveries: what they hash, and which of them are known to end well.
pub(super) struct Cuts {
    pub memo: Memo,
    /// The hashes of the marks on the path.
    pub lives: Vec<u64>,
    pub merge: bool,
    pub doubt: Doubt,
    /// Marks that a path may have.
    pub most: usize,
    pub merges: u64,
    pub marks: u64,
}
impl Cuts {
    /// Recovery passes a mark; `live` stands for everything that it uses later.
    pub(super) fn mark(&mut self, path: &mut Path, live: u64) {
        if path.replaying() {
            return path.pass_mark();
        }
        if path.depth() >= self.most {
            Stop::Endless.unwind();
        }
        self.marks += 1;
        let mut doubted = false;
        if self.merge
            && path.should_ask()
            && let Some(words) = self.memo.find(live, &path.known)
        {
            self.merges += 1;
            doubted = self.doubt.applies(self.merges);
            if !doubted {
                path.read_also(&words);
                Stop::Merged.unwind();
            }
        }
        path.enter(doubted);
        self.lives.push(live);
    }
}
