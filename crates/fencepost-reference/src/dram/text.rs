//! Command traces as text: a line a command, as DRAMsim3 writes them.
//!
//! Cycle, command, channel, rank, bank group, bank, row and column; the last two in hexadecimal digits. Ours know one word more,
//! `precharge_all`. DRAMsim3 writes -1 for what a command does not name, the channel included where a refresh is in progress: its traces
//! hold one channel each.

use super::command::{Command, Kind};
use std::fmt;

/// A line that is no command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Its bytes in the text.
    pub span: std::ops::Range<usize>,
    /// What is wrong.
    pub why: String,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<18} {:<20} {:>3} {:>3} {:>3} {:>3} {:>#8x} {:>#8x}",
            self.cycle,
            self.kind.word(),
            self.channel,
            self.rank,
            self.group,
            self.bank,
            self.row,
            self.column
        )
    }
}

/// A trace as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Its commands.
    pub commands: Vec<Command>,
    /// The line of each, counted from 1.
    pub lines: Vec<usize>,
}

/// The commands of a text. Empty lines and lines that begin with `#` are skipped.
///
/// # Errors
/// The first line that is no command.
pub fn parse(text: &str) -> Result<Trace, BadLine> {
    let (mut out, mut lines, mut offset, mut channel) = (Vec::new(), Vec::new(), 0, None);
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let words = line.trim();
        if !words.is_empty() && !words.starts_with('#') {
            let span = offset..offset + line.trim_end().len();
            let (named, command) = one(words).map_err(|why| BadLine { span, why })?;
            channel = channel.or(named);
            out.push((named, command));
            lines.push(number);
        }
        offset += line.len();
    }
    let of_file = channel.unwrap_or(0);
    let placed = |(named, command): (Option<u16>, Command)| Command {
        channel: named.unwrap_or(of_file),
        ..command
    };
    let commands = out.into_iter().map(placed).collect();
    Ok(Trace { commands, lines })
}

/// The channel, if one is named, and the command.
fn one(line: &str) -> Result<(Option<u16>, Command), String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [cycle, word, channel, rank, group, bank, row, column] = words[..] else {
        return Err(format!(
            "a command has eight fields (cycle, command, channel, rank, bank group, bank, row, column); this line has {}",
            words.len()
        ));
    };
    let Some((kind, _)) = Kind::WORDS.iter().find(|(_, w)| *w == word) else {
        let known: Vec<&str> = Kind::WORDS.iter().map(|(_, w)| *w).collect();
        return Err(format!(
            "unknown command `{word}`; the commands are {}",
            known.join(", ")
        ));
    };
    let required = |what: &str, word: &str, needed: bool| match decimal(what, word)? {
        None if needed => Err(format!("a `{}` names its {what}", kind.word())),
        number => Ok(number.unwrap_or(0)),
    };
    let of_bank = !kind.of_rank();
    let needs_row = *kind == Kind::Activate || kind.is_column();
    let row = hexadecimal("row", row)?;
    if row.is_none() && needs_row {
        return Err(format!("a `{}` names its row", kind.word()));
    }
    let command = Command {
        cycle: cycle.parse().map_err(|_| format!("the cycle `{cycle}` is no number"))?,
        kind: *kind,
        channel: 0,
        rank: required("rank", rank, true)?,
        group: required("bank group", group, of_bank)?,
        bank: required("bank", bank, of_bank)?,
        row: row.unwrap_or(0),
        column: hexadecimal("column", column)?.unwrap_or(0),
    };
    Ok((decimal("channel", channel)?, command))
}

/// A number; none where the word says that there is none.
fn decimal(what: &str, word: &str) -> Result<Option<u16>, String> {
    if word == "-1" {
        return Ok(None);
    }
    let bad = |_| format!("the {what} `{word}` is no number that fits");
    word.parse().map(Some).map_err(bad)
}
fn hexadecimal(what: &str, word: &str) -> Result<Option<u64>, String> {
    if word == "-0x1" {
        return Ok(None);
    }
    let digits = word.strip_prefix("0x").filter(|d| !d.starts_with('+'));
    let number = digits.and_then(|d| u64::from_str_radix(d, 16).ok());
    number
        .map(Some)
        .ok_or_else(|| format!("the {what} `{word}` is no hexadecimal number (0x...)"))
}
