//! The fields of one line: words, numbers, addresses, with errors that say what was expected.

use super::error::LogError;
use fencepost_kernel::{Addr, Flush, Ps, WriteCause};

/// Flushes by word.
pub(super) const FLUSHES: [(&str, Flush); 4] = [
    ("clwb", Flush::Clwb),
    ("clflushopt", Flush::ClflushOpt),
    ("clflush", Flush::Clflush),
    ("cvap", Flush::CvAp),
];
/// Causes by word.
pub(super) const CAUSES: [(&str, WriteCause); 8] = [
    ("eviction", WriteCause::Eviction),
    ("flush", WriteCause::Flush),
    ("persist", WriteCause::Persist),
    ("nt", WriteCause::NonTemporal),
    ("log", WriteCause::Log),
    ("home", WriteCause::Home),
    ("remote", WriteCause::Remote),
    ("log-part", WriteCause::LogPart),
];

/// Looks a word up in one of the tables.
pub(super) fn lookup<T: Copy>(table: &[(&'static str, T)], word: &str) -> Option<T> {
    table.iter().find(|(w, _)| *w == word).map(|(_, v)| *v)
}
/// The word of a value in one of the tables.
pub(super) fn word_of<T: PartialEq>(table: &[(&'static str, T)], value: T) -> &'static str {
    table.iter().find(|(_, v)| *v == value).map_or("?", |(w, _)| w)
}

/// Number of single-character edits from one word to another.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// "did you mean" for a word that is close to a known one.
pub(super) fn nearest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<String> {
    let best = known.into_iter().map(|k| (distance(word, k), k)).min()?;
    (best.0 <= 2).then(|| format!("did you mean `{}`?", best.1))
}

/// A range of addresses that the log declares persistent, and where it lies in ours.
#[derive(Copy, Clone, Debug)]
pub(super) struct Persistent {
    pub(super) from: u64,
    pub(super) len: u64,
    pub(super) at: Addr,
}

/// The fields of one line, left to right.
pub(super) struct Fields<'l> {
    line: usize,
    rest: std::iter::Peekable<std::str::SplitWhitespace<'l>>,
}

impl<'l> Fields<'l> {
    pub(super) fn new(line: usize, text: &'l str) -> Fields<'l> {
        Fields {
            line,
            rest: text.split_whitespace().peekable(),
        }
    }
    pub(super) fn error(&self, reason: impl Into<String>) -> LogError {
        LogError {
            line: self.line,
            reason: reason.into(),
            hint: None,
        }
    }
    pub(super) fn hinted(&self, reason: impl Into<String>, hint: Option<String>) -> LogError {
        LogError {
            line: self.line,
            reason: reason.into(),
            hint,
        }
    }
    pub(super) fn next(&mut self, what: &str) -> Result<&'l str, LogError> {
        self.rest
            .next()
            .ok_or_else(|| self.error(format!("expected {what}, found the end of the line")))
    }
    pub(super) fn maybe(&mut self) -> Option<&'l str> {
        self.rest.next()
    }
    /// Takes the next word if it is this one.
    pub(super) fn take(&mut self, word: &str) -> bool {
        self.rest.next_if_eq(&word).is_some()
    }
    pub(super) fn peek(&mut self) -> Option<&'l str> {
        self.rest.peek().copied()
    }
    pub(super) fn end(&mut self) -> Result<(), LogError> {
        match self.rest.next() {
            None => Ok(()),
            Some(word) => Err(self.error(format!("unexpected `{word}` at the end of the line"))),
        }
    }
    pub(super) fn parse_number(&self, word: &str, what: &str) -> Result<u64, LogError> {
        let digits = word
            .strip_prefix("0x")
            .map_or_else(|| word.parse().ok(), |h| u64::from_str_radix(h, 16).ok());
        digits.ok_or_else(|| {
            let hint = word
                .chars()
                .all(|c| c.is_ascii_hexdigit())
                .then(|| "hexadecimal numbers start with 0x".into());
            self.hinted(
                format!("expected {what}, a number of at most 64 bits; found `{word}`"),
                hint,
            )
        })
    }
    pub(super) fn number(&mut self, what: &str) -> Result<u64, LogError> {
        let word = self.next(what)?;
        self.parse_number(word, what)
    }
    pub(super) fn small<T: TryFrom<u64>>(&mut self, what: &str) -> Result<T, LogError> {
        let n = self.number(what)?;
        T::try_from(n).map_err(|_| self.error(format!("{what} {n} is too large")))
    }
    pub(super) fn address(&mut self, ranges: &[Persistent]) -> Result<Addr, LogError> {
        let word = self.next("an address")?;
        self.parse_address(word, ranges)
    }
    pub(super) fn parse_address(&self, word: &str, ranges: &[Persistent]) -> Result<Addr, LogError> {
        if let Some(offset) = word.strip_prefix("pm+") {
            let offset = self.parse_number(offset, "an offset")?;
            return match offset {
                0..0x100_0000_0000 => Ok(Addr::pm(offset)),
                _ => Err(self.error(format!("offset {offset:#x} is beyond 1 TiB of persistent memory"))),
            };
        }
        let raw = self.parse_number(word, "an address")?;
        let before = ranges.partition_point(|r| r.from <= raw).checked_sub(1);
        let range = before.map(|i| &ranges[i]).filter(|r| raw - r.from < r.len);
        match range {
            Some(r) => Ok(Addr(r.at.0 + (raw - r.from))),
            None if raw < 0x100_0000_0000 => Ok(Addr(raw)),
            None => Err(self.hinted(
                format!("address {raw:#x} is in no persistent range"),
                Some("declare one with `persistent <address> <length>`, or write pm+<offset>".into()),
            )),
        }
    }
    /// An address and a length.
    pub(super) fn range(&mut self, ranges: &[Persistent]) -> Result<(Addr, u64), LogError> {
        let (base, len) = (self.address(ranges)?, self.number("a length")?);
        match base.0.checked_add(len) {
            Some(_) => Ok((base, len)),
            None => Err(self.error("the range ends beyond 2^64")),
        }
    }
    pub(super) fn time(&mut self) -> Result<Ps, LogError> {
        let word = self.next("a time")?;
        let split = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
        let scale = lookup(
            &[("ps", 1), ("ns", 1000), ("us", 1_000_000), ("ms", 1_000_000_000)],
            &word[split..],
        );
        let ticks = word[..split]
            .parse::<u64>()
            .ok()
            .zip(scale)
            .and_then(|(n, s): (u64, u64)| n.checked_mul(s));
        ticks
            .map(Ps)
            .ok_or_else(|| self.error(format!("expected a time such as 250ns; found `{word}`")))
    }
}
