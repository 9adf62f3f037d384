//! Which cells of a block are meant: `only` and `skip`, each a list of tables that a cell matches in every entry.

use super::node::{Kind, Node, Scalar};
use super::request::check_name;
use fencepost_run::BadInput;
use std::collections::BTreeMap;

/// The cells that are meant.
#[derive(Clone, Debug, Default)]
pub(super) struct Conditions {
    only: Vec<Match>,
    skip: Vec<Match>,
}
type Match = Vec<(String, Test)>;

#[derive(Clone, Debug)]
enum Test {
    OneOf(Vec<Scalar>),
    Within { least: f64, most: f64 },
}
impl Test {
    fn holds(&self, value: &Scalar) -> bool {
        match self {
            Test::OneOf(list) => list.contains(value),
            Test::Within { least, most } => value.number().is_some_and(|x| (*least..=*most).contains(&x)),
        }
    }
}

impl Conditions {
    /// Takes in `only` or `skip`; says whether the key was one of them.
    ///
    /// # Errors
    /// An unknown name, or a test that is none, with its place.
    pub(super) fn read(&mut self, key: &str, node: &Node) -> Result<bool, BadInput> {
        let list = match key {
            "only" => &mut self.only,
            "skip" => &mut self.skip,
            _ => return Ok(false),
        };
        for table in node.elements(&format!("`{key}`"))? {
            let entries = table.entries(&format!("an element of `{key}`"))?;
            list.push(entries.iter().map(test).collect::<Result<_, _>>()?);
        }
        Ok(true)
    }
    /// Whether a cell with these values is meant. What a cell does not set matches nothing.
    pub(super) fn hold(&self, values: &BTreeMap<&str, &Scalar>) -> bool {
        let all = |m: &Match| {
            m.iter()
                .all(|(name, test)| values.get(name.as_str()).is_some_and(|v| test.holds(v)))
        };
        (self.only.is_empty() || self.only.iter().any(all)) && !self.skip.iter().any(all)
    }
}

fn test((name, node): &(String, Node)) -> Result<(String, Test), BadInput> {
    check_name(node, name)?;
    let test = match &node.kind {
        Kind::Scalar(s) => Test::OneOf(vec![s.clone()]),
        Kind::List(list) => {
            let one = |n: &Node| n.scalar(&format!("a value of `{name}`")).cloned();
            Test::OneOf(list.iter().map(one).collect::<Result<_, _>>()?)
        }
        Kind::Table(entries) => {
            let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
            for (key, n) in entries {
                let number = n
                    .scalar(key)?
                    .number()
                    .ok_or_else(|| n.wrong(format!("`{key}` must be a number")));
                match key.as_str() {
                    "at_least" => least = number?,
                    "at_most" => most = number?,
                    other => return Err(BadInput::unknown("test", other, ["at_least", "at_most"])),
                }
            }
            Test::Within { least, most }
        }
    };
    Ok((name.clone(), test))
}
