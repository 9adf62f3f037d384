//! The persist log: what became durable, when, and why. Append only.

use crate::rng::mix;
use crate::units::{LineAddr, Ps, StoreId};

/// 64 bytes as eight words and, per word, the store that wrote it: what makes conformance and witnesses exact.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct LineData {
    /// The bytes.
    pub words: [u64; 8],
    /// The store that wrote each word; `None` for initial contents, or when nobody records stores.
    pub by: [Option<StoreId>; 8],
}

/// Why a line was written to memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WriteCause {
    /// Replaced in the last cache before memory.
    Eviction,
    /// Written back by a flush instruction.
    Flush,
    /// Sent by a persist buffer.
    Persist,
    /// A non-temporal store.
    NonTemporal,
    /// A hardware log write.
    Log,
    /// A hardware in-place write after logging.
    Home,
    /// A remote write.
    Remote,
    /// Part of a hardware log write of several lines that becomes durable as one atomic node: durable together with
    /// the record of cause [`WriteCause::Log`] that follows. No crash state lies in between.
    LogPart,
}
impl WriteCause {
    /// Whether the write belongs to a hardware log, not to its line's home.
    pub const fn is_log(self) -> bool {
        matches!(self, WriteCause::Log | WriteCause::LogPart)
    }
}

/// One line becoming durable.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PersistRecord {
    /// When.
    pub time: Ps,
    /// Which line.
    pub line: LineAddr,
    /// Its contents from then on.
    pub data: LineData,
    /// Why.
    pub cause: WriteCause,
}

/// Durable events in order, with a running digest. Entries are kept only when asked for.
#[derive(Clone, Debug)]
pub struct PersistLog {
    records: Option<Vec<PersistRecord>>,
    count: u64,
    digest: u64,
}
impl PersistLog {
    /// An empty log; `keep` retains the records, otherwise only count and digest.
    pub fn new(keep: bool) -> PersistLog {
        PersistLog {
            records: keep.then(Vec::new),
            count: 0,
            digest: 0x6665_6e63_6570_6f73,
        }
    }
    /// Appends one durable event.
    pub fn push(&mut self, r: PersistRecord) {
        self.count += 1;
        let mut h = mix(self.digest ^ r.time.0);
        h = mix(h ^ r.line.0 ^ ((r.cause as u64) << 60));
        for w in r.data.words {
            h = (h ^ w).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
        self.digest = mix(h);
        if let Some(v) = &mut self.records {
            v.push(r);
        }
    }
    /// Number of durable events so far.
    pub fn len(&self) -> u64 {
        self.count
    }
    /// Whether nothing has become durable.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
    /// Digest of times, lines, causes and bytes of every event. Same configuration and seed: same digest, in any build.
    pub fn digest(&self) -> u64 {
        self.digest
    }
    /// The kept records; empty when the log was made without `keep`.
    pub fn records(&self) -> &[PersistRecord] {
        self.records.as_deref().unwrap_or(&[])
    }
}
