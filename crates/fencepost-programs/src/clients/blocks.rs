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

/// Nodes and entries have 64 bytes; an insertion writes the new node and changes three others.
#[test]
fn a_tree_writes_the_node_and_its_neighbours() {
    let (log, data, writes) = of_program("rbtree").expect("its sizes are known");
    assert_eq!((log - 3 * ENTRY, data, writes), (192, 256, 100));
    assert_eq!(of_program("sps").map(|s| s.0 - 2 * ENTRY), Some(128));
    assert_eq!(of_program("ssca2").map(|s| s.0 - 2 * ENTRY), Some(16));
}
