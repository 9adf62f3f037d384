//! Sizes and places of the blocks of a transaction.

use super::params::{ClientParams, Workload};
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
    /// Whether the first is a log entry, the last a commit word; otherwise all are elements.
    logged: bool,
}

impl Blocks {
    /// The blocks of a workload.
    pub fn of(params: &ClientParams) -> Blocks {
        let element = |own: u64| match params.element.0 {
            0 => own,
            bytes => bytes.next_multiple_of(8),
        };
        // Log, data, and how many of a hundred transactions write.
        let (log, data, writes) = match params.workload {
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
                    writes: 100,
                    logged: false,
                };
            }
        };
        let writes = if params.writes > 0 { params.writes } else { writes };
        Blocks {
            sizes: vec![log, data, COMMIT],
            writes,
            logged: true,
        }
    }
    /// Bytes of a client's replica with so many elements.
    pub fn replica(&self, elements: u64) -> u64 {
        let last = self.places(SLOTS as u32 - 1, elements - 1);
        last.iter().map(|(at, bytes)| at + bytes).max().unwrap_or(0)
    }
    /// Offset and size of each block of transaction `tx`, whose data is element number `element`: the commit word, the log, the elements,
    /// each on lines of its own.
    pub fn places(&self, tx: u32, element: u64) -> Vec<(u64, u64)> {
        let stride = |bytes: u64| bytes.next_multiple_of(LINE_BYTES);
        if !self.logged {
            let own = stride(self.sizes[0]);
            let first = element * self.sizes.len() as u64 * own;
            return (0..)
                .zip(&self.sizes)
                .map(|(i, s): (u64, _)| (first + i * own, *s))
                .collect();
        }
        let log = LINE_BYTES + u64::from(tx) % SLOTS * stride(self.sizes[0]);
        let elements = LINE_BYTES + SLOTS * stride(self.sizes[0]);
        let data = elements + element * stride(self.sizes[1]);
        vec![(log, self.sizes[0]), (data, self.sizes[1]), (0, self.sizes[2])]
    }
}
