//! Texts that settings come from, and places in them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A configuration text: a file, a preset of the binary, or an argument.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// How messages call it: a path, `preset machines/dpo.toml`, `--set`.
    pub name: String,
    /// The whole text.
    pub text: String,
}
impl Source {
    /// A shared source.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Source> {
        Arc::new(Source {
            name: name.into(),
            text: text.into(),
        })
    }
}

/// A stretch of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which text.
    pub source: Arc<Source>,
    /// Byte range in it.
    pub span: Range<usize>,
}
impl Place {
    /// The place of `span` in `source`; an absent span is the beginning.
    pub fn new(source: &Arc<Source>, span: Option<Range<usize>>) -> Place {
        let end = source.text.len();
        let span = span.unwrap_or(0..0);
        Place {
            source: Arc::clone(source),
            span: span.start.min(end)..span.end.min(end),
        }
    }
    /// Line and column, both from 1; columns count characters.
    pub fn line_column(&self) -> (usize, usize) {
        let before = self.source.text.get(..self.span.start).unwrap_or("");
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        (line, column)
    }
}
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.line_column();
        write!(f, "{}:{line}:{column}", self.source.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn line_and_column_count_from_one() {
        let s = Source::new("x.toml", "ab\ncdé=1\n");
        assert_eq!(Place::new(&s, Some(3..4)).to_string(), "x.toml:2:1");
        assert_eq!(Place::new(&s, Some(7..8)).line_column(), (2, 4));
        assert_eq!(Place::new(&s, Some(99..100)).line_column(), (3, 1));
    }
}
