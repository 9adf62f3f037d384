//! The axes of a block: what each of their values sets.

use super::node::{Kind, Node, Scalar};
use super::request::{check_name, check_value};
use fencepost_run::BadInput;

/// What one value of an axis sets.
pub(super) type Setting = Vec<(String, Scalar)>;

/// An axis with its values.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    /// Its name, for messages.
    pub name: String,
    /// Where it stands.
    pub node: Node,
    /// Its values.
    pub values: Values,
}

/// Values of an axis.
#[derive(Clone, Debug)]
pub(super) enum Values {
    /// One after the other.
    Listed(Vec<Setting>),
    /// Anything between two numbers of one unit; only a Latin hypercube takes these.
    Between(Between),
}

/// A stretch of numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Between {
    /// First.
    pub from: f64,
    /// Last.
    pub to: f64,
    /// What stands behind the number, `ns` for example.
    pub unit: String,
    /// Whether only whole numbers are meant.
    pub whole: bool,
    /// Whether equal factors, not equal steps, are equally likely.
    pub log: bool,
}

/// Most values of one axis that is a range.
const LONGEST: i64 = 1_000_000;

impl Axis {
    /// Reads an axis; with `sampled`, a range is a stretch of numbers.
    ///
    /// # Errors
    /// An unknown name or value, with its place.
    pub(super) fn read(name: &str, node: &Node, sampled: bool) -> Result<Axis, BadInput> {
        let tables = |list: &[Node]| !list.is_empty() && list.iter().all(|n| matches!(n.kind, Kind::Table(_)));
        let values = match &node.kind {
            // The axis has a name of its own, and every value sets several things.
            Kind::List(list) if tables(list) => Values::Listed(list.iter().map(several).collect::<Result<_, _>>()?),
            Kind::List(list) => {
                check_name(node, name)?;
                let one = |n: &Node| Ok(vec![(name.to_owned(), known(name, n)?)]);
                Values::Listed(list.iter().map(one).collect::<Result<_, BadInput>>()?)
            }
            Kind::Table(_) => {
                check_name(node, name)?;
                range(name, node, sampled)?
            }
            Kind::Scalar(_) => {
                check_name(node, name)?;
                Values::Listed(vec![vec![(name.to_owned(), known(name, node)?)]])
            }
        };
        if matches!(&values, Values::Listed(v) if v.is_empty()) {
            return Err(node.wrong(format!("`{name}` has no value")));
        }
        Ok(Axis {
            name: name.to_owned(),
            node: node.clone(),
            values,
        })
    }
    /// The values of an axis that has a list of them.
    pub(super) fn listed(&self) -> &[Setting] {
        match &self.values {
            Values::Listed(list) => list,
            Values::Between(_) => &[],
        }
    }
}

fn known(name: &str, node: &Node) -> Result<Scalar, BadInput> {
    let value = node.scalar(&format!("a value of `{name}`"))?;
    check_value(node, name, value)?;
    Ok(value.clone())
}

/// A table of several settings that go together.
pub(super) fn several(node: &Node) -> Result<Setting, BadInput> {
    let one = |(name, n): &(String, Node)| {
        check_name(n, name)?;
        Ok((name.clone(), known(name, n)?))
    };
    node.entries("a value of several settings")?.iter().map(one).collect()
}

/// `{ from = 1, to = 9, step = 2 }`, or `{ from = "100ns", to = "1us", scale = "log" }` where it is sampled.
fn range(name: &str, node: &Node, sampled: bool) -> Result<Values, BadInput> {
    let (mut from, mut to, mut step, mut log) = (None, None, 1, false);
    for (key, n) in node.entries(name)? {
        match key.as_str() {
            "from" => from = Some(n.scalar("`from`")?.clone()),
            "to" => to = Some(n.scalar("`to`")?.clone()),
            "step" if !sampled => step = i64::try_from(n.count("`step`")?).unwrap_or(i64::MAX),
            "scale" if sampled => {
                log = match n.scalar("`scale`")? {
                    Scalar::Text(t) if t == "log" => true,
                    Scalar::Text(t) if t == "linear" => false,
                    _ => return Err(n.wrong("`scale` must be \"linear\" or \"log\"")),
                }
            }
            other => {
                return Err(BadInput::unknown(
                    "key of a range",
                    other,
                    ["from", "to", "step", "scale"],
                ));
            }
        }
    }
    let (Some(from), Some(to)) = (from, to) else {
        return Err(node.wrong(format!("the range of `{name}` needs `from` and `to`")));
    };
    match (sampled, &from, &to) {
        (true, ..) => between(node, &from, &to, log).map(Values::Between),
        (false, Scalar::Int(a), Scalar::Int(b)) if a <= b && step > 0 && (b - a) / step < LONGEST => {
            let values = (0..=(b - a) / step).map(|i| vec![(name.to_owned(), Scalar::Int(a + i * step))]);
            Ok(Values::Listed(values.collect()))
        }
        _ => Err(node.wrong(format!(
            "the range of `{name}` must go from a whole number up to another one, at most a million values"
        ))),
    }
}

fn between(node: &Node, from: &Scalar, to: &Scalar, log: bool) -> Result<Between, BadInput> {
    let parts = |s: &Scalar| match s {
        Scalar::Text(t) => {
            let at = t.find(|c: char| c.is_ascii_alphabetic() || c == '%').unwrap_or(t.len());
            Some((t[..at].trim().parse::<f64>().ok()?, t[at..].to_owned()))
        }
        other => Some((other.number()?, String::new())),
    };
    let whole = matches!((from, to), (Scalar::Int(_), Scalar::Int(_)));
    match (parts(from), parts(to)) {
        (Some((a, unit)), Some((b, other))) if unit == other && a < b && (!log || a > 0.0) => Ok(Between {
            from: a,
            to: b,
            unit,
            whole,
            log,
        }),
        _ => Err(node
            .wrong(format!("`{from}` to `{to}` is no range"))
            .hint("two numbers in the same unit, the smaller one first, and more than 0 on a logarithmic scale")),
    }
}
