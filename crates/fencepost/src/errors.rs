//! Showing what is wrong: what, where, and what would be right; for people, and with `--json` for scripts too.

use crate::exit::BAD_INPUT;
use crate::output::{clean, colours, print};
use fencepost_run::config::Place;
use fencepost_run::{BadInput, LabError};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use serde::Serialize;
use std::fmt;
use std::io::{IsTerminal as _, Write as _};

/// Most characters of a source line that are shown.
const WINDOW: usize = 120;

/// The document of an error.
#[derive(Serialize)]
struct Document<'a> {
    error: Entry<'a>,
    exit_code: u8,
}
#[derive(Serialize)]
struct Entry<'a> {
    kind: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

/// Shows an error; returns the exit code.
pub(crate) fn show(e: &LabError, json: bool) -> u8 {
    let (kind, shown) = match e {
        LabError::Input(bad) => ("input", Shown::of(bad)),
        LabError::File { .. } => ("file", Shown::plain(&e.to_string(), None)),
        LabError::Convicted { .. } => ("convicted", Shown::plain(&e.to_string(), None)),
        LabError::Internal(_) => {
            let hint = "this is a defect of fencepost: please report it with the command line";
            ("internal", Shown::plain(&e.to_string(), Some(hint)))
        }
    };
    say(kind, &shown, e.exit_code(), json)
}

/// Shows arguments that do not parse, and what was most likely meant.
pub(crate) fn show_usage(e: &clap::Error, advice: Option<&str>, json: bool) -> u8 {
    if json {
        let text = e.render().to_string();
        let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
        let first = lines.next().unwrap_or_default().trim_start_matches("error: ");
        let rest: Vec<&str> = advice.into_iter().chain(lines).collect();
        return say("usage", &Shown::plain(first, Some(&rest.join("; "))), BAD_INPUT, true);
    }
    let mut text = match colours(&std::io::stderr()) {
        true => e.render().ansi().to_string(),
        false => clean(&e.render().to_string()),
    };
    if let Some(advice) = advice {
        // Behind the first paragraph, which says what is wrong.
        let end = text.find("\n\n").map_or(text.len(), |at| at + 1);
        text.insert_str(end, &format!("\n  hint: {}\n", clean(advice)));
    }
    let _ = std::io::stderr().write_all(text.as_bytes());
    BAD_INPUT
}

fn say(kind: &'static str, shown: &Shown, exit_code: u8, json: bool) -> u8 {
    let mut text = String::new();
    let terminal = std::io::stderr().is_terminal();
    let theme = match colours(&std::io::stderr()) {
        true => GraphicalTheme::unicode(),
        false => GraphicalTheme::unicode_nocolor(),
    };
    let handler = GraphicalReportHandler::new_themed(theme).with_context_lines(1);
    let handler = match terminal {
        true => handler,
        // What reads a pipe wants one message a line.
        false => handler.with_width(usize::from(u16::MAX)).with_wrap_lines(false),
    };
    if handler.render_report(&mut text, shown).is_err() {
        text = shown.message.clone();
    }
    let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
    if json {
        let document = Document {
            error: Entry {
                kind,
                message: &shown.message,
                place: shown.place.clone(),
                hint: shown.help.as_deref(),
            },
            exit_code,
        };
        let text = serde_json::to_string_pretty(&document).unwrap_or_default();
        let _ = print(&(text + "\n"));
    }
    exit_code
}

struct Shown {
    message: String,
    place: Option<String>,
    help: Option<String>,
    source: Option<NamedSource<String>>,
    label: Option<LabeledSpan>,
}
impl Shown {
    fn plain(message: &str, help: Option<&str>) -> Shown {
        Shown {
            message: clean(message),
            place: None,
            help: help.map(clean),
            source: None,
            label: None,
        }
    }
    fn of(bad: &BadInput) -> Shown {
        let mut shown = Shown::plain(&bad.message, bad.hint.as_deref());
        if let Some(place) = &bad.place {
            let (source, label) = excerpt(place);
            shown.place = Some(clean(&place.to_string()));
            (shown.source, shown.label) = (Some(source), Some(label));
        }
        shown
    }
}

/// The line of a place, on its own line number and cut around the place.
fn excerpt(place: &Place) -> (NamedSource<String>, LabeledSpan) {
    let text = &place.source.text;
    let start = text[..place.span.start].rfind('\n').map_or(0, |n| n + 1);
    let end = text[start..].find('\n').map_or(text.len(), |n| start + n);
    let at = place.span.start.min(end);
    let before: Vec<char> = text[start..at].chars().collect();
    let skipped = before.len().saturating_sub(WINDOW / 2);
    let marked: String = text[at..place.span.end.clamp(at, end)]
        .chars()
        .take(WINDOW / 2)
        .collect();
    let rest = WINDOW - (before.len() - skipped);
    let after: String = text[at + marked.len()..end].chars().take(rest).collect();
    let lead = if skipped > 0 { ".. " } else { "" };
    let head = format!("{lead}{}", clean(&before[skipped..].iter().collect::<String>()));
    let marked = clean(&marked);
    let (line, _) = place.line_column();
    // Of the lines before only the last is shown; the ends of the others keep the line's number right.
    let mut above = "\n".repeat(line.saturating_sub(1));
    if let Some(last) = text[..start].lines().next_back() {
        let last: String = last.chars().take(WINDOW).collect();
        above.insert_str(above.len() - 1, &clean(&last));
    }
    let offset = above.len() + head.len();
    let shown = format!("{above}{head}{marked}{}", clean(&after));
    let label = LabeledSpan::underline(offset..offset + marked.len());
    (NamedSource::new(clean(&place.source.name), shown), label)
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)
    }
}
impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
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
        let label = self.label.clone()?;
        Some(Box::new(std::iter::once(label)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_run::config::Source;

    #[test]
    fn an_excerpt_keeps_line_and_mark() {
        let text = format!("first\n{}key{}\nlast", "a".repeat(5000), "b".repeat(5000));
        let source = Source::new("x", text);
        let place = Place::new(&source, Some(5006..5009));
        let (named, label) = excerpt(&place);
        let shown = named.inner();
        assert_eq!(&shown[label.offset()..label.offset() + label.len()], "key");
        assert!(shown.len() < 300 && shown.starts_with("first\n.. aaa") && !shown.contains("last"));
        // A place at the very end, and an empty text.
        excerpt(&Place::new(&source, Some(usize::MAX..usize::MAX)));
        excerpt(&Place::new(&Source::new("y", ""), None));
    }
}
