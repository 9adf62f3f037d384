//! What the tests of several design families share.

/// Settings that make a program's structures small enough for operations of several threads to meet.
pub fn sizes(program: &str) -> &'static [&'static str] {
    match program {
        "sps" => &["program.sps.entries=64", "program.sps.swaps=2"],
        "rbtree" => &["program.rbtree.keys=64", "program.rbtree.preload=32"],
        "bplustree" => &[
            "program.bplustree.keys=64",
            "program.bplustree.preload=32",
            "program.bplustree.pairs=8",
        ],
        "hash" => &[
            "program.hash.buckets=7",
            "program.hash.keys=40",
            "program.hash.preload=20",
        ],
        _ => &[],
    }
}
