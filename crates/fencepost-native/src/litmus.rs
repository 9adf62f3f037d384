//! Litmus tests on the real CPU: what a test is here.

/// A register of a thread, by number.
pub type Register = u8;

/// A source operand.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A constant.
    Value(u64),
    /// A register.
    Register(Register),
}

/// Arithmetic.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // each is named for what it computes
pub enum Arithmetic {
    Add,
    Sub,
    And,
    Or,
    Xor,
}

/// When a jump is taken, by how the first operand compares with the second.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the usual comparisons; `Less` and the like are signed
pub enum When {
    Always,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Below,
    BelowEqual,
    Above,
    AboveEqual,
}

/// An instruction; memory is words of eight bytes, by number.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// `to = value`.
    Set {
        /// Result.
        to: Register,
        /// Value.
        value: Source,
    },
    /// `to = a op b`.
    Compute {
        /// What.
        what: Arithmetic,
        /// Result.
        to: Register,
        /// Operand.
        a: Source,
        /// Operand.
        b: Source,
    },
    /// `to = [word]`.
    Load {
        /// Result.
        to: Register,
        /// Where.
        word: usize,
    },
    /// `[word] = value`.
    Store {
        /// Where.
        word: usize,
        /// Value.
        value: Source,
        /// Past the caches.
        non_temporal: bool,
    },
    /// `to, [word] = [word], value`.
    Exchange {
        /// The old value.
        to: Register,
        /// Where.
        word: usize,
        /// The new one.
        value: Source,
    },
    /// `to, [word] = [word], [word] + value`, locked.
    FetchAdd {
        /// The old value.
        to: Register,
        /// Where.
        word: usize,
        /// What is added.
        value: Source,
    },
    /// If `[word]` equals `expected`, `[word] = new`; the old value to `expected`. Locked.
    CompareExchange {
        /// What is expected, and the old value.
        expected: Register,
        /// Where.
        word: usize,
        /// The new value.
        new: Source,
    },
    /// `mfence`.
    Mfence,
    /// `sfence`.
    Sfence,
    /// `lfence`.
    Lfence,
    /// `clflush`, which every CPU has: what differs between flushes cannot be seen.
    Flush {
        /// A word of the line.
        word: usize,
    },
    /// Jumps to step `target` when the comparison holds.
    Jump {
        /// When.
        when: When,
        /// Compared.
        a: Source,
        /// Compared.
        b: Source,
        /// The number of a step; one beyond the last is the end.
        target: usize,
    },
}

/// A test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Litmus {
    /// Steps by thread.
    pub threads: Vec<Vec<Step>>,
    /// Number of registers and their initial values, by thread.
    pub registers: Vec<Vec<u64>>,
    /// Initial values of the words.
    pub words: Vec<u64>,
    /// By word: its line and its place there (0..8).
    pub places: Vec<(usize, usize)>,
}

/// What one round left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Left {
    /// Registers by thread.
    pub registers: Vec<Vec<u64>>,
    /// The words.
    pub words: Vec<u64>,
}
