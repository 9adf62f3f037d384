//! Tables put together row by row, columns in the order in which they were first named.

use crate::{Column, Datum, Table, Values};
use std::collections::HashMap;

/// What a column is.
#[derive(Copy, Clone, Debug)]
pub struct Field<'a> {
    /// Name.
    pub name: &'a str,
    /// Unit, or empty.
    pub unit: &'static str,
    /// What it is.
    pub about: &'a str,
}

/// A table under way. Columns that a row does not set are empty there.
#[derive(Debug)]
pub struct Builder {
    table: Table,
    place: HashMap<String, usize>,
    rows: usize,
}
impl Builder {
    /// An empty table of a schema.
    pub fn new(schema: &'static str, version: u32) -> Builder {
        Builder {
            table: Table {
                schema,
                version,
                columns: Vec::new(),
            },
            place: HashMap::new(),
            rows: 0,
        }
    }
    /// Begins a row.
    pub fn row(&mut self) -> Row<'_> {
        self.rows += 1;
        Row(self)
    }
    /// The table.
    pub fn finish(mut self) -> Table {
        for c in &mut self.table.columns {
            pad(&mut c.values, self.rows);
        }
        self.table
    }
}

/// The row that was begun last.
pub struct Row<'a>(&'a mut Builder);
impl Row<'_> {
    /// Sets a value. A column holds values of one kind: whole numbers become numbers and everything else text where they are mixed.
    pub fn set(&mut self, field: Field<'_>, value: impl Into<Datum>) -> &mut Self {
        let (value, row) = (value.into(), self.0.rows - 1);
        let at = self.0.column(field, &value);
        let values = &mut self.0.table.columns[at].values;
        pad(values, row);
        push(values, value);
        self
    }
    /// Sets a value if there is one; the column is there all the same, as one of the kind of `like`.
    pub fn maybe<T: Into<Datum> + Default>(&mut self, field: Field<'_>, value: Option<T>) -> &mut Self {
        match value {
            Some(value) => self.set(field, value),
            None => {
                self.0.column(field, &T::default().into());
                self
            }
        }
    }
}
impl Builder {
    fn column(&mut self, field: Field<'_>, like: &Datum) -> usize {
        if let Some(at) = self.place.get(field.name) {
            return *at;
        }
        let at = self.table.columns.len();
        self.place.insert(field.name.to_owned(), at);
        self.table.columns.push(Column {
            name: field.name.to_owned(),
            unit: field.unit,
            about: field.about.to_owned(),
            values: match like {
                Datum::UInt(_) => Values::UInt(Vec::new()),
                Datum::Int(_) => Values::Int(Vec::new()),
                Datum::Float(_) => Values::Float(Vec::new()),
                Datum::Bool(_) => Values::Bool(Vec::new()),
                Datum::Text(_) => Values::Text(Vec::new()),
            },
        });
        at
    }
}

fn pad(values: &mut Values, rows: usize) {
    match values {
        Values::UInt(v) => v.resize(rows, None),
        Values::Int(v) => v.resize(rows, None),
        Values::Float(v) => v.resize(rows, None),
        Values::Bool(v) => v.resize(rows, None),
        Values::Text(v) => v.resize(rows, None),
    }
}

fn push(values: &mut Values, value: Datum) {
    match (&mut *values, value) {
        (Values::UInt(v), Datum::UInt(x)) => v.push(Some(x)),
        (Values::Int(v), Datum::Int(x)) => v.push(Some(x)),
        (Values::Float(v), Datum::Float(x)) => v.push(Some(x)),
        (Values::Float(v), Datum::Int(x)) => v.push(Some(x as f64)),
        (Values::Bool(v), Datum::Bool(x)) => v.push(Some(x)),
        (Values::Text(v), x) => v.push(Some(x.to_string())),
        (Values::Int(v), Datum::Float(x)) => {
            let mut wider: Vec<Option<f64>> = v.iter().map(|x| x.map(|x| x as f64)).collect();
            wider.push(Some(x));
            *values = Values::Float(wider);
        }
        (_, x) => {
            let mut text: Vec<Option<String>> = (0..values.len())
                .map(|i| values.get(i).map(|d| d.to_string()))
                .collect();
            text.push(Some(x.to_string()));
            *values = Values::Text(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn field(name: &str) -> Field<'_> {
        Field {
            name,
            unit: "",
            about: "",
        }
    }
    #[test]
    fn rows_without_a_value_are_empty_and_mixed_columns_widen() {
        let mut b = Builder::new("test", 1);
        b.row().set(field("a"), 1i64).set(field("b"), 1u64);
        b.row().set(field("a"), 2.5).maybe(field("c"), None::<bool>);
        b.row().set(field("b"), "x");
        let t = b.finish();
        let columns: Vec<(&str, &Values)> = t.columns.iter().map(|c| (c.name.as_str(), &c.values)).collect();
        let expected = [
            ("a", Values::Float(vec![Some(1.0), Some(2.5), None])),
            ("b", Values::Text(vec![Some("1".into()), None, Some("x".into())])),
            ("c", Values::Bool(vec![None; 3])),
        ];
        assert_eq!(columns, expected.iter().map(|(n, v)| (*n, v)).collect::<Vec<_>>());
    }
}
