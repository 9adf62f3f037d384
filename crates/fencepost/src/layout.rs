//! How text fits the terminal: tables and sentences as wide as it is, 80 columns where nobody looks.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use terminal_size::{Width, terminal_size_of};
use textwrap::{WordSeparator, WordSplitter};

/// Columns where standard output is no terminal.
const PLAIN: u16 = 80;
/// Columns that a reader still follows; a wider terminal gets no longer lines.
const WIDEST: u16 = 120;

/// Columns that may be used on standard output.
pub(crate) fn width() -> u16 {
    match terminal_size_of(std::io::stdout()) {
        Some((Width(w), _)) => w.clamp(40, WIDEST),
        None => PLAIN,
    }
}

/// A table with aligned columns, numbers to the right, not wider than what can be shown: long cells go on below.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    table_of(head, rows, width())
}

fn table_of(head: &[&str], rows: &[Vec<String>], width: u16) -> String {
    let mut table = Table::new();
    let mut style = presets::NOTHING;
    (style.header_separator.fill, style.header_separator.junction) = (Some('-'), Some('-'));
    table.load_style(style);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width);
    table.set_header(head.iter().map(Cell::new));
    for row in rows {
        table.add_row(row.iter().map(Cell::new));
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        if numeric(rows, i) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn numeric(rows: &[Vec<String>], column: usize) -> bool {
    let looks = |c: &String| c.is_empty() || c.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    !rows.is_empty() && rows.iter().filter_map(|r| r.get(column)).all(looks)
}

/// A name and what it stands for, one below the other with the second wrapped in its own column.
pub(crate) fn entry(indent: usize, name_width: usize, name: &str, about: &str) -> String {
    let left = format!("{:indent$}{name:name_width$}  ", "");
    let below = " ".repeat(left.chars().count());
    let options = textwrap::Options::new(width().into())
        .initial_indent(&left)
        .subsequent_indent(&below)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false);
    textwrap::fill(about, options) + "\n"
}

/// Sentences, each line wrapped and what goes on below set in a little further. What must stay on one line does: a command to copy,
/// a table's row.
pub(crate) fn wrapped(text: &str) -> String {
    text.lines().map(|line| wrapped_line(line, width()) + "\n").collect()
}

fn wrapped_line(line: &str, width: u16) -> String {
    if line.chars().count() <= width.into() || line.contains("fencepost replay '") {
        return line.to_owned();
    }
    let indent = line.len() - line.trim_start().len();
    let (here, below) = (" ".repeat(indent), " ".repeat(indent + 2));
    let options = textwrap::Options::new(width.into())
        .initial_indent(&here)
        .subsequent_indent(&below)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false);
    textwrap::fill(line.trim_start(), options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_to_the_right() {
        let rows = vec![vec!["a".into(), "1.5".into()], vec!["bcd".into(), "10.25".into()]];
        let expected = "x        n\n----------\na      1.5\nbcd  10.25\n";
        let shown = table_of(&["x", "n"], &rows, 80);
        let lines = |t: &str| {
            t.lines()
                .map(|l| l.trim_end_matches('-').to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(lines(&shown), lines(expected));
    }
    #[test]
    fn no_line_is_wider_than_asked() {
        let long = "word ".repeat(60);
        let shown = table_of(
            &["name", "bits", "note"],
            &[vec!["a".into(), "4720".into(), long.clone()]],
            80,
        );
        assert!(
            shown.lines().count() > 3 && shown.lines().all(|l| l.chars().count() <= 80),
            "{shown}"
        );
        assert!(wrapped_line(&long, 80).lines().all(|l| l.chars().count() <= 80));
        assert_eq!(wrapped_line(&long, 80).split_whitespace().count(), 60);
    }
    #[test]
    fn a_command_to_copy_stays_on_one_line() {
        let line = format!("replay: fencepost replay '{}'", "x".repeat(200));
        assert_eq!(wrapped_line(&line, 80), line);
    }
}
