//! The lines of a log, and where in the files each is.

use super::spaces::At;
use std::collections::HashMap;

/// One line of a log.
#[derive(Clone, Debug)]
pub(super) struct Line<'l> {
    pub(super) thread: u64,
    pub(super) kind: &'l str,
    /// Where in persistent memory; or the address of volatile memory.
    pub(super) at: Option<Place>,
    pub(super) number: u64,
    pub(super) width: u64,
    /// Whether a call of the system did it.
    pub(super) called: bool,
}

/// What an address of a log is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    File(At),
    /// The length of a file.
    Length(usize),
    Volatile(u64),
}

/// Where the files lie in a log.
#[derive(Default)]
pub(super) struct Files {
    /// Base, end, number; by base.
    pub(super) areas: Vec<(u64, usize)>,
    pub(super) lengths: HashMap<u64, usize>,
}

pub(super) fn number(word: &str) -> Option<u64> {
    match word.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
    }
}

impl Files {
    pub(super) fn place(&self, word: &str) -> Option<Place> {
        let Some(at) = word.strip_prefix("pm+") else {
            return number(word).map(Place::Volatile);
        };
        let at = number(at)?;
        if let Some(file) = self.lengths.get(&at) {
            return Some(Place::Length(*file));
        }
        let area = self.areas.iter().rfind(|a| a.0 <= at)?;
        Some(Place::File((area.1, at - area.0)))
    }
    /// `file BASE LENGTH fN [length AT]`.
    pub(super) fn declares(&mut self, words: &[&str]) -> Option<()> {
        let file = words.get(3)?.strip_prefix('f')?.parse().ok()?;
        self.areas.push((number(words[1])?, file));
        if let Some(at) = words.get(5) {
            self.lengths.insert(number(at)?, file);
        }
        Some(())
    }
    pub(super) fn line<'l>(&self, words: &[&'l str]) -> Option<Line<'l>> {
        let numbered = matches!(words.get(1), Some(&("begin" | "end" | "ack")));
        let at = words.get(2).filter(|_| !numbered).and_then(|w| self.place(w));
        let width = words.get(4).and_then(|w| w.strip_prefix('w')?.parse().ok());
        let value = if at.is_some() && words.len() > 3 {
            words[3]
        } else {
            words.get(2).copied().unwrap_or("0")
        };
        Some(Line {
            thread: words.first()?.parse().ok()?,
            kind: words.get(1)?,
            at,
            number: number(value).unwrap_or(0),
            width: width.unwrap_or(8),
            called: false,
        })
    }
}
