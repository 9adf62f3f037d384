//! Sizes and places of the blocks of a transaction.

use super::params::{ClientParams, Logging, Workload};
use fencepost_kernel::units::LINE_BYTES;

/// Header of a log entry: type, address, size.
const ENTRY: u64 = 24;
/// The word whose change commits.
const COMMIT: u64 = 8;
/// Slots of the log, used in turn.
const SLOTS: u64 = 64;

/// The blocks of one writing transaction, in order of their epochs.
pub(super) struct Blocks {
    /// Bytes of each; multiples of a word.
    sizes: Vec<u64>,
    /// Transactions that write, of a hundred.
    pub writes: u8,
    /// Which block is what; without, all are elements.
    logging: Option<Logging>,
}

/// Log and data of one update of a program, and how many of a hundred operations write, if the sizes are known.
fn of_program(program: &str) -> Option<(u64, u64, u8)> {
    Some(match program {
        // The predecessor's link; an item of 64 B and its link.
        "hash" => (ENTRY + 8, 64 + 8, 100),
        // Two entries.
        "sps" => (2 * (ENTRY + 64), 2 * 64, 100),
        // Parent, grandparent and one more node change beside the new one.
        "rbtree" => (3 * (ENTRY + 64), 4 * 64, 100),
        // A leaf of 15 pairs, whole.
        "btree" => (ENTRY + 384, 384, 100),
        // Half of the 100 pairs of 12 B in a half-full leaf move.
        "bplustree" => (ENTRY + 600, 600, 100),
        // Edge and count.
        "ssca2" => (2 * (ENTRY + 8), 2 * 8, 100),
        _ => return None,
    })
}

impl Blocks {
    /// The blocks of a workload, beside a program of the server.
    pub(super) fn of(params: &ClientParams, beside: Option<&str>) -> Blocks {
        let program = beside.filter(|_| params.as_program).and_then(of_program);
        let element = |own: u64| match params.element.0 {
            0 => own,
            bytes => bytes.next_multiple_of(8),
        };
        // Log, data, and how many of a hundred transactions write.
        let (log, data, writes) = match params.workload {
            _ if program.is_some() => program.unwrap_or_default(),
            Workload::Hashmap => (ENTRY + 8 + 8, 40 + element(128), 100),
            Workload::Ctree => (ENTRY + 24, 56 + element(128), 100),
            Workload::Ycsb => (ENTRY + element(504), element(504), 65),
            Workload::Tpcc => {
                let columns = 8 + 10 * 32;
                (11 * ENTRY + columns, columns + 2 * 64 + 10 * element(64), 40)
            }
            Workload::Memcached => (ENTRY + element(320), element(320), 5),
            Workload::Blocks => {
                return Blocks {
                    sizes: vec![element(512); usize::from(params.epochs)],
                    writes: if params.writes > 0 { params.writes } else { 100 },
                    logging: None,
                };
            }
        };
        let writes = if params.writes > 0 { params.writes } else { writes };
        let sizes = match params.logging {
            Logging::Data => vec![log, data],
            Logging::Commit => vec![log, data, COMMIT],
            Logging::Truncate => vec![log, COMMIT, data, COMMIT, COMMIT],
        };
        Blocks {
            sizes,
            writes,
            logging: Some(params.logging),
        }
    }
    /// Bytes of a client's replica with so many elements.
    pub(super) fn replica(&self, elements: u64) -> u64 {
        let last = self.places(SLOTS as u32 - 1, elements - 1);
        last.iter().map(|(at, bytes)| at + bytes).max().unwrap_or(0)
    }
    /// Offset and size of each block of transaction `tx`, whose data is element number `element`: words that are written again and again,
    /// the log, the elements, each on lines of its own.
    pub(super) fn places(&self, tx: u32, element: u64) -> Vec<(u64, u64)> {
        let stride = |bytes: u64| bytes.next_multiple_of(LINE_BYTES);
        let Some(logging) = self.logging else {
            let own = stride(self.sizes[0]);
            let first = element * self.sizes.len() as u64 * own;
            return (0..)
                .zip(&self.sizes)
                .map(|(i, s): (u64, _)| (first + i * own, *s))
                .collect();
        };
        let (words, at) = match logging {
            Logging::Data | Logging::Commit => (1, 1),
            Logging::Truncate => (3, 2),
        };
        let (own_log, own_data) = (self.sizes[0], self.sizes[at]);
        let logs = words * LINE_BYTES;
        let log = (logs + u64::from(tx) % SLOTS * stride(own_log), own_log);
        let data = (logs + SLOTS * stride(own_log) + element * stride(own_data), own_data);
        let word = |n: u64| (n * LINE_BYTES, COMMIT);
        match logging {
            Logging::Data => vec![log, data],
            Logging::Commit => vec![log, data, word(0)],
            Logging::Truncate => vec![log, word(1), data, word(0), word(2)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::Bytes;
    use std::collections::BTreeSet;

    /// Nodes and entries have 64 bytes; an insertion writes the new node and changes three others.
    #[test]
    fn a_tree_writes_the_node_and_its_neighbours() {
        let (log, data, writes) = of_program("rbtree").expect("its sizes are known");
        assert_eq!((log - 3 * ENTRY, data, writes), (192, 256, 100));
        assert_eq!(of_program("sps").map(|s| s.0 - 2 * ENTRY), Some(128));
        assert_eq!(of_program("ssca2").map(|s| s.0 - 2 * ENTRY), Some(16));
    }
    /// An entry of a log has a word each of type, address and size. A hash table's item is a line and its link; a leaf of a tree of 15 pairs
    /// and 16 children is 8 + 15 * 16 + 16 * 8 bytes on whole lines; half of a hundred pairs of 12 bytes are 600.
    #[test]
    fn what_a_program_writes_is_added_up_from_its_fields() {
        assert_eq!(ENTRY, 3 * 8);
        assert_eq!(of_program("hash"), Some((ENTRY + 8, 9 * 8, 100)));
        let node = (8u64 + 15 * 16 + 16 * 8).next_multiple_of(64);
        assert_eq!(of_program("btree"), Some((ENTRY + node, node, 100)));
        assert_eq!(of_program("bplustree"), Some((ENTRY + 50 * 12, 50 * 12, 100)));
        assert_eq!(of_program("nothing"), None);
    }
    /// Of a hundred transactions as many write as the workload has it, or as is asked for.
    #[test]
    fn a_share_that_is_asked_for_replaces_the_workloads_own() {
        for (writes, expected) in [(0, 65), (1, 1), (100, 100)] {
            let params = ClientParams {
                workload: Workload::Ycsb,
                writes,
                ..ClientParams::default()
            };
            assert_eq!(Blocks::of(&params, None).writes, expected);
        }
        for (writes, expected) in [(0, 100), (1, 1)] {
            let params = ClientParams {
                workload: Workload::Blocks,
                writes,
                ..ClientParams::default()
            };
            assert_eq!(Blocks::of(&params, None).writes, expected);
        }
    }
    /// A size that is no whole number of words is rounded up to one.
    #[test]
    fn elements_are_whole_words() {
        for (asked, bytes) in [(1, 8), (8, 8), (9, 16), (100, 104)] {
            let params = ClientParams {
                workload: Workload::Blocks,
                element: Bytes(asked),
                epochs: 3,
                ..ClientParams::default()
            };
            assert_eq!(Blocks::of(&params, None).sizes, [bytes; 3]);
        }
    }
    /// A replica has the words that are written again and again, 64 slots of the log and the elements, each on lines of its own: nothing is
    /// used twice, and nothing is left free but the ends of lines.
    #[test]
    fn a_replica_is_filled_without_gaps() {
        const ELEMENTS: u64 = 5;
        let lines = |bytes: u64| bytes.div_ceil(64);
        for (logging, words, log_at, data_at) in [
            (Logging::Data, 1, 0, 1),
            (Logging::Commit, 1, 0, 1),
            (Logging::Truncate, 3, 0, 2),
        ] {
            let params = ClientParams {
                workload: Workload::Ctree,
                logging,
                ..ClientParams::default()
            };
            let blocks = Blocks::of(&params, None);
            let (mut logs, mut data, mut others) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
            for tx in 0..150 {
                for element in 0..ELEMENTS {
                    let places = blocks.places(tx, element);
                    let sizes: Vec<u64> = places.iter().map(|p| p.1).collect();
                    assert_eq!(sizes, blocks.sizes);
                    assert!(places.iter().all(|p| p.0.is_multiple_of(64)));
                    logs.insert(places[log_at]);
                    data.insert(places[data_at]);
                    others.extend(
                        places
                            .iter()
                            .enumerate()
                            .filter(|p| p.0 != log_at && p.0 != data_at)
                            .map(|p| *p.1),
                    );
                    assert_eq!(blocks.places(tx + 64, element), places, "slots are used in turn");
                    assert_ne!(blocks.places(tx + 1, element)[log_at], places[log_at]);
                }
            }
            assert_eq!((logs.len(), data.len() as u64), (64, ELEMENTS));
            // Without a commit a word's room stays unused, in front.
            let written: usize = if logging == Logging::Data { 0 } else { words };
            assert_eq!(others.len(), written);
            let all: BTreeSet<(u64, u64)> = logs.iter().chain(&data).chain(&others).copied().collect();
            let mut next = if written == 0 { 64 } else { 0 };
            for (at, bytes) in &all {
                assert_eq!(*at, next);
                next = at + 64 * lines(*bytes);
            }
            let (end, bytes) = all.last().expect("there are some");
            assert_eq!(blocks.replica(ELEMENTS), end + bytes);
        }
    }
    /// Blocks of one size lie one behind the other, those of an element together.
    #[test]
    fn blocks_of_an_element_lie_together() {
        let params = ClientParams {
            workload: Workload::Blocks,
            element: Bytes(72),
            epochs: 3,
            ..ClientParams::default()
        };
        let blocks = Blocks::of(&params, None);
        for element in 0..4 {
            let first = element * 3 * 128;
            assert_eq!(
                blocks.places(9, element),
                [(first, 72), (first + 128, 72), (first + 256, 72)]
            );
        }
        assert_eq!(blocks.replica(4), 3 * 3 * 128 + 256 + 72);
    }
}
