//! Tables as CSV and JSON.

use crate::{Column, Datum, Table, TableError};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

impl Table {
    /// Comma-separated values: a heading, then the rows; what is absent is empty.
    pub(crate) fn csv(&self) -> Result<Vec<u8>, TableError> {
        let failed = |e: csv::Error| TableError::Write(e.to_string());
        let mut to = csv::Writer::from_writer(Vec::new());
        to.write_record(self.columns.iter().map(|c| &c.name)).map_err(failed)?;
        for row in 0..self.rows() {
            let cells = self.columns.iter().map(|c| c.values.get(row));
            to.write_record(cells.map(|d| d.map_or_else(String::new, |d| d.to_string())))
                .map_err(failed)?;
        }
        to.into_inner().map_err(|e| TableError::Write(e.to_string()))
    }
    /// An object with the schema, its fields and the rows; what is absent is left out of its row.
    pub(crate) fn json(&self) -> Result<Vec<u8>, TableError> {
        let mut bytes = serde_json::to_vec_pretty(self).map_err(|e| TableError::Write(e.to_string()))?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let fields: Vec<About<'_>> = self.columns.iter().map(About).collect();
        let rows: Vec<Record<'_>> = (0..self.rows()).map(|row| Record(self, row)).collect();
        let mut map = to.serialize_map(Some(4))?;
        map.serialize_entry("schema", self.schema)?;
        map.serialize_entry("version", &self.version)?;
        map.serialize_entry("fields", &fields)?;
        map.serialize_entry("rows", &rows)?;
        map.end()
    }
}
struct About<'a>(&'a Column);
impl Serialize for About<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(3))?;
        map.serialize_entry("name", &self.0.name)?;
        map.serialize_entry("unit", self.0.unit)?;
        map.serialize_entry("about", &self.0.about)?;
        map.end()
    }
}
struct Record<'a>(&'a Table, usize);
impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        for c in &self.0.columns {
            match c.values.get(self.1) {
                None => {}
                Some(Datum::UInt(x)) => map.serialize_entry(&c.name, &x)?,
                Some(Datum::Int(x)) => map.serialize_entry(&c.name, &x)?,
                Some(Datum::Float(x)) => map.serialize_entry(&c.name, &x)?,
                Some(Datum::Bool(x)) => map.serialize_entry(&c.name, &x)?,
                Some(Datum::Text(x)) => map.serialize_entry(&c.name, &x)?,
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Builder, Field, Format};
    #[test]
    fn text_in_full() {
        let mut b = Builder::new("test", 3);
        let field = |name, unit| Field { name, unit, about: "x" };
        b.row().set(field("name", ""), "a,\"b\"").set(field("t_ps", "ps"), 5u64);
        b.row().set(field("name", ""), "c");
        let table = b.finish();
        let text = |f| String::from_utf8(table.bytes(f).unwrap()).unwrap();
        assert_eq!(text(Format::Csv), "name,t_ps\n\"a,\"\"b\"\"\",5\nc,\n");
        let json: serde_json::Value = serde_json::from_str(&text(Format::Json)).unwrap();
        assert_eq!(json["fields"][1]["unit"], "ps");
        assert_eq!(
            json["rows"],
            serde_json::json!([{"name": "a,\"b\"", "t_ps": 5}, {"name": "c"}])
        );
    }
}
