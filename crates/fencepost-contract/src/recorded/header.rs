//! The first line of a log.

use super::LogError;

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
