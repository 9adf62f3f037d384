//! Generated; the command is at the head of `examples/measure_sites.rs`. Do not edit.
//!
//! x86-64, release build; 1 instruction(s) a marker and 15.0 a call of a memory operation taken out.

/// Site, instructions each time; how often and in how many runs it was met, smallest and largest mean of a run.
pub(super) const INSTRUCTIONS: &[(&str, u32)] = &[
    ("TX_BEGIN", 96),              // 1400 times in 56 runs, 83 to 121
    ("LOG_RECORD", 202),           // 46850 times in 36 runs, 129 to 431
    ("LOG_WORD", 22),              // 16164 times in 14 runs, 13 to 34
    ("TX_STORE", 102),             // 64566 times in 50 runs, 74 to 176
    ("TX_LOOKUP", 49),             // 28202 times in 10 runs, 32 to 94
    ("TX_COMMIT", 129),            // 1400 times in 56 runs, 113 to 433
    ("ALLOC", 93),                 // 399 times in 29 runs, 67 to 261
    ("FREE", 118),                 // 326 times in 29 runs, 34 to 162
    ("HASH_KEY", 35),              // 275 times in 11 runs, 35 to 35
    ("CHAIN_STEP", 114),           // 737 times in 11 runs, 44 to 114
    ("TREE_STEP", 83),             // 1323 times in 7 runs, 45 to 83
    ("REBALANCE", 45),             // 147 times in 7 runs, 21 to 408
    ("NODE_PROBE", 84),            // 8309 times in 7 runs, 47 to 88
    ("PAIR_MOVE", 10),             // 37156 times in 7 runs, 9 to 174
    ("ENTRY_WORD", 79),            // 3600 times in 9 runs, 31 to 132
    ("CQ_PROLOGUE", 187),          // 275 times in 11 runs, 187 to 187
    ("CQ_EPILOGUE", 151),          // 275 times in 11 runs, 79 to 161
    ("SPS_PROLOGUE", 582),         // 225 times in 9 runs, 582 to 582
    ("SPS_EPILOGUE", 214),         // 225 times in 9 runs, 108 to 237
    ("HASH_PROLOGUE", 206),        // 275 times in 11 runs, 206 to 206
    ("HASH_EPILOGUE", 134),        // 275 times in 11 runs, 78 to 149
    ("RBTREE_PROLOGUE", 206),      // 175 times in 7 runs, 206 to 206
    ("RBTREE_EPILOGUE", 145),      // 175 times in 7 runs, 78 to 150
    ("BPLUSTREE_PROLOGUE", 198),   // 175 times in 7 runs, 198 to 198
    ("BPLUSTREE_EPILOGUE", 863),   // 175 times in 7 runs, 114 to 872
    ("COMMITSTORE_PROLOGUE", 246), // 275 times in 11 runs, 246 to 246
    ("COMMITSTORE_EPILOGUE", 199), // 275 times in 11 runs, 71 to 213
    ("REGION_RECORD", 280),        // 200 times in 8 runs, 172 to 1404
];
