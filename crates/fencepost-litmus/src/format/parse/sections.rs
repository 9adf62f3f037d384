//! The parts of a file: first line, headers, initial state, columns of the program, final part.

use super::error::{Read, syntax, unsupported};
use crate::format::test::Arch;

/// A file cut into its parts.
pub(super) struct Sections {
    pub arch: Arch,
    pub name: String,
    pub headers: Vec<(String, String)>,
    pub init: String,
    /// By thread: its number and its cells, empty ones dropped.
    pub columns: Vec<(usize, Vec<String>)>,
    pub filter: Option<String>,
    pub locations: Option<String>,
    /// From `exists`, `~exists` or `forall` on.
    pub condition: String,
}

/// Without comments `(* *)`, which nest.
fn without_comments(text: &str) -> Read<String> {
    let mut out = String::with_capacity(text.len());
    let (mut depth, mut rest) = (0, text);
    while let Some(at) = rest.find(['(', '*']) {
        let (before, here) = rest.split_at(at);
        if depth == 0 {
            out.push_str(before);
        }
        let skip = if here.starts_with("(*") {
            depth += 1;
            2
        } else if depth > 0 && here.starts_with("*)") {
            depth -= 1;
            2
        } else {
            if depth == 0 {
                out.push_str(&here[..1]);
            }
            1
        };
        rest = &here[skip..];
    }
    if depth > 0 {
        return syntax("a comment is not closed");
    }
    out.push_str(rest);
    Ok(out)
}

/// The matching `}` of the `{` that the text begins with.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => {}
        }
    }
    None
}

const FINAL_WORDS: [&str; 9] = [
    "exists",
    "~exists",
    "forall",
    "locations",
    "filter",
    "forbidden",
    "observed",
    "allowed",
    "required",
];

/// Where the first of the words of the final part begins.
fn final_part(text: &str) -> Option<usize> {
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        let starts = |word: &str| {
            let rest = start.strip_prefix(word);
            rest.is_some_and(|r| !r.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':'))
        };
        let not = start
            .strip_prefix('~')
            .is_some_and(|r| r.trim_start().starts_with("exists"));
        if FINAL_WORDS.iter().any(|w| starts(w)) || not {
            return Some(offset + line.len() - start.len());
        }
        offset += line.len();
    }
    None
}

fn columns(table: &str) -> Read<Vec<(usize, Vec<String>)>> {
    let mut rows = table
        .split(';')
        .map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let mut columns = Vec::new();
    for name in rows.next().unwrap_or_default() {
        let id = name.split([':', ' ', '(']).next().unwrap_or_default();
        match id.strip_prefix('P').and_then(|n| n.parse().ok()) {
            Some(id) => columns.push((id, Vec::new())),
            None => return syntax(format!("`{name}` is no thread; threads are P0, P1, ...")),
        }
    }
    for row in rows {
        if row.len() > columns.len() {
            return syntax(format!("`{}` has more columns than there are threads", row.join(" | ")));
        }
        for (cell, column) in row.into_iter().zip(&mut columns) {
            if !cell.is_empty() {
                column.1.push(cell.split_whitespace().collect::<Vec<_>>().join(" "));
            }
        }
    }
    Ok(columns)
}

/// `Key=value` lines; a quoted line and others are dropped.
fn headers(text: &str) -> Vec<(String, String)> {
    let pair = |line: &str| {
        let (key, value) = line.split_once('=')?;
        let key = key.trim();
        let word = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "._-".contains(c));
        word.then(|| (key.to_owned(), value.trim().to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

impl Sections {
    pub(super) fn split(text: &str) -> Read<Sections> {
        let text = without_comments(text)?;
        let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let mut words = first.split_whitespace();
        let Some(word) = words.next() else {
            return syntax("the file is empty");
        };
        let Some(arch) = Arch::parse(word) else {
            return unsupported(format!(
                "instruction set `{word}`; X86, X86_64, ARM, AArch64 and PPC are read"
            ));
        };
        let name = words.collect::<Vec<_>>().join(" ");
        // A quoted line may hold a brace too; the initial state begins a line.
        let starts = |(at, _): &(usize, &str)| {
            rest[..*at]
                .lines()
                .next_back()
                .is_none_or(|l| rest[..*at].ends_with('\n') || l.trim().is_empty())
        };
        let Some(open) = rest.match_indices('{').find(starts).map(|(at, _)| at) else {
            return syntax("no initial state `{ ... }`");
        };
        let headers = headers(&rest[..open]);
        let Some(close) = closing(&rest[open..]) else {
            return syntax("the initial state is not closed");
        };
        let init = rest[open + 1..open + close].to_owned();
        let body = &rest[open + close + 1..];
        let Some(end) = final_part(body) else {
            return syntax("no final condition: `exists`, `~exists` or `forall`");
        };
        let mut sections = Sections {
            arch,
            name,
            headers,
            init,
            columns: columns(&body[..end])?,
            filter: None,
            locations: None,
            condition: String::new(),
        };
        sections.read_final(&body[end..])?;
        Ok(sections)
    }

    fn read_final(&mut self, text: &str) -> Read<()> {
        let mut rest = text.trim();
        loop {
            if let Some(after) = rest.strip_prefix("locations") {
                let Some((inside, tail)) = after.trim_start().strip_prefix('[').and_then(matching_bracket) else {
                    return syntax("`locations` is followed by `[...]`");
                };
                self.locations = Some(inside.to_owned());
                rest = tail.trim_start();
            } else if let Some(after) = rest.strip_prefix("filter") {
                let end = final_part(after).unwrap_or(after.len());
                self.filter = Some(after[..end].to_owned());
                rest = after[end..].trim_start();
            } else {
                self.condition = rest.to_owned();
                return Ok(());
            }
        }
    }
}

/// The text up to the matching `]`, and what follows.
fn matching_bracket(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1;
    for (i, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&text[..i], &text[i + 1..]));
        }
    }
    None
}
