//! The cache's content as bytes, and recovery from them.
//!
//! What the cache keeps through a power failure is shown at the start of the region that machines reserve for logs: one
//! line with the LastCommitted register, then, for every dirty transactional line, its 64 bytes and its tag (home line,
//! position in commit order or *early*, and a stamp that orders entries of one line). A line's bytes and tag change
//! together. Recovery promotes, per home line, the newest entry at or before the register, and discards the rest.

use crate::loc::config::LocFault;
use crate::loc::txs::Key;
use fencepost_kernel::decision;
use fencepost_kernel::units::LOG_BASE;
use fencepost_kernel::{Image, LineAddr, LineData};
use fencepost_machine::seam::{Cx, Recovery};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

const MAGIC: u64 = 0x6b69_6c6e_4c4c_4321;
const VALID: u64 = 0x7661_6c69_642d_7761;
const EARLY: u64 = u64::MAX;

#[derive(Copy, Clone, Debug)]
struct Entry {
    home: LineAddr,
    key: Key,
    stamp: u64,
}

/// The array's transactional content.
#[derive(Clone, Debug, Default)]
pub struct Array {
    entries: BTreeMap<u64, Entry>,
    /// Slots of entries whose transaction had not committed when they arrived.
    early: Vec<u64>,
    free: BTreeSet<u64>,
    slots: u64,
    stamp: u64,
}
fn data_line(slot: u64) -> LineAddr {
    LineAddr(LOG_BASE.line().0 + 2 + 2 * slot)
}
fn tag_line(slot: u64) -> LineAddr {
    LineAddr(data_line(slot).0 + 1)
}
fn plain(words: [u64; 8]) -> LineData {
    LineData { words, by: [None; 8] }
}
fn tag(entry: &Entry, order: Option<u64>) -> LineData {
    plain([VALID, entry.home.0, order.unwrap_or(EARLY), entry.stamp, 0, 0, 0, 0])
}

impl Array {
    /// A line of a transaction arrives; returns where its bytes lie.
    pub fn put(&mut self, cx: &mut dyn Cx, home: LineAddr, key: Key, order: Option<u64>, data: &LineData) -> LineAddr {
        // What the cache is being asked for is not written over before it has answered.
        let free = self.free.iter().find(|slot| !cx.is_read_for_another(data_line(**slot)));
        let slot = free.copied().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        });
        self.free.remove(&slot);
        self.stamp += 1;
        let entry = Entry {
            home,
            key,
            stamp: self.stamp,
        };
        self.entries.insert(slot, entry);
        if order.is_none() {
            self.early.push(slot);
        }
        cx.durable_together(&[(data_line(slot), *data), (tag_line(slot), tag(&entry, order))]);
        data_line(slot)
    }
    /// The entry whose bytes lie at `at` is over.
    pub fn clear(&mut self, cx: &mut dyn Cx, at: LineAddr) {
        let slot = (at.0 - data_line(0).0) / 2;
        if decision!("kiln.slot-freed", self.entries.remove(&slot).is_some()) {
            self.free.insert(slot);
            self.early.retain(|s| *s != slot);
            cx.durable_together(&[(tag_line(slot), plain([0; 8]))]);
        }
    }
    /// Entries that arrived before their transaction committed get its position; then the register passes `last`: the
    /// transactions up to it are committed, in one write.
    pub fn commit(&mut self, cx: &mut dyn Cx, order: impl Fn(Key) -> Option<u64>, last: u64) {
        let entries = &self.entries;
        self.early.retain(|slot| match order(entries[slot].key) {
            Some(order) => {
                cx.durable_together(&[(tag_line(*slot), tag(&entries[slot], Some(order)))]);
                false
            }
            None => true,
        });
        cx.durable_together(&[(LOG_BASE.line(), plain([MAGIC, last, 0, 0, 0, 0, 0, 0]))]);
    }
}

/// Position of the last committed transaction by the register of an image.
pub fn register(image: &Image) -> u64 {
    let words = image.line_words(LOG_BASE.line());
    if words[0] == MAGIC { words[1] } else { 0 }
}

/// A tag that stands for an entry.
struct Tag {
    at: LineAddr,
    home: LineAddr,
    /// Position in commit order or [`EARLY`], then the stamp.
    age: [u64; 2],
}

/// The valid tags of an image, in address order.
fn tags(image: &Image) -> Vec<Tag> {
    let first_tag = tag_line(0);
    let mut tags = Vec::new();
    for (first, words) in image.pages_from(first_tag) {
        let lines = (first.0..).map(LineAddr).zip(words.chunks_exact(8));
        let valid = lines.filter(|(l, w)| w[0] == VALID && *l >= first_tag && (l.0 - first_tag.0).is_multiple_of(2));
        tags.extend(valid.map(|(at, w)| Tag {
            at,
            home: LineAddr(w[1]),
            age: [w[2], w[3]],
        }));
    }
    tags
}

/// Promotes committed lines to their homes and discards the others. Those that a newer one supersedes go first: without it they would be
/// promoted by a recovery that begins again.
pub fn recover(memory: &mut Recovery<'_>, fault: LocFault) {
    let image = memory.image();
    let last = register(image);
    let tags = tags(image);
    let mut newest: FxHashMap<LineAddr, &Tag> = FxHashMap::default();
    for tag in tags.iter().filter(|t| t.age[0] <= last) {
        let known = newest.entry(tag.home).or_insert(tag);
        if known.age < tag.age {
            *known = tag;
        }
    }
    let is_newest = |t: &&Tag| newest.get(&t.home).is_some_and(|n| n.at == t.at);
    let (kept, discarded): (Vec<&Tag>, Vec<&Tag>) = tags.iter().partition(is_newest);
    let mut homes: Vec<(LineAddr, LineData)> = (kept.iter())
        .map(|t| (t.home, image.line(LineAddr(t.at.0 - 1))))
        .collect();
    homes.sort_unstable_by_key(|h| h.0);
    let clear = |memory: &mut Recovery<'_>, tags: &[&Tag]| tags.iter().for_each(|t| memory.write(t.at, plain([0; 8])));
    if fault == LocFault::LogEmptiedFirst {
        clear(memory, &kept);
    }
    clear(memory, &discarded);
    memory.barrier();
    homes.into_iter().for_each(|(home, data)| memory.write(home, data));
    memory.barrier();
    if fault != LocFault::LogEmptiedFirst {
        clear(memory, &kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::Addr;
    use fencepost_machine::seam::{Again, Design, disturbed};

    struct Cache(LocFault);
    impl Design for Cache {
        fn recover(&self, memory: &mut Recovery<'_>) {
            recover(memory, self.0);
        }
    }
    fn home(n: u64) -> LineAddr {
        LineAddr(Addr::pm(4096).line().0 + n)
    }
    /// Two lines with two committed versions each, the older ones behind the newer in the array, and one that is not committed.
    fn crashed() -> Image {
        let mut image = Image::default();
        image.set_line(LOG_BASE.line(), &plain([MAGIC, 2, 0, 0, 0, 0, 0, 0]));
        let versions = [
            (home(0), 2, 20),
            (home(0), 1, 10),
            (home(1), 2, 21),
            (home(1), 1, 11),
            (home(2), 3, 30),
        ];
        for (slot, (line, order, bytes)) in (0..).zip(versions) {
            let entry = Entry {
                home: line,
                key: 0,
                stamp: slot,
            };
            image.set_line(data_line(slot), &plain([bytes; 8]));
            image.set_line(tag_line(slot), &tag(&entry, Some(order)));
        }
        image
    }
    fn left(fault: LocFault) -> Vec<[u64; 3]> {
        let again = Again {
            depth: 2,
            states: u64::MAX,
        };
        let (outcomes, _) = disturbed(&Cache(fault), &crashed(), again);
        let words = |image: &Image| [0, 1, 2].map(|n| image.line_words(home(n))[0]);
        outcomes.iter().map(|o| words(&o.image)).collect()
    }

    #[test]
    fn the_newest_committed_versions_go_home_wherever_recovery_is_cut_short() {
        assert_eq!(left(LocFault::None), [[20, 21, 0]]);
    }
    /// A line that its transaction wrote again after it had left: the entry that came later has the newer bytes, wherever it lies.
    #[test]
    fn of_two_entries_of_a_transaction_the_one_that_came_later_goes_home() {
        for later in [0, 1] {
            let mut image = Image::default();
            image.set_line(LOG_BASE.line(), &plain([MAGIC, 1, 0, 0, 0, 0, 0, 0]));
            for slot in [0, 1] {
                let stamp = 5 + u64::from(slot == later);
                let entry = Entry {
                    home: home(0),
                    key: 0,
                    stamp,
                };
                image.set_line(data_line(slot), &plain([stamp; 8]));
                image.set_line(tag_line(slot), &tag(&entry, Some(1)));
            }
            let (outcomes, _) = disturbed(&Cache(LocFault::None), &image, Again { depth: 2, states: 99 });
            assert!(
                outcomes.iter().all(|o| o.image.line_words(home(0)) == [6; 8]),
                "slot {later}"
            );
        }
    }
    #[test]
    fn lines_discarded_before_they_are_home_are_lost() {
        let lost = left(LocFault::LogEmptiedFirst);
        assert!(lost.len() > 1 && lost.iter().any(|l| l[0] != 20), "{lost:?}");
    }
}
