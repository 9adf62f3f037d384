//! Printing: one JSON document, or text for people.

use fencepost_lab::{BadInput, LabError};
use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use serde::Serialize;
use std::fmt;
use std::io::{IsTerminal, Write};

/// How to print.
#[derive(Copy, Clone, Debug)]
pub struct Out {
    /// One JSON document on standard output.
    pub json: bool,
    /// Less.
    pub quiet: bool,
    /// More.
    pub verbose: u8,
}
impl Out {
    /// Prints the document in JSON, or what `text` makes of it.
    pub fn document<T: Serialize>(&self, value: &T, text: impl FnOnce() -> String) -> Result<(), LabError> {
        let text = match self.json {
            true => serde_json::to_string_pretty(value).map_err(|e| LabError::Internal(e.to_string()))? + "\n",
            false => text(),
        };
        print(&text)
    }
    /// Whether progress may be shown: somebody looks, and asked for nothing else.
    pub fn progress(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }
}

/// Writes to standard output. A reader that went away is no error.
fn print(text: &str) -> Result<(), LabError> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(LabError::File {
            action: "write to",
            path: "standard output".into(),
            why: e,
        }),
        _ => Ok(()),
    }
}

/// Shows an error on standard error: what, where, and what would be right.
pub fn show_error(e: &LabError) {
    let shown = match e {
        LabError::Input(bad) => Shown::new(bad),
        other => Shown {
            message: other.to_string(),
            help: None,
            source: None,
            labels: Vec::new(),
        },
    };
    let _ = writeln!(std::io::stderr(), "{:?}", miette::Report::new(shown));
}

struct Shown {
    message: String,
    help: Option<String>,
    source: Option<NamedSource<String>>,
    labels: Vec<LabeledSpan>,
}
impl Shown {
    fn new(bad: &BadInput) -> Shown {
        let place = bad.place.as_ref();
        Shown {
            message: place.map_or_else(|| bad.message.clone(), |p| format!("{p}: {}", bad.message)),
            help: bad.hint.clone(),
            source: place.map(|p| NamedSource::new(&p.source.name, p.source.text.clone())),
            labels: place
                .map(|p| LabeledSpan::underline(p.span.clone()))
                .into_iter()
                .collect(),
        }
    }
}
impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for Shown {}
impl Diagnostic for Shown {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|h| Box::new(h) as Box<dyn fmt::Display>)
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|s| s as &dyn SourceCode)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        (!self.labels.is_empty()).then(|| Box::new(self.labels.iter().cloned()) as Box<dyn Iterator<Item = _>>)
    }
}

/// A table with aligned columns; numbers to the right.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let cell = |r: &Vec<String>, i: usize| r.get(i).map_or(0, |c| c.chars().count());
    let widths: Vec<usize> = (head.iter().enumerate())
        .map(|(i, h)| {
            rows.iter()
                .map(|r| cell(r, i))
                .max()
                .unwrap_or(0)
                .max(h.chars().count())
        })
        .collect();
    let numeric = |i: usize| {
        let looks = |c: &String| c.is_empty() || c.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        !rows.is_empty() && rows.iter().filter_map(|r| r.get(i)).all(looks)
    };
    let line = |cells: Vec<&str>| {
        let padded = cells.iter().enumerate().map(|(i, c)| {
            let fill = " ".repeat(widths[i].saturating_sub(c.chars().count()));
            if numeric(i) {
                format!("{fill}{c}")
            } else {
                format!("{c}{fill}")
            }
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let mut out = line(head.to_vec());
    out.push_str(&line(
        widths
            .iter()
            .map(|w| "-".repeat(*w))
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str)
            .collect(),
    ));
    for r in rows {
        out.push_str(&line(r.iter().map(String::as_str).collect()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn numbers_stand_to_the_right() {
        let rows = vec![vec!["a".into(), "1.5".into()], vec!["bcd".into(), "10.25".into()]];
        assert_eq!(
            table(&["x", "n"], &rows),
            "x        n\n---  -----\na      1.5\nbcd  10.25\n"
        );
    }
}
