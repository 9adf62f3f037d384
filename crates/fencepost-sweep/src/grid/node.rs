//! What a grid is written in: scalars, lists and tables, from TOML with their places or from JSON without.

use fencepost_run::BadInput;
use fencepost_run::config::{Place, Source};
use serde::{Serialize, Serializer};
use std::fmt;
use std::sync::Arc;
use toml_edit::{Item, TableLike, Value};

/// A single value.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// A whole number.
    Int(i64),
    /// Another number.
    Float(f64),
    /// Yes or no.
    Bool(bool),
    /// A name, or a quantity with its unit.
    Text(String),
}
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Int(i) => write!(f, "{i}"),
            // With a point or an exponent, so that it stays what it is when it is read again.
            Scalar::Float(x) => write!(f, "{x:?}"),
            Scalar::Bool(b) => write!(f, "{b}"),
            Scalar::Text(t) => f.write_str(t),
        }
    }
}
impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Scalar::Int(i) => to.serialize_i64(*i),
            Scalar::Float(x) => to.serialize_f64(*x),
            Scalar::Bool(b) => to.serialize_bool(*b),
            Scalar::Text(t) => to.serialize_str(t),
        }
    }
}
impl Scalar {
    /// Its number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Scalar::Int(i) => Some(*i as f64),
            Scalar::Float(x) => Some(*x),
            _ => None,
        }
    }
}

/// A value with its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it stands, in a file.
    pub place: Option<Place>,
    /// What it is.
    pub kind: Kind,
}

/// What a node is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A single value.
    Scalar(Scalar),
    /// Values in order.
    List(Vec<Node>),
    /// Values by name, in order.
    Table(Vec<(String, Node)>),
}

impl Node {
    /// Reads a TOML text.
    ///
    /// # Errors
    /// What is not TOML, and dates, with their place.
    pub fn from_toml(name: &str, text: &str) -> Result<Node, BadInput> {
        let source = Source::new(name, text);
        let document = toml_edit::Document::parse(text).map_err(|e| {
            let message = e.message().trim().replace('\n', "; ");
            BadInput::new(format!("not valid TOML: {message}")).at(Place::new(&source, e.span()))
        })?;
        table(&source, document.as_table())
    }
    /// Reads a JSON value, as other programs hand it over.
    ///
    /// # Errors
    /// A null, or a number that is not finite or too large.
    pub fn from_json(value: &serde_json::Value) -> Result<Node, BadInput> {
        use serde_json::Value as J;
        let kind = match value {
            J::Null => return Err(BadInput::new("a value is missing (null)")),
            J::Bool(b) => Kind::Scalar(Scalar::Bool(*b)),
            J::String(s) => Kind::Scalar(Scalar::Text(s.clone())),
            J::Number(n) => Kind::Scalar(match (n.as_i64(), n.as_f64()) {
                (Some(i), _) => Scalar::Int(i),
                (None, Some(x)) if !n.is_u64() => Scalar::Float(x),
                _ => return Err(BadInput::new(format!("{n} is too large"))),
            }),
            J::Array(list) => Kind::List(list.iter().map(Node::from_json).collect::<Result<_, _>>()?),
            J::Object(map) => {
                let entry = |(k, v): (&String, &J)| Ok((k.clone(), Node::from_json(v)?));
                Kind::Table(map.iter().map(entry).collect::<Result<_, BadInput>>()?)
            }
        };
        Ok(Node { place: None, kind })
    }
    /// The error at this place.
    pub fn wrong(&self, message: impl Into<String>) -> BadInput {
        let e = BadInput::new(message);
        match &self.place {
            Some(place) => e.at(place.clone()),
            None => e,
        }
    }
    /// Its entries.
    ///
    /// # Errors
    /// It is no table.
    pub fn entries(&self, what: &str) -> Result<&[(String, Node)], BadInput> {
        match &self.kind {
            Kind::Table(entries) => Ok(entries),
            _ => Err(self.wrong(format!("{what} must be a table"))),
        }
    }
    /// Its elements; a single table stands for a list of one.
    ///
    /// # Errors
    /// It is a single value.
    pub fn elements(&self, what: &str) -> Result<Vec<&Node>, BadInput> {
        match &self.kind {
            Kind::List(list) => Ok(list.iter().collect()),
            Kind::Table(_) => Ok(vec![self]),
            Kind::Scalar(_) => Err(self.wrong(format!("{what} must be a list"))),
        }
    }
    /// Its value.
    ///
    /// # Errors
    /// It is a list or a table.
    pub fn scalar(&self, what: &str) -> Result<&Scalar, BadInput> {
        match &self.kind {
            Kind::Scalar(s) => Ok(s),
            _ => Err(self.wrong(format!("{what} must be a single value"))),
        }
    }
    /// Its value as a count.
    ///
    /// # Errors
    /// It is not a whole number from 0 up.
    pub fn count(&self, what: &str) -> Result<u64, BadInput> {
        match self.scalar(what)? {
            Scalar::Int(i) if *i >= 0 => Ok(i.unsigned_abs()),
            _ => Err(self.wrong(format!("{what} must be a whole number from 0 up"))),
        }
    }
}

fn table(source: &Arc<Source>, table: &dyn TableLike) -> Result<Node, BadInput> {
    let entry = |(key, item): (&str, &Item)| Ok((key.to_owned(), node(source, item)?));
    let entries = table.iter().map(entry).collect::<Result<_, BadInput>>()?;
    Ok(Node {
        place: None,
        kind: Kind::Table(entries),
    })
}

fn node(source: &Arc<Source>, item: &Item) -> Result<Node, BadInput> {
    let kind = match item {
        Item::Value(v) => return value(source, v),
        Item::Table(t) => table(source, t)?.kind,
        Item::ArrayOfTables(list) => Kind::List(list.iter().map(|t| table(source, t)).collect::<Result<_, _>>()?),
        Item::None => Kind::List(Vec::new()),
    };
    Ok(Node {
        place: item.span().map(|span| Place::new(source, Some(span))),
        kind,
    })
}

fn value(source: &Arc<Source>, v: &Value) -> Result<Node, BadInput> {
    let place = Place::new(source, v.span());
    let kind = match v {
        Value::String(s) => Kind::Scalar(Scalar::Text(s.value().clone())),
        Value::Integer(i) => Kind::Scalar(Scalar::Int(*i.value())),
        Value::Float(x) => Kind::Scalar(Scalar::Float(*x.value())),
        Value::Boolean(b) => Kind::Scalar(Scalar::Bool(*b.value())),
        Value::Datetime(_) => return Err(BadInput::new("a date has no meaning here").at(place)),
        Value::Array(list) => Kind::List(list.iter().map(|v| value(source, v)).collect::<Result<_, _>>()?),
        Value::InlineTable(t) => table(source, t)?.kind,
    };
    Ok(Node {
        place: Some(place),
        kind,
    })
}
