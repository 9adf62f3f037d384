//! What operation `k` of a thread does: a pure function of seed, thread and `k`.

use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, Fence, Flush, Honours, Span, params, rng};

params! {
    /// Parameters of `random`. Eight are weights: how often a kind of statement is drawn, relative to the others.
    pub struct RandomParams {
        /// Persistent lines that all threads use.
        lines: u32 = 4,
        /// Words used of each line. Hardware transactions use all eight.
        words: u8 = 2,
        /// Statements of one operation.
        length: u8 = 6,
        /// Percentage of transactions that abort themselves, once.
        abort_percent: u8 = 20,
        /// Plain loads.
        loads: u8 = 4,
        /// Plain stores, half of them flushed at once where the design has flushes.
        stores: u8 = 10,
        /// Stores of a value that depends on a load.
        dependent: u8 = 3,
        /// Non-temporal stores, where the design honours them.
        nt_stores: u8 = 3,
        /// Flushes of some line, of any kind that the design honours.
        flushes: u8 = 2,
        /// Fences: mostly the design's ordering idiom, and every kind that it honours.
        fences: u8 = 5,
        /// Atomics, releases, acquires and critical sections.
        synchronise: u8 = 4,
        /// Stores to volatile words of a value that depends on a load: they hand on what it is ordered after.
        handed_on: u8 = 0,
        /// Volatile lines that all threads use.
        volatile_lines: u32 = 2,
        /// Percentage of operations that release a range in their middle and bind it after the last statement, where ranges are bound.
        released_early: u8 = 0,
        /// Percentage of operations that ask for a range which shares lines with others, and give it up at their end.
        overlaps: u8 = 0,
    }
}

/// Locks.
pub(super) const LOCKS: u64 = 2;

/// Words of a line that belong to one thread each under transactions; the last word is everybody's.
pub(super) const OWN_WORDS: u32 = 7;
const SHARED_WORD: u64 = 7;

/// One statement.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    /// Reads a word.
    Load(Addr),
    /// Stores a word.
    Store(Addr),
    /// Stores a word and flushes its line.
    Persist(Addr),
    /// Stores a word with a value that depends on another, and flushes its line where it is persistent.
    Copy { from: Addr, to: Addr },
    /// Stores a word past the caches.
    NtStore(Addr),
    /// Flushes a line; the number picks the instruction among those of the dialect's instruction set.
    Flush(Addr, usize),
    /// Flushes a line with an instruction that the design honours.
    FlushWith(Addr, Flush),
    /// The design's ordering idiom.
    Order,
    /// The design's idiom for "durable now".
    Durable,
    /// A fence that orders loads too.
    FullFence,
    /// A fence of a kind that the design honours, whatever its idioms are.
    Fence(Fence),
    /// Exchanges a word atomically.
    Swap(Addr),
    /// A compare-and-swap that fails: it takes the line for itself and stores nothing.
    Probe(Addr),
    /// Store-release of a volatile word.
    Release(Addr),
    /// Load-acquire of a volatile word.
    Acquire(Addr),
    /// Stores a word under a lock; `bare`: released without the fences of the design's idiom.
    Critical { lock: u64, at: Addr, bare: bool },
    /// Some other work.
    Compute,
}
impl Statement {
    /// The word it stores to.
    pub(super) fn stores_to(self) -> impl Iterator<Item = Addr> {
        use Statement::*;
        let to = match self {
            Store(a) | Persist(a) | NtStore(a) | Swap(a) | Release(a) => Some(a),
            Copy { to, .. } => Some(to),
            Critical { at, .. } => Some(at),
            Load(_) | Probe(_) | Flush(..) | FlushWith(..) | Fence(_) | Order | Durable | FullFence | Acquire(_)
            | Compute => None,
        };
        to.into_iter()
    }
    /// The word that a plain load of it reads.
    pub(super) fn loads_from(self) -> Option<Addr> {
        match self {
            Statement::Load(a) | Statement::Copy { from: a, .. } => Some(a),
            _ => None,
        }
    }
}

/// One hardware transaction.
#[derive(Clone, Debug)]
pub(super) struct Transaction {
    /// Its loads and stores.
    pub statements: Vec<Statement>,
    /// Whether it runs under the lock, and so may use the words that all threads write.
    pub shared: bool,
    /// After how many statements it aborts itself at the first attempt, if it does.
    pub aborts_after: Option<usize>,
    /// Whether the thread waits for it to be durable.
    pub flushes: bool,
}

/// A value that names the statement that stores it.
pub(super) fn value(thread: u32, k: u32, i: u8) -> u64 {
    (u64::from(thread) + 1) << 48 | (u64::from(k) + 1) << 8 | (u64::from(i) + 1)
}
/// The statement that a value names: thread, operation, place in the operation.
pub(super) fn named(value: u64) -> Option<(u32, u32, u8)> {
    let part = |shift: u32, mask: u64| u32::try_from(value >> shift & mask).ok()?.checked_sub(1);
    Some((part(48, 0xffff)?, part(8, 0xff_ffff_ffff)?, part(0, 0xff)? as u8))
}

/// How often each kind of statement is drawn.
pub(super) fn weights(p: &RandomParams) -> [u64; 8] {
    [
        p.loads,
        p.stores,
        p.dependent,
        p.nt_stores,
        p.flushes,
        p.fences,
        p.synchronise,
        p.handed_on,
    ]
    .map(u64::from)
}

/// Random numbers of one statement.
struct Dice {
    /// Hash of seed, thread, operation and statement.
    of: u64,
    drawn: u64,
}
impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.drawn += 1;
        rng::hash_on(self.of, &[self.drawn]) % n
    }
}

/// What the operations of a run are drawn from.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub seed: u64,
    pub params: RandomParams,
    /// What the design honours; `None` leaves it to the dialect.
    pub honours: Option<Honours>,
    /// First persistent and first volatile line in use.
    pub persistent: Addr,
    pub volatile: Addr,
}

impl Plan {
    fn dice(&self, thread: u32, k: u32, i: u64) -> Dice {
        Dice {
            of: rng::hash(&[self.seed, u64::from(thread), u64::from(k), i]),
            drawn: 0,
        }
    }
    /// Whether operation `k` ends with all its stores flushed and fenced. No commit covers what some thread has just taken out of its range.
    pub(super) fn seals(&self, thread: u32, k: u32) -> bool {
        self.params.released_early == 0 && self.params.overlaps == 0 && self.dice(thread, k, 1000).below(2) == 0
    }
    fn persistent_word(&self, dice: &mut Dice) -> Addr {
        let (line, word) = (
            dice.below(u64::from(self.params.lines)),
            dice.below(u64::from(self.params.words)),
        );
        Addr(self.persistent.0 + line * LINE_BYTES + word * 8)
    }
    fn volatile_word(&self, dice: &mut Dice) -> Addr {
        let (line, word) = (
            dice.below(u64::from(self.params.volatile_lines)),
            dice.below(u64::from(self.params.words)),
        );
        Addr(self.volatile.0 + line * LINE_BYTES + word * 8)
    }
    /// Volatile words stand for a quarter of them.
    fn any_word(&self, dice: &mut Dice) -> Addr {
        match dice.below(4) {
            0 => self.volatile_word(dice),
            _ => self.persistent_word(dice),
        }
    }
    /// Ranges for write sub-queues: of four lines the first; the second and third, which the range straddles; the fourth is in none.
    pub(super) fn ranges(&self) -> Vec<Span> {
        let span = |line: u64, offset, len| Span {
            at: Addr(self.persistent.0 + line * LINE_BYTES + offset),
            len,
        };
        let of_line = |i: u64| match i % 4 {
            0 => Some(span(i, 8, 8)),
            1 if i + 1 < u64::from(self.params.lines) => Some(span(i, 40, 64)),
            _ => None,
        };
        (0..u64::from(self.params.lines)).filter_map(of_line).collect()
    }
    /// A range that the thread releases and binds again before operation `k`, if it does.
    pub(super) fn rebound(&self, thread: u32, k: u32) -> Option<Span> {
        let mut dice = self.dice(thread, k, 3000);
        let ranges = self.ranges();
        let i = dice.below(4 * ranges.len() as u64);
        ranges.get(i as usize).copied()
    }
    /// A range that the thread releases in the middle of operation `k`, and after how many statements, if it does.
    pub(super) fn released_early(&self, thread: u32, k: u32) -> Option<(u8, Span)> {
        let mut dice = self.dice(thread, k, 4000);
        let ranges = self.ranges();
        let does = dice.below(100) < u64::from(self.params.released_early) && !ranges.is_empty();
        let after = dice.below(u64::from(self.params.length)) as u8;
        does.then(|| (after, ranges[dice.below(ranges.len() as u64) as usize]))
    }
    /// A range of two lines, which others have too, that the thread binds for operation `k`, if it does.
    pub(super) fn overlapping(&self, thread: u32, k: u32) -> Option<Span> {
        let mut dice = self.dice(thread, k, 5000);
        let pairs = u64::from(self.params.lines.saturating_sub(1));
        let does = dice.below(100) < u64::from(self.params.overlaps) && pairs > 0 && !self.ranges().is_empty();
        does.then(|| Span {
            at: Addr(self.persistent.0 + dice.below(pairs) * LINE_BYTES + 16),
            len: LINE_BYTES,
        })
    }
    /// Statement `i` of operation `k` where no transactions are.
    pub(super) fn statement(&self, thread: u32, k: u32, i: u8) -> Statement {
        let dice = &mut self.dice(thread, k, u64::from(i));
        let weights = weights(&self.params);
        let mut pick = dice.below(weights.iter().sum());
        let kind = weights.iter().position(|w| match pick.checked_sub(*w) {
            None => true,
            Some(rest) => {
                pick = rest;
                false
            }
        });
        match (kind.unwrap_or(0), dice.below(8)) {
            (0, 0) => Statement::Compute,
            (0, _) => Statement::Load(self.any_word(dice)),
            (1, 0..4) => Statement::Store(self.any_word(dice)),
            (1, _) => Statement::Persist(self.persistent_word(dice)),
            (2, _) => Statement::Copy {
                from: self.any_word(dice),
                to: self.persistent_word(dice),
            },
            (7, _) => Statement::Copy {
                from: self.any_word(dice),
                to: self.volatile_word(dice),
            },
            (3, _) => self.nt_store(dice),
            (4, n) => self.flush(n as usize, dice),
            (5, 0) => Statement::FullFence,
            (5, 1) => Statement::Durable,
            (5, 2..4) => self.fence(dice),
            (5, _) => Statement::Order,
            (_, 0) => Statement::Swap(self.any_word(dice)),
            (_, 1) => Statement::Probe(self.any_word(dice)),
            (_, 2..4) => Statement::Release(self.volatile_word(dice)),
            (_, 4..6) => Statement::Acquire(self.volatile_word(dice)),
            (_, n) => Statement::Critical {
                lock: dice.below(LOCKS),
                at: self.persistent_word(dice),
                bare: n % 2 == 0,
            },
        }
    }
    /// A non-temporal store; a plain one where the design does not honour them.
    fn nt_store(&self, dice: &mut Dice) -> Statement {
        let at = self.persistent_word(dice);
        match self.honours.is_none_or(|h| h.nt_stores) {
            true => Statement::NtStore(at),
            false => Statement::Store(at),
        }
    }
    /// A flush of any kind that the design honours.
    fn flush(&self, pick: usize, dice: &mut Dice) -> Statement {
        let at = self.persistent_word(dice);
        match self.honours.map(|h| h.flushes) {
            None => Statement::Flush(at, pick),
            Some([]) => Statement::Load(at),
            Some(kinds) => Statement::FlushWith(at, kinds[pick % kinds.len()]),
        }
    }
    /// A fence of any kind that the design honours.
    fn fence(&self, dice: &mut Dice) -> Statement {
        match self.honours.map_or(&[][..], |h| h.fences) {
            [] => Statement::Order,
            kinds => Statement::Fence(kinds[dice.below(kinds.len() as u64) as usize]),
        }
    }
    /// Operation `k` where the hardware has transactions.
    pub(super) fn transaction(&self, thread: u32, k: u32) -> Transaction {
        let mut dice = self.dice(thread, k, 2000);
        let shared = dice.below(2) == 0;
        let count = 1 + dice.below(u64::from(self.params.length)) as u8;
        let statement = |i: u8| {
            let dice = &mut self.dice(thread, k, u64::from(i));
            let mut word = || self.transaction_word(thread, shared, dice);
            let (at, from) = (word(), word());
            match dice.below(4) {
                0 => Statement::Load(at),
                1 => Statement::Copy { from, to: at },
                _ => Statement::Store(at),
            }
        };
        let statements: Vec<Statement> = (0..count).map(statement).collect();
        let aborts = dice.below(100) < u64::from(self.params.abort_percent);
        let after = dice.below(statements.len() as u64 + 1) as usize;
        Transaction {
            statements,
            shared,
            aborts_after: aborts.then_some(after),
            flushes: dice.below(4) == 0,
        }
    }
    /// A word that a transaction of this thread may use.
    fn transaction_word(&self, thread: u32, shared: bool, dice: &mut Dice) -> Addr {
        let lines = u64::from(self.params.lines);
        let (line, group) = (dice.below(lines), u64::from(thread / OWN_WORDS));
        match shared && dice.below(2) == 0 {
            true => Addr(self.persistent.0 + line * LINE_BYTES + SHARED_WORD * 8),
            false => {
                let own = u64::from(thread % OWN_WORDS);
                Addr(self.persistent.0 + (group * lines + line) * LINE_BYTES + own * 8)
            }
        }
    }
}

#[cfg(test)]
mod tests;
