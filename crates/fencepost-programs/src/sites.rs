//! Compute sites: the stretches of instructions between memory operations, and what each costs.

use fencepost_kernel::Site;

macro_rules! sites {
    ($($(#[doc = $doc:literal])* $name:ident = $id:literal),* $(,)?) => {
        $($(#[doc = $doc])* pub const $name: Site = Site($id);)*
        /// Every site with its name, in id order.
        pub const NAMES: &[(Site, &str)] = &[$(($name, stringify!($name))),*];
    };
}

sites! {
    /// Start of an operation: random numbers, choice of keys, call of the program.
    OP_PROLOGUE = 0,
    /// Start of a transaction.
    TX_BEGIN = 1,
    /// One call of the logging runtime: builds a record and its check word (words beyond the first: [`LOG_WORD`]).
    LOG_RECORD = 2,
    /// One more word of a record.
    LOG_WORD = 3,
    /// One logged or tracked store outside the log: bookkeeping of the transaction's dirty lines.
    TX_STORE = 4,
    /// Look-up of a transaction's own buffered writes (redo).
    TX_LOOKUP = 5,
    /// Commit: walks the dirty lines.
    TX_COMMIT = 6,
    /// Taking a block from an allocation pool.
    ALLOC = 7,
    /// Returning a block.
    FREE = 8,
    /// Hashing a key to its bucket.
    HASH_KEY = 9,
    /// One step of a search along a chain.
    CHAIN_STEP = 10,
    /// One step of a search down a binary tree.
    TREE_STEP = 11,
    /// One turn of a tree's rebalancing loop, or one rotation.
    REBALANCE = 12,
    /// One probe of a binary search inside a wide node.
    NODE_PROBE = 13,
    /// Moving one pair inside a wide node.
    PAIR_MOVE = 14,
    /// One word of an array entry: merging the tag.
    ENTRY_WORD = 15,
    /// End of an operation: building its outcome.
    OP_EPILOGUE = 16,
}
