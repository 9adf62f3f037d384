//! Tables of results: columns with units and explanations, in a schema with a name and a version.

#[cfg(feature = "arrow")]
mod arrow;
mod build;
mod format;
mod text;

#[cfg(feature = "arrow")]
pub use arrow::KEYS;
pub use build::{Builder, Field, Row};
pub use format::{Format, TableError};

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name of the schema, such as `fencepost-runs`.
    pub schema: &'static str,
    /// Version of the schema; raised when a column changes its meaning or goes away.
    pub version: u32,
    /// Columns, all of one length.
    pub columns: Vec<Column>,
}
impl Table {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.values.len())
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Unit of the values, such as `ps` or `lines`; empty for names and pure numbers.
    pub unit: &'static str,
    /// What it is.
    pub about: String,
    /// Its values.
    pub values: Values,
}

/// Values of a column; `None` where a row has none.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers from 0 up.
    UInt(Vec<Option<u64>>),
    /// Whole numbers.
    Int(Vec<Option<i64>>),
    /// Numbers.
    Float(Vec<Option<f64>>),
    /// Yes or no.
    Bool(Vec<Option<bool>>),
    /// Texts.
    Text(Vec<Option<String>>),
}
impl Values {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Values::UInt(v) => v.len(),
            Values::Int(v) => v.len(),
            Values::Float(v) => v.len(),
            Values::Bool(v) => v.len(),
            Values::Text(v) => v.len(),
        }
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// One of them.
    pub fn get(&self, row: usize) -> Option<Datum> {
        match self {
            Values::UInt(v) => v[row].map(Datum::UInt),
            Values::Int(v) => v[row].map(Datum::Int),
            Values::Float(v) => v[row].map(Datum::Float),
            Values::Bool(v) => v[row].map(Datum::Bool),
            Values::Text(v) => v[row].clone().map(Datum::Text),
        }
    }
}

/// A single value.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// A whole number from 0 up.
    UInt(u64),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Yes or no.
    Bool(bool),
    /// A text.
    Text(String),
}
impl std::fmt::Display for Datum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Datum::UInt(x) => write!(f, "{x}"),
            Datum::Int(x) => write!(f, "{x}"),
            Datum::Float(x) => write!(f, "{x}"),
            Datum::Bool(x) => write!(f, "{x}"),
            Datum::Text(x) => f.write_str(x),
        }
    }
}
impl From<u64> for Datum {
    fn from(x: u64) -> Datum {
        Datum::UInt(x)
    }
}
impl From<u32> for Datum {
    fn from(x: u32) -> Datum {
        Datum::UInt(x.into())
    }
}
impl From<i64> for Datum {
    fn from(x: i64) -> Datum {
        Datum::Int(x)
    }
}
impl From<f64> for Datum {
    fn from(x: f64) -> Datum {
        Datum::Float(x)
    }
}
impl From<bool> for Datum {
    fn from(x: bool) -> Datum {
        Datum::Bool(x)
    }
}
impl From<&str> for Datum {
    fn from(x: &str) -> Datum {
        Datum::Text(x.to_owned())
    }
}
impl From<&String> for Datum {
    fn from(x: &String) -> Datum {
        Datum::Text(x.clone())
    }
}
