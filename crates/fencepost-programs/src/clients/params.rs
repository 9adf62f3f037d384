//! What clients do, and how large their elements are.

use fencepost_kernel::{Bytes, Ps, params};

fencepost_kernel::param_enum! {
    /// What a client does.
    pub enum Workload {
        /// Insert into a chained hash map of PMDK: log of bucket head and count, 40 B entry with its value, commit.
        Hashmap = "hashmap",
        /// Insert into a crit-bit tree of PMDK: log of the 24 B parent entry, inner node of 56 B with the value, commit.
        Ctree = "ctree",
        /// Update of one tuple, all fields, in N-store: log with the old tuple, the tuple, commit. 65 of 100 transactions write.
        Ycsb = "ycsb",
        /// TPC-C new-order and its like in N-store: log with the old columns of a district and ten stock rows, those columns with an
        /// order, a new order and ten order lines, commit. 40 of 100 transactions write.
        Tpcc = "tpcc",
        /// SET of an item in memcached on redo transactions: log with the item, the item, commit. 5 of 100 operations write.
        Memcached = "memcached",
        /// So many blocks of the same size, and nothing else: to measure the network.
        Blocks = "blocks",
    }
}

fencepost_kernel::param_enum! {
    /// Which epochs a transaction has.
    pub enum Logging {
        /// Log and data; the acknowledgement commits.
        Data = "log-data",
        /// Log, data, and the mark that commits.
        Commit = "log-data-commit",
        /// Log, the log's length, data, the mark that commits, and the log's truncation.
        Truncate = "log-length-data-commit-truncate",
    }
}

params! {
    /// Clients that persist on this machine over a network.
    pub struct ClientParams {
        /// What they do. With a design of network persistence, the program of the run says it.
        workload: Workload = Workload::Hashmap,
        /// Size of a data element (value, tuple, item, block); 0: the workload's own.
        #[range(Bytes(0)..=Bytes(4096))]
        element: Bytes = Bytes(0),
        /// Epochs of a transaction of `blocks`; those of other workloads: `logging`.
        #[range(1..=64)]
        epochs: u8 = 6,
        /// Epochs of a transaction of other workloads.
        logging: Logging = Logging::Commit,
        /// Beside a program of the server (hash, rbtree, sps, btree, bplustree, ssca2): clients do what that does, with blocks as large as one
        /// update of it writes. Beside another one, or none, what `workload` says.
        as_program: bool = false,
        /// Time a client computes before each transaction.
        compute: Ps = Ps::from_ns(1_000),
        /// Transactions that write, of a hundred; 0: the workload's own.
        #[range(0..=100)]
        writes: u8 = 0,
        /// Elements of each client; a transaction writes one of them.
        #[range(1..=1 << 16)]
        elements: u32 = 1024,
    }
}
