//! Faults that the environment asks for, in the whole process: `FENCEPOST_FAULT=NAME[,NAME]`.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether faults can be switched on in this build.
pub const ENABLED: bool = cfg!(any(debug_assertions, feature = "faults"));

/// The environment variable that asks for faults.
pub const VARIABLE: &str = "FENCEPOST_FAULT";

/// The names of all faults that are planted in the workspace, sorted. `xtask generate` writes the list from the sources.
pub fn names() -> impl Iterator<Item = &'static str> {
    include_str!("names.txt").lines()
}

/// Why faults that the environment asks for cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The build has none.
    #[error("{VARIABLE} asks for `{0}`, and this build has no planted faults")]
    Disabled(String),
    /// No fault has this name.
    #[error("{VARIABLE} asks for `{0}`, and no planted fault has this name")]
    Unknown(String),
}

/// One fault that was asked for.
pub(super) struct Requested {
    pub(super) name: String,
    acted: AtomicBool,
}
impl Requested {
    /// A planted line acts on it.
    pub(super) fn acts(&self) {
        self.acted.store(true, Ordering::Relaxed);
    }
    /// Whether one did.
    pub(super) fn acted(&self) -> bool {
        self.acted.load(Ordering::Relaxed)
    }
}

/// What the environment asks for, known or not.
pub(super) fn from_environment() -> Vec<Requested> {
    let asked = std::env::var_os(VARIABLE).unwrap_or_default();
    let requested = |name: &str| Requested {
        name: name.to_owned(),
        acted: AtomicBool::new(false),
    };
    split(&asked.to_string_lossy()).map(requested).collect()
}

fn split(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|n| !n.is_empty())
}

/// Whether these can be had in a build that has faults or has none.
pub(super) fn check<'a>(asked: impl Iterator<Item = &'a str>, enabled: bool) -> Result<(), Refused> {
    let known = |n: &str| names().any(|k| k == n);
    for name in asked {
        match (enabled, known(name)) {
            (false, _) => return Err(Refused::Disabled(name.to_owned())),
            (true, false) => return Err(Refused::Unknown(name.to_owned())),
            (true, true) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_refused() {
        let known = names().next().expect("there are faults");
        let asked = format!(" {known}, ,");
        assert_eq!(check(split(&asked), true), Ok(()));
        assert_eq!(check(split(" ,"), false), Ok(()));
        assert_eq!(check(split(&asked), false), Err(Refused::Disabled(known.into())));
        let wrong = format!("{known},{known}x");
        assert_eq!(check(split(&wrong), true), Err(Refused::Unknown(format!("{known}x"))));
    }
}
