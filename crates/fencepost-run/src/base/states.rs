//! How many crash states there are: often more than can be written down.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A number of crash states; in documents a number, or the text `more than 18446744073709551615`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub enum States {
    /// So many.
    Count(u64),
    /// More than fit a number of 64 bits.
    TooMany,
}
impl Default for States {
    fn default() -> States {
        States::Count(0)
    }
}
impl From<u128> for States {
    fn from(n: u128) -> States {
        u64::try_from(n).map_or(States::TooMany, States::Count)
    }
}
impl fmt::Display for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            States::Count(n) => n.fmt(f),
            States::TooMany => write!(f, "more than {}", u64::MAX),
        }
    }
}

/// A count as documents have it.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Count(u64),
    Text(String),
}
impl From<States> for Written {
    fn from(n: States) -> Written {
        match n {
            States::Count(n) => Written::Count(n),
            States::TooMany => Written::Text(n.to_string()),
        }
    }
}
impl TryFrom<Written> for States {
    type Error = String;
    fn try_from(written: Written) -> Result<States, String> {
        match written {
            Written::Count(n) => Ok(States::Count(n)),
            Written::Text(t) if t == States::TooMany.to_string() => Ok(States::TooMany),
            Written::Text(t) => Err(format!("`{t}` is no number of crash states")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_too_large_is_said_as_such() {
        let [most, more] = [u128::from(u64::MAX), 1 << 64].map(States::from);
        let text = |n: &States| serde_json::to_string(n).unwrap();
        assert_eq!(text(&most), "18446744073709551615");
        assert_eq!(text(&more), "\"more than 18446744073709551615\"");
        for n in [most, more, States::default()] {
            assert_eq!(serde_json::from_str::<States>(&text(&n)).unwrap(), n);
        }
        assert!(serde_json::from_str::<States>("\"many\"").is_err());
    }
}
