//! Bytes at a controller, kept in checked runs: what the medium stores, and what each read returned.

use super::ReadId;
use fencepost_kernel::{Image, LineAddr, LineData};
use rustc_hash::{FxHashMap, FxHashSet};

/// The bytes of a line.
type Words = [u64; 8];

/// The medium's bytes, and those of reads that are on their way back.
#[derive(Clone, Debug)]
pub(super) struct Contents {
    medium: Image,
    /// Lines whose bytes lie in a non-volatile cache in front of the medium.
    cached: FxHashSet<LineAddr>,
    answers: FxHashMap<ReadId, Words>,
}
impl Contents {
    /// A medium that holds `medium`.
    pub(super) fn new(medium: Image) -> Contents {
        Contents {
            medium,
            cached: FxHashSet::default(),
            answers: FxHashMap::default(),
        }
    }
    /// A queued write answers a read.
    pub(super) fn forwarded(&mut self, id: ReadId, words: Words) {
        self.answers.insert(id, words);
    }
    /// A read is asked for: what a non-volatile cache holds it answers as of now.
    pub(super) fn asked(&mut self, id: ReadId, line: LineAddr) {
        if self.cached.contains(&line) {
            self.answers.insert(id, self.medium.line_words(line));
        }
    }
    /// The medium answers a read.
    pub(super) fn read(&mut self, id: ReadId, line: LineAddr) {
        let words = self.medium.line_words(line);
        self.answers.entry(id).or_insert(words);
    }
    /// The medium has stored a write.
    pub(super) fn stored(&mut self, line: LineAddr, data: &LineData) {
        self.medium.set_line(line, data);
        self.cached.remove(&line);
    }
    /// A non-volatile cache has stored bytes at an address of its own. (A log's blocks are in the medium by then.)
    pub(super) fn cached(&mut self, line: LineAddr, data: &LineData) {
        if self.medium.line_words(line) != data.words {
            self.medium.set_line(line, data);
            self.cached.insert(line);
        }
    }
    /// What a read returned.
    pub(super) fn take(&mut self, id: ReadId) -> Option<Words> {
        self.answers.remove(&id)
    }
}
