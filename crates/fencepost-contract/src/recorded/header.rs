//! The first line of a log, and of each execution of a log that holds several.

use super::LogError;
use std::borrow::Cow;

/// The executions that a log holds: each begins with the first line of the format. Lines keep their numbers.
pub fn executions(text: &str) -> Vec<Cow<'_, str>> {
    let (mut starts, mut at) = (Vec::new(), 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if line.split_whitespace().next() == Some("fencepost-log") {
            starts.push((number, at));
        }
        at += line.len();
    }
    if starts.len() < 2 {
        return vec![Cow::Borrowed(text)];
    }
    let ends = starts.iter().skip(1).map(|s| s.1).chain([text.len()]);
    let piece = |((lines, from), to): (&(usize, usize), usize)| Cow::Owned("\n".repeat(*lines) + &text[*from..to]);
    starts.iter().zip(ends).map(piece).collect()
}

/// Whether the first line is that of this format, in this version.
pub(super) fn header_of(header: Option<(usize, &str)>) -> Result<(), LogError> {
    let (line, text) = header.unwrap_or((1, ""));
    let words: Vec<&str> = text.split_whitespace().collect();
    let (reason, hint) = match words.as_slice() {
        ["fencepost-log", "1"] => return Ok(()),
        ["fencepost-log", version] => (
            format!("a persist log of version {version}, and only version 1 can be read"),
            "write or record it again for this version",
        ),
        _ => (
            "not a persist log".to_owned(),
            "the first line must be `fencepost-log 1`",
        ),
    };
    Err(LogError {
        line,
        reason,
        hint: Some(hint.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_of_several_executions_is_taken_apart_and_lines_keep_their_numbers() {
        let one = "# a comment\nfencepost-log 1\n0 store pm+0 1\n";
        assert_eq!(executions(one), [one]);
        assert_eq!(executions("no log"), ["no log"]);
        let two = format!("{one}fencepost-log 1\n0 store pm+0 2\n0 store pm+0 x\n");
        let parts = executions(&two);
        assert_eq!(parts.len(), 2);
        assert_eq!(super::super::parse(&parts[0]).unwrap().event_lines, [3]);
        assert_eq!(super::super::parse(&parts[1]).unwrap_err().line, 6);
        assert!(
            super::super::parse(&two)
                .unwrap_err()
                .reason
                .contains("another execution")
        );
    }
}
