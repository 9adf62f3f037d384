//! Why a test is not run.

/// Why a test is not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The text is not of the format.
    #[error("unreadable: {0}")]
    Syntax(String),
    /// It asks for something that is not modelled.
    #[error("unsupported: {0}")]
    Unsupported(String),
}

/// Shorthand of the readers.
pub(super) type Read<T> = Result<T, ReadError>;

/// A refusal of text that is not of the format.
pub(super) fn syntax<T>(reason: impl Into<String>) -> Read<T> {
    Err(ReadError::Syntax(reason.into()))
}
/// A refusal of what is not modelled.
pub(super) fn unsupported<T>(reason: impl Into<String>) -> Read<T> {
    Err(ReadError::Unsupported(reason.into()))
}
