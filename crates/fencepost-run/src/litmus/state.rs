//! States that tests end in, or leave behind where the power fails.

use serde::Serialize;
use std::fmt;

/// A state that a model or a contract allows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind", content = "state")]
pub enum State {
    /// A final state: values of [`Test::shown`](fencepost_litmus::Test::shown).
    Final(Vec<u64>),
    /// A crash state: values of the persistent words in alphabetical order.
    Crash(Vec<u64>),
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, State::Final(values) | State::Crash(values)) = match self {
            State::Final(_) => ("final state", self),
            State::Crash(_) => ("crash state", self),
        };
        let values: Vec<String> = values.iter().map(u64::to_string).collect();
        write!(f, "{kind} {}", values.join(" "))
    }
}
