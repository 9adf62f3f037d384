//! Groups of parameters that the designs share, and the engine's configuration.

use fencepost_kernel::params::ParamError;
use fencepost_kernel::{Bytes, Ps, planted};

fencepost_kernel::param_enum! {
    /// Planted faults, for tests of the checker.
    pub enum LocFault {
        /// The mechanism as described.
        None = "none",
        /// Dependency pairs are written first, and count although the successor is not committed, in recovery too.
        PairFirst = "pair-first",
        /// A committed transaction's lines go home at once, before its log writes are durable.
        InPlaceEarly = "in-place-early",
        /// An aborted transaction takes the predecessors' versions that it overwrote with it.
        NoRescue = "no-rescue",
        /// Recovery empties the log (or discards the array's lines) while its home writes are not durable.
        LogEmptiedFirst = "log-emptied-first",
        /// Recovery records what is committed as over before the home writes are durable.
        CommittedEarly = "committed-early",
        /// Recovery reads dependency pairs from the head to the tail.
        PairOrder = "pair-order",
        /// Recovery looks at the first two transactions of a window only.
        WindowShort = "window-short",
    }
}
impl LocFault {
    /// The parameter's fault, or the one that is planted for this thread.
    fn or_planted(self) -> LocFault {
        let none = self == LocFault::None;
        let pair_first = none
            && planted!(
                "loc.pair-first",
                "a dependency pair counts only when the successor is committed"
            );
        if pair_first {
            return LocFault::PairFirst;
        }
        let home_early = none
            && planted!(
                "loc.in-place-early",
                "a transaction's lines go home after all its log writes are durable"
            );
        if home_early {
            return LocFault::InPlaceEarly;
        }
        let emptied_first = none
            && planted!(
                "loc.log-emptied-first",
                "recovery empties a log when its home writes are durable"
            );
        if emptied_first {
            return LocFault::LogEmptiedFirst;
        }
        let committed_early = none
            && planted!(
                "loc.committed-early",
                "recovery advances what is committed after its home writes"
            );
        if committed_early {
            return LocFault::CommittedEarly;
        }
        let pairs_reversed = none && planted!("loc.pair-order", "recovery reads pairs from the tail to the head");
        if pairs_reversed {
            return LocFault::PairOrder;
        }
        let window_short = none && planted!("loc.window-short", "recovery reads whole windows");
        if window_short {
            return LocFault::WindowShort;
        }
        self
    }
}
fencepost_kernel::param_enum! {
    /// When logged lines are written to their home locations.
    pub enum InPlace {
        /// Right after the log, and the log is truncated, before the next transaction may begin: the four phases of Figure 1.
        Strict = "strict",
        /// The same, but the next transaction executes meanwhile, and only its log waits.
        Overlap = "overlap",
        /// When the cache evicts them, or when the transaction table or the log run short.
        Lazy = "lazy",
    }
}

/// Bytes of one dependency pair in the volatile buffer: two transactions and a count (section III-B).
pub const PAIR_BYTES: u64 = 8;
/// Transactions of a speculation window (section V-A).
pub const DEGREE: u32 = 16;
/// Buffer for dependency pairs (section IV-B).
pub const PAIR_BUFFER: Bytes = Bytes(32 << 10);
/// Largest Tx State Table.
const MAX_ENTRIES: u32 = 4096;
/// Size of the Tx State Table (section IV-B).
pub const ENTRIES: u32 = 128;
/// Blocks the controller-side log buffer holds (ours: two block groups).
pub const BUFFER: u32 = 14;
/// From the caches to the controller (ours: a look-up in three levels and the bus, at the latencies of Table I).
pub const LOG_PATH: Ps = Ps::from_ns(32);
/// One write of the non-volatile last level (ours: its look-up time; the paper gives none).
pub const NV_WRITE: Ps = Ps::from_ns(21);

fencepost_kernel::params! {
    /// What every design of the family has: the transaction table, and aborts on purpose.
    pub struct TxParams {
        /// Transactions that may be between their start and the end of their in-place writes.
        tx_entries: u32 = ENTRIES,
        /// Abort one in this many transactions at its commit; 0 never does.
        abort_every: u32 = 0,
        /// Seed of those aborts.
        abort_seed: u64 = 1,
        /// Planted fault, for tests of the checker only.
        fault: LocFault = LocFault::None,
    }
}
fencepost_kernel::params! {
    /// A log in memory.
    pub struct LogParams {
        /// Log blocks of evicted lines that may wait for a block group (ours).
        log_buffer: u32 = BUFFER,
        /// From the caches to the controller, for a log block (ours).
        log_path: Ps = LOG_PATH,
        /// Whether a block group is one atomic write; with a commit record it need not be, without one false must be convicted.
        group_atomic: bool = true,
        /// When logged lines are written home.
        in_place: InPlace = InPlace::Lazy,
        /// Where the 15-bit names of transactions start. A test sets it just below 2^15: they wrap after a few commits then.
        first_name: u32 = 0,
    }
}
fencepost_kernel::params! {
    /// A non-volatile last level.
    pub struct NvParams {
        /// One write of the non-volatile last level, whose array writes a line at a time (ours).
        nv_write: Ps = NV_WRITE,
    }
}

/// What the engine does, whatever the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Transactions of a window.
    pub degree: u32,
    /// Dependency pairs the buffer holds.
    pub pairs: u32,
    /// A commit completes when it is durable; otherwise at once.
    pub waits: bool,
    /// The transaction table, aborts and faults.
    pub tx: TxParams,
}
impl Config {
    /// Windows of `degree` transactions.
    pub fn new(degree: u32, tx: &TxParams) -> Config {
        let fault = tx.fault.or_planted();
        Config {
            degree,
            pairs: pairs(PAIR_BUFFER),
            waits: false,
            tx: TxParams { fault, ..tx.clone() },
        }
    }
    /// Refuses sizes that cannot work.
    pub fn check(&self) -> Result<(), ParamError> {
        at_least_one(
            self.degree,
            "speculation_degree",
            "a window has at least one transaction",
        )?;
        at_least_one(
            self.tx.tx_entries,
            "tx_entries",
            "the table must hold at least one transaction",
        )?;
        at_least_one(
            self.pairs,
            "pair_buffer",
            "the buffer must hold at least one pair of 8 bytes",
        )?;
        match self.tx.tx_entries > MAX_ENTRIES {
            true => refuse("tx_entries", "at most 4096: 15 bits name a transaction in the log"),
            false => Ok(()),
        }
    }
}
impl LogParams {
    /// Refuses sizes that cannot work.
    pub fn check(&self) -> Result<(), ParamError> {
        at_least_one(self.log_buffer, "log_buffer", "the buffer must hold at least one block")
    }
}

/// Dependency pairs that a buffer holds.
pub fn pairs(buffer: Bytes) -> u32 {
    u32::try_from(buffer.0 / PAIR_BYTES).unwrap_or(u32::MAX)
}
fn at_least_one(n: u32, name: &str, why: &str) -> Result<(), ParamError> {
    if n == 0 { refuse(name, why) } else { Ok(()) }
}
fn refuse(name: &str, why: &str) -> Result<(), ParamError> {
    Err(ParamError::Value {
        name: name.into(),
        why: why.into(),
    })
}
