//! Tables in Arrow's memory format, and as files of Arrow IPC and Parquet.

use crate::{Table, TableError, Values};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::collections::HashMap;
use std::sync::Arc;

/// Keys of metadata: the schema's name and version, and of each field its unit and what it is.
pub const KEYS: [&str; 4] = ["fencepost.schema", "fencepost.version", "unit", "about"];

impl Table {
    /// The schema, with the metadata of [`KEYS`].
    pub fn arrow_schema(&self) -> SchemaRef {
        let field = |c: &crate::Column| {
            let kind = match c.values {
                Values::UInt(_) => DataType::UInt64,
                Values::Int(_) => DataType::Int64,
                Values::Float(_) => DataType::Float64,
                Values::Bool(_) => DataType::Boolean,
                Values::Text(_) => DataType::Utf8,
            };
            let about = [(KEYS[2], c.unit), (KEYS[3], &c.about)];
            let about = about.iter().filter(|(_, text)| !text.is_empty());
            let about: HashMap<String, String> = about.map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            Field::new(&c.name, kind, true).with_metadata(about)
        };
        let fields: Vec<Field> = self.columns.iter().map(field).collect();
        let of = [(KEYS[0], self.schema.to_owned()), (KEYS[1], self.version.to_string())];
        let of: HashMap<String, String> = of.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
        Arc::new(Schema::new(fields).with_metadata(of))
    }
    /// The rows.
    ///
    /// # Errors
    /// What Arrow says of a table whose columns differ in length.
    pub fn record_batch(&self) -> Result<RecordBatch, TableError> {
        let array = |c: &crate::Column| -> ArrayRef {
            match &c.values {
                Values::UInt(v) => Arc::new(UInt64Array::from(v.clone())),
                Values::Int(v) => Arc::new(Int64Array::from(v.clone())),
                Values::Float(v) => Arc::new(Float64Array::from(v.clone())),
                Values::Bool(v) => Arc::new(BooleanArray::from(v.clone())),
                Values::Text(v) => Arc::new(StringArray::from_iter(v)),
            }
        };
        RecordBatch::try_new(self.arrow_schema(), self.columns.iter().map(array).collect()).map_err(failed)
    }
    pub(crate) fn arrow(&self) -> Result<Vec<u8>, TableError> {
        let schema = self.arrow_schema();
        let mut to = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &schema).map_err(failed)?;
        to.write(&self.record_batch()?).map_err(failed)?;
        to.into_inner().map_err(failed)
    }
    pub(crate) fn parquet(&self) -> Result<Vec<u8>, TableError> {
        // Metadata is a map without an order: this key holds the Arrow schema, in which fields and their units are.
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("fencepost {}", env!("CARGO_PKG_VERSION")));
        let mut bytes = Vec::new();
        let mut to = ArrowWriter::try_new(&mut bytes, self.arrow_schema(), Some(properties.build())).map_err(failed)?;
        to.write(&self.record_batch()?).map_err(failed)?;
        to.close().map_err(failed)?;
        Ok(bytes)
    }
}

fn failed(e: impl std::fmt::Display) -> TableError {
    TableError::Write(e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, Field, Format};
    use arrow_array::Array as _;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    fn table() -> Table {
        let mut b = Builder::new("fencepost-test", 7);
        let field = |name, unit| Field {
            name,
            unit,
            about: "explained",
        };
        b.row()
            .set(field("t", "ps"), u64::MAX)
            .set(field("x", ""), 0.1)
            .set(field("s", ""), "a");
        b.row().set(field("b", ""), true).set(field("i", ""), -1i64);
        b.finish()
    }
    fn looked_at(batch: &RecordBatch, schema: &Schema) {
        assert_eq!(schema.metadata()[KEYS[0]], "fencepost-test");
        assert_eq!(schema.metadata()[KEYS[1]], "7");
        assert_eq!(schema.field(0).metadata()[KEYS[2]], "ps");
        assert_eq!(schema.field(1).metadata().get(KEYS[2]), None);
        let t = batch.column(0).as_any().downcast_ref::<UInt64Array>().unwrap();
        assert!(t.value(0) == u64::MAX && t.is_null(1));
        assert_eq!((batch.num_rows(), batch.num_columns()), (2, 5));
    }
    #[test]
    fn what_is_written_is_read_again_with_its_units() {
        let bytes = table().bytes(Format::Arrow).unwrap();
        let mut back = arrow_ipc::reader::FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
        let schema = back.schema();
        looked_at(&back.next().unwrap().unwrap(), &schema);
        let bytes = table().bytes(Format::Parquet).unwrap();
        let back = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap();
        let schema = back.schema().clone();
        looked_at(&back.build().unwrap().next().unwrap().unwrap(), &schema);
    }
    #[test]
    fn equal_tables_are_equal_bytes() {
        for format in Format::ALL {
            let all: Vec<Vec<u8>> = (0..20).map(|_| table().bytes(format).unwrap()).collect();
            assert!(all.iter().all(|b| *b == all[0]), "{format}");
        }
    }
}
