//! Generated; the command is at the head of `examples/measure_sites.rs`. Do not edit.
//!
//! x86-64, release build; 1 instruction(s) a marker and 15.0 a call of a memory operation taken out.

/// Site, mean instructions each time; how often and in how many runs it was met, smallest and largest mean of a run.
pub(super) const INSTRUCTIONS: &[(&str, u32)] = &[
    ("TX_BEGIN", 98),              // 1400 times in 56 runs, 85 to 121
    ("LOG_RECORD", 155),           // 47050 times in 44 runs, 20 to 272
    ("LOG_WORD", 122),             // 16164 times in 14 runs, 27 to 327
    ("TX_STORE", 105),             // 64566 times in 50 runs, 74 to 176
    ("TX_LOOKUP", 59),             // 28202 times in 10 runs, 32 to 94
    ("TX_COMMIT", 154),            // 1400 times in 56 runs, 113 to 433
    ("ALLOC", 142),                // 399 times in 29 runs, 67 to 261
    ("FREE", 113),                 // 326 times in 29 runs, 34 to 162
    ("HASH_KEY", 35),              // 275 times in 11 runs, 35 to 35
    ("CHAIN_STEP", 101),           // 737 times in 11 runs, 44 to 114
    ("TREE_STEP", 71),             // 1323 times in 7 runs, 45 to 81
    ("REBALANCE", 89),             // 147 times in 7 runs, 21 to 406
    ("NODE_PROBE", 74),            // 8309 times in 7 runs, 47 to 88
    ("PAIR_MOVE", 33),             // 37156 times in 7 runs, 9 to 174
    ("ENTRY_WORD", 70),            // 3600 times in 9 runs, 31 to 132
    ("CQ_PROLOGUE", 187),          // 275 times in 11 runs, 187 to 187
    ("CQ_EPILOGUE", 138),          // 275 times in 11 runs, 79 to 161
    ("SPS_PROLOGUE", 582),         // 225 times in 9 runs, 582 to 582
    ("SPS_EPILOGUE", 205),         // 225 times in 9 runs, 108 to 237
    ("HASH_PROLOGUE", 206),        // 275 times in 11 runs, 206 to 206
    ("HASH_EPILOGUE", 124),        // 275 times in 11 runs, 78 to 149
    ("RBTREE_PROLOGUE", 155),      // 175 times in 7 runs, 155 to 155
    ("RBTREE_EPILOGUE", 131),      // 175 times in 7 runs, 77 to 149
    ("BPLUSTREE_PROLOGUE", 198),   // 175 times in 7 runs, 198 to 198
    ("BPLUSTREE_EPILOGUE", 754),   // 175 times in 7 runs, 114 to 872
    ("COMMITSTORE_PROLOGUE", 274), // 275 times in 11 runs, 274 to 274
    ("COMMITSTORE_EPILOGUE", 171), // 275 times in 11 runs, 70 to 212
];
