//! Printing: one JSON document, or text for people.

use crate::faults;
use fencepost_run::LabError;
use serde::Serialize;
use std::io::{IsTerminal, Write as _};

/// How to print.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Out {
    /// One JSON document on standard output.
    pub json: bool,
    /// Less.
    pub quiet: bool,
    /// More.
    pub verbose: u8,
}
impl Out {
    /// Prints the document in JSON, or what `text` makes of it, with the planted faults that were asked for and never acted.
    pub(crate) fn document<T: Serialize>(&self, value: &T, text: impl FnOnce() -> String) -> Result<(), LabError> {
        let warnings = faults::warnings();
        for w in &warnings {
            let _ = writeln!(std::io::stderr(), "warning: {}", clean(w));
        }
        let text = match self.json {
            true => json(value, warnings)? + "\n",
            false => text(),
        };
        print(&text)
    }
    /// Mentions something on standard error, where it disturbs no document.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(std::io::stderr(), "note: {}", clean(text));
        }
    }
    /// Whether progress may be shown: somebody looks, and asked for nothing else.
    pub(crate) fn progress(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }
}

/// A document to which something is added that holds for every command.
#[derive(Serialize)]
struct Warned<'a, T: Serialize> {
    #[serde(flatten)]
    document: &'a T,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// The text of a document, with warnings where there are any and it has fields.
pub(crate) fn json<T: Serialize>(document: &T, warnings: Vec<String>) -> Result<String, LabError> {
    let plain = || serde_json::to_string_pretty(document).map_err(|e| LabError::Internal(e.to_string()));
    if warnings.is_empty() {
        return plain();
    }
    serde_json::to_string_pretty(&Warned { document, warnings }).or_else(|_| plain())
}

/// Whether colours may be used there: somebody looks, and has not asked for none (<https://no-color.org>).
pub(crate) fn colours(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// Writes to standard output. A reader that went away is no error.
pub(crate) fn print(text: &str) -> Result<(), LabError> {
    print_bytes(text.as_bytes())
}

/// The same for what need not be text.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), LabError> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(LabError::File {
            action: "write to",
            path: "standard output".into(),
            why: e,
        }),
        _ => Ok(()),
    }
}

/// Longest line of a message, in characters.
const LONGEST: usize = 400;

/// Control characters, and those that change the direction or the width of text, escaped; long lines cut in the middle.
pub(crate) fn clean(text: &str) -> String {
    let hidden = |c: char| {
        let invisible =
            matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        c.is_control() && c != '\n' || invisible
    };
    let line = |line: &str| {
        let n = line.chars().count();
        let cut = match n > LONGEST {
            true => {
                let half = LONGEST / 2;
                let head: String = line.chars().take(half).collect();
                let tail: String = line.chars().skip(n - half).collect();
                format!("{head} [.. {} characters ..] {tail}", n - 2 * half)
            }
            false => line.to_owned(),
        };
        cut.chars().fold(String::new(), |mut out, c| {
            match hidden(c) {
                true => out.extend(c.escape_default()),
                false => out.push(c),
            }
            out
        })
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn warnings_are_a_field_of_documents_that_have_fields() {
        #[derive(Serialize)]
        struct Large {
            n: u128,
        }
        let warned = |d: &Large, w: &[&str]| json(d, w.iter().map(|w| (*w).to_owned()).collect()).unwrap();
        let large = Large { n: u128::MAX };
        assert!(!warned(&large, &[]).contains("warnings"));
        let text = warned(&large, &["a"]);
        assert!(
            text.contains(&u128::MAX.to_string()) && text.contains("\"warnings\": ["),
            "{text}"
        );
        assert_eq!(json(&vec![1], vec!["a".into()]).unwrap(), "[\n  1\n]");
    }
    #[test]
    fn long_lines_are_cut_and_control_characters_escaped() {
        assert_eq!(clean("a\x1b[31mb\r\u{202e}c"), "a\\u{1b}[31mb\\r\\u{202e}c");
        assert_eq!(clean("two\nlines"), "two\nlines");
        let long = clean(&"x".repeat(100_000));
        assert!(
            long.len() < 2 * LONGEST && long.contains("99600 characters"),
            "{}",
            long.len()
        );
    }
}
