//! Errors of the lab: what a user can mend, and what only we can.

use crate::source::Place;
use std::fmt;
use std::path::{Path, PathBuf};

/// Something the user gave is wrong: what, where, and what would be right.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct BadInput {
    /// One sentence: what is wrong.
    pub message: String,
    /// Where it stands, when it stands in a file or an argument.
    pub place: Option<Place>,
    /// What to write instead.
    pub hint: Option<String>,
}
impl BadInput {
    /// An error without a place.
    pub fn new(message: impl Into<String>) -> BadInput {
        BadInput {
            message: message.into(),
            place: None,
            hint: None,
        }
    }
    /// The same error, standing at `place`.
    #[must_use]
    pub fn at(mut self, place: Place) -> BadInput {
        self.place = Some(place);
        self
    }
    /// The same error with advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> BadInput {
        self.hint = Some(hint.into());
        self
    }
    /// An unknown name: says the nearest known one, and all of them.
    pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> BadInput {
        let known: Vec<&str> = known.into_iter().collect();
        let list = known.join(", ");
        let hint = match nearest(name, &known) {
            Some(near) => format!("did you mean `{near}`? known: {list}"),
            None if known.is_empty() => format!("there is no {what} here"),
            None => format!("known: {list}"),
        };
        BadInput::new(format!("unknown {what} `{name}`")).hint(hint)
    }
}
impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// Anything that can go wrong in the lab.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Bad input: exit code 2.
    #[error(transparent)]
    Input(#[from] Box<BadInput>),
    /// A file or folder could not be read or written: exit code 2.
    #[error("cannot {action} {}: {}", path.display(), reason(why))]
    File {
        /// "read", "write", "create folder".
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// The system's reason.
        why: std::io::Error,
    },
    /// A fault was planted and the machine got stuck, which is a violation: exit code 1.
    #[error("the planted fault `{fault}` is convicted: {why}")]
    Convicted {
        /// The fault.
        fault: String,
        /// Who waits for what.
        why: String,
    },
    /// A defect of fencepost: exit code 3.
    #[error("internal error: {0}")]
    Internal(String),
}
impl LabError {
    /// A file error.
    pub fn file(action: &'static str, path: &Path, why: std::io::Error) -> LabError {
        LabError::File {
            action,
            path: path.to_owned(),
            why,
        }
    }
    /// The same error, of the run that `cell` names; only a defect of ours says which run it was.
    #[must_use]
    pub fn in_cell(&self, cell: &str) -> LabError {
        match self {
            LabError::Input(e) => LabError::Input(e.clone()),
            LabError::File { action, path, why } => LabError::File {
                action,
                path: path.clone(),
                why: std::io::Error::new(why.kind(), why.to_string()),
            },
            LabError::Convicted { fault, why } => LabError::Convicted {
                fault: fault.clone(),
                why: why.clone(),
            },
            LabError::Internal(why) => LabError::Internal(format!("{cell}: {why}")),
        }
    }
    /// The process exit code for this error.
    pub fn exit_code(&self) -> u8 {
        match self {
            LabError::Input(_) | LabError::File { .. } => 2,
            LabError::Convicted { .. } => 1,
            LabError::Internal(_) => 3,
        }
    }
}
/// The system's reason in plain terms, without its number.
fn reason(e: &std::io::Error) -> String {
    use std::io::ErrorKind as K;
    match e.kind() {
        K::NotFound => "no such file".into(),
        K::IsADirectory => "it is a folder".into(),
        K::NotADirectory => "a file stands where a folder should be".into(),
        K::AlreadyExists => "a file of that name stands there".into(),
        K::StorageFull => "the device is full".into(),
        _ => {
            let text = e.to_string();
            text.split(" (os error").next().unwrap_or_default().to_lowercase()
        }
    }
}
impl From<BadInput> for LabError {
    fn from(e: BadInput) -> LabError {
        LabError::Input(Box::new(e))
    }
}

/// The known name that `name` most likely meant, if any is close: other capitals, a small edit distance, or a shared beginning.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name = &*name.to_lowercase();
    let limit = (name.chars().count() / 3).clamp(1, 3);
    let close = |k: &&&str| strsim::damerau_levenshtein(name, k) <= limit || (name.len() >= 3 && k.starts_with(name));
    (known.iter().filter(close))
        .min_by_key(|k| strsim::damerau_levenshtein(name, k))
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn the_nearest_name_is_close_or_absent() {
        let known = ["volatile", "so", "so-adr", "delegated", "delegated-merge"];
        assert_eq!(nearest("volatil", &known), Some("volatile"));
        assert_eq!(nearest("os", &known), Some("so"));
        assert_eq!(nearest("SO", &known), Some("so"));
        assert_eq!(nearest("deleg", &known), Some("delegated"));
        assert_eq!(nearest("quux", &known), None);
    }
    #[test]
    fn display_has_place_message_and_hint() {
        let e = BadInput::unknown("design", "delegate", ["delegated"]);
        assert_eq!(
            e.to_string(),
            "unknown design `delegate` (did you mean `delegated`? known: delegated)"
        );
    }
}
