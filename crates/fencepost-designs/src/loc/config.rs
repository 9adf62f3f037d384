//! Parameters of the transactional designs, and the one configuration that they become.

use fencepost_kernel::params::ParamError;
use fencepost_kernel::{Bytes, Ps, planted};

fencepost_kernel::param_words! {
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
    }
}
impl LocFault {
    /// The parameter's fault, or the one that is planted for this thread.
    fn or_planted(self) -> LocFault {
        let none = self == LocFault::None;
        if none
            && planted!(
                "loc.pair-first",
                "a dependency pair counts only when the successor is committed"
            )
        {
            return LocFault::PairFirst;
        }
        if none
            && planted!(
                "loc.in-place-early",
                "a transaction's lines go home after all its log writes are durable"
            )
        {
            return LocFault::InPlaceEarly;
        }
        self
    }
}
fencepost_kernel::param_words! {
    /// When logged lines are written to their home locations.
    pub enum InPlace {
        /// Right after the log, and the log is truncated, before the next transaction may log: the four phases of Figure 1.
        Strict = "strict",
        /// When the cache evicts them, or when the transaction table or the log run short.
        Lazy = "lazy",
    }
}

/// Bytes of one dependency pair in the volatile buffer: two transactions and a count (section III-B).
pub const PAIR_BYTES: u64 = 8;

/// Transactions of a speculation window (section V-A).
const DEGREE: u32 = 16;
/// Buffer for dependency pairs (section IV-B).
const PAIR_BUFFER: Bytes = Bytes(32 << 10);
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
    }
}
fencepost_kernel::params! {
    /// A non-volatile last level.
    pub struct NvParams {
        /// One write of the non-volatile last level, whose array writes a line at a time (ours).
        nv_write: Ps = NV_WRITE,
    }
}
fencepost_kernel::params! {
    /// Parameters of the hardware write-ahead log with a commit record.
    pub struct HWalParams {;
        /// Transactions.
        tx: TxParams = TxParams::default(),
        /// The log.
        log: LogParams = LogParams {
            in_place: InPlace::Strict,
            ..LogParams::default()
        },
    }
}
fencepost_kernel::params! {
    /// Parameters of eager commit alone.
    pub struct EcWalParams {;
        /// Transactions.
        tx: TxParams = TxParams::default(),
        /// The log.
        log: LogParams = LogParams::default(),
    }
}
fencepost_kernel::params! {
    /// Parameters of loose-ordering consistency.
    pub struct LocWalParams {
        /// Transactions of a speculation window, which may reach the log in any order.
        speculation_degree: u32 = DEGREE,
        /// Volatile buffer for dependency pairs.
        pair_buffer: Bytes = PAIR_BUFFER;
        /// Transactions.
        tx: TxParams = TxParams::default(),
        /// The log.
        log: LogParams = LogParams::default(),
    }
}
fencepost_kernel::params! {
    /// Parameters of the non-volatile last level.
    pub struct KilnParams {;
        /// Transactions.
        tx: TxParams = TxParams::default(),
        /// The last level.
        nv: NvParams = NvParams::default(),
    }
}
fencepost_kernel::params! {
    /// Parameters of loose ordering on a non-volatile last level.
    pub struct LocKilnParams {
        /// Transactions of a speculation window.
        speculation_degree: u32 = DEGREE;
        /// Transactions.
        tx: TxParams = TxParams::default(),
        /// The last level.
        nv: NvParams = NvParams::default(),
    }
}

/// What all of the designs are made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Transactions of a window.
    pub degree: u32,
    /// A commit record is written after the log blocks; otherwise a transaction is committed by count.
    pub record: bool,
    /// A commit completes when it is durable; otherwise at once.
    pub waits: bool,
    /// In-place writes.
    pub in_place: InPlace,
    /// The last-level cache is the log.
    pub non_volatile: bool,
    /// Transaction table entries.
    pub entries: u32,
    /// Dependency pairs the buffer holds.
    pub pairs: u32,
    /// Log blocks that may wait for a group.
    pub buffer: u32,
    /// From the caches to the controller.
    pub log_path: Ps,
    /// One write of the non-volatile last level.
    pub nv_write: Ps,
    /// Block groups are atomic.
    pub group_atomic: bool,
    /// Abort injection: one in this many, seed.
    pub aborts: (u32, u64),
    /// Planted fault.
    pub fault: LocFault,
}
impl Config {
    const BASE: Config = Config {
        degree: 1,
        record: false,
        waits: false,
        in_place: InPlace::Lazy,
        non_volatile: false,
        entries: ENTRIES,
        pairs: (PAIR_BUFFER.0 / PAIR_BYTES) as u32,
        buffer: BUFFER,
        log_path: LOG_PATH,
        nv_write: NV_WRITE,
        group_atomic: true,
        aborts: (0, 1),
        fault: LocFault::None,
    };
    /// Refuses sizes that cannot work.
    pub fn checked(self) -> Result<Config, ParamError> {
        let refused = [
            (
                self.degree == 0,
                "speculation_degree",
                "a window has at least one transaction",
            ),
            (
                self.entries == 0,
                "tx_entries",
                "the table must hold at least one transaction",
            ),
            (
                self.buffer == 0,
                "log_buffer",
                "the buffer must hold at least one block",
            ),
            (
                self.pairs == 0,
                "pair_buffer",
                "the buffer must hold at least one pair of 8 bytes",
            ),
            (
                self.entries > MAX_ENTRIES,
                "tx_entries",
                "at most 4096: 15 bits name a transaction in the log",
            ),
        ];
        match refused.iter().find(|r| r.0) {
            None => Ok(self),
            Some((_, name, why)) => Err(ParamError::Value {
                name: (*name).into(),
                why: (*why).into(),
            }),
        }
    }
}
impl Config {
    fn with_tx(self, p: &TxParams) -> Config {
        Config {
            entries: p.tx_entries,
            aborts: (p.abort_every, p.abort_seed),
            fault: p.fault.or_planted(),
            ..self
        }
    }
    fn with_log(self, p: &LogParams) -> Config {
        Config {
            in_place: p.in_place,
            buffer: p.log_buffer,
            log_path: p.log_path,
            group_atomic: p.group_atomic
                && !planted!(
                    "loc.group-not-atomic",
                    "a block group is one atomic write where transactions are committed by count"
                ),
            ..self
        }
    }
    fn with_nv(self, p: &NvParams) -> Config {
        Config {
            non_volatile: true,
            nv_write: p.nv_write,
            ..self
        }
    }
}
impl From<HWalParams> for Config {
    fn from(p: HWalParams) -> Config {
        let config = Config {
            record: true,
            waits: true,
            ..Config::BASE
        };
        config.with_tx(&p.tx).with_log(&p.log)
    }
}
impl From<EcWalParams> for Config {
    fn from(p: EcWalParams) -> Config {
        Config::BASE.with_tx(&p.tx).with_log(&p.log)
    }
}
impl From<LocWalParams> for Config {
    fn from(p: LocWalParams) -> Config {
        let config = Config {
            degree: p.speculation_degree,
            pairs: u32::try_from(p.pair_buffer.0 / PAIR_BYTES).unwrap_or(u32::MAX),
            ..Config::BASE
        };
        config.with_tx(&p.tx).with_log(&p.log)
    }
}
impl From<KilnParams> for Config {
    fn from(p: KilnParams) -> Config {
        let config = Config {
            waits: true,
            ..Config::BASE
        };
        config.with_tx(&p.tx).with_nv(&p.nv)
    }
}
impl From<LocKilnParams> for Config {
    fn from(p: LocKilnParams) -> Config {
        let config = Config {
            degree: p.speculation_degree,
            ..Config::BASE
        };
        config.with_tx(&p.tx).with_nv(&p.nv)
    }
}
