//! Why a log cannot be read.

/// Why a log cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}{}", hint.as_ref().map(|h| format!(" ({h})")).unwrap_or_default())]
pub struct LogError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub reason: String,
    /// What may have been meant.
    pub hint: Option<String>,
}
