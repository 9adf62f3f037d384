//! Compute sites: the stretches of instructions between memory operations, and what each costs.
//!
//! `compute(site)` stands for the instructions that a thread executed since its previous `compute`, other than its memory
//! operations. How many those are is measured on the native build of this very source (`examples/measure_sites.rs`: the
//! programs run on plain memory under an instruction tracer, which attributes every instruction to the marker that ends its
//! stretch; instructions of the memory back end, and of calling it, are taken out). The costs are in a generated file.

use fencepost_kernel::Site;

mod table;

macro_rules! sites {
    ($($(#[doc = $doc:literal])* $name:ident = $id:literal),* $(,)?) => {
        $($(#[doc = $doc])* pub const $name: Site = Site($id);)*
        /// Every site with its name, in id order.
        pub const NAMES: &[(Site, &str)] = &[$(($name, stringify!($name))),*];
    };
}

sites! {
    /// Start of a transaction, with the locks before it.
    TX_BEGIN = 0,
    /// One call of the logging runtime: from the program's store to the record's head and first word.
    LOG_RECORD = 1,
    /// One more word of a record.
    LOG_WORD = 2,
    /// One tracked store outside the log: bookkeeping of the transaction's dirty lines.
    TX_STORE = 3,
    /// Look-up of a transaction's own buffered writes (redo).
    TX_LOOKUP = 4,
    /// From the last store or look-up to the start of commit.
    TX_COMMIT = 5,
    /// Taking a block from an allocation pool.
    ALLOC = 6,
    /// Returning a block, after the commit that unlinked it.
    FREE = 7,
    /// Hashing a key to its bucket.
    HASH_KEY = 8,
    /// One step of a search along a chain.
    CHAIN_STEP = 9,
    /// One step of a search down a binary tree.
    TREE_STEP = 10,
    /// One turn of a tree's rebalancing loop, or one rotation.
    REBALANCE = 11,
    /// One probe of a binary search inside a wide node.
    NODE_PROBE = 12,
    /// Moving one pair inside a wide node.
    PAIR_MOVE = 13,
    /// One word of an array entry: merging the tag.
    ENTRY_WORD = 14,
    /// Start of an operation of `cq`: from the end of the one before, random numbers and choice of keys included.
    CQ_PROLOGUE = 15,
    /// End of an operation of `cq`: from its commit to its outcome.
    CQ_EPILOGUE = 16,
    /// Start of an operation of `sps`: from the end of the one before, random numbers and choice of keys included.
    SPS_PROLOGUE = 17,
    /// End of an operation of `sps`: from its commit to its outcome.
    SPS_EPILOGUE = 18,
    /// Start of an operation of `hash`: from the end of the one before, random numbers and choice of keys included.
    HASH_PROLOGUE = 19,
    /// End of an operation of `hash`: from its commit to its outcome.
    HASH_EPILOGUE = 20,
    /// Start of an operation of `rbtree`: from the end of the one before, random numbers and choice of keys included.
    RBTREE_PROLOGUE = 21,
    /// End of an operation of `rbtree`: from its commit to its outcome.
    RBTREE_EPILOGUE = 22,
    /// Start of an operation of `bplustree`: from the end of the one before, random numbers and choice of keys included.
    BPLUSTREE_PROLOGUE = 23,
    /// End of an operation of `bplustree`: from its commit to its outcome.
    BPLUSTREE_EPILOGUE = 24,
    /// Start of an operation of `commitstore`: from the end of the one before, random numbers and choice of keys included.
    COMMITSTORE_PROLOGUE = 25,
    /// End of an operation of `commitstore`: from its commit to its outcome.
    COMMITSTORE_EPILOGUE = 26,
    /// iDO: from the last store of the region before, over the reads and choices of inputs, to the record's head.
    REGION_RECORD = 27,
}

/// What a site costs.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct SiteCost {
    /// The site.
    pub site: Site,
    /// Its name.
    pub name: &'static str,
    /// Instructions each time, memory operations not counted: the median over the measured runs of the mean in each.
    pub instructions: u32,
}

/// The cost of every site, in id order: `costs()[site.0 as usize].instructions`.
pub fn costs() -> Vec<SiteCost> {
    let cost = |(site, name): &(Site, &'static str)| {
        let instructions = table::INSTRUCTIONS.iter().find(|t| t.0 == *name).map_or(0, |t| t.1);
        SiteCost {
            site: *site,
            name,
            instructions,
        }
    };
    NAMES.iter().map(cost).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn every_site_has_a_measured_cost_and_its_id_as_index() {
        for (i, c) in costs().iter().enumerate() {
            assert_eq!(c.site.0 as usize, i);
            assert!(
                table::INSTRUCTIONS.iter().any(|t| t.0 == c.name),
                "{} was never measured",
                c.name
            );
        }
        assert_eq!(
            table::INSTRUCTIONS.len(),
            NAMES.len(),
            "the table names a site that is gone"
        );
    }
}
