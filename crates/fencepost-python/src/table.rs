//! Tables over the Arrow PyCapsule interface: pandas, polars, pyarrow and DuckDB read them without a copy.

use arrow_array::RecordBatchIterator;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use fencepost_table::{Format, Table, TableError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

/// A table.
#[pyclass(frozen, name = "Table", module = "fencepost._core")]
pub struct PyTable(pub Table);

#[pymethods]
impl PyTable {
    /// Name of the schema.
    #[getter]
    fn schema(&self) -> &'static str {
        self.0.schema
    }
    /// Version of the schema.
    #[getter]
    fn version(&self) -> u32 {
        self.0.version
    }
    /// Names, units and explanations of the columns.
    #[getter]
    fn fields(&self) -> Vec<(String, &'static str, String)> {
        let columns = self.0.columns.iter();
        columns.map(|c| (c.name.clone(), c.unit, c.about.clone())).collect()
    }
    fn __len__(&self) -> usize {
        self.0.rows()
    }
    /// The table as a file: parquet, arrow, csv or json.
    fn to_bytes<'py>(&self, py: Python<'py>, format: &str) -> PyResult<Bound<'py, PyBytes>> {
        let format: Format = format.parse().map_err(|e: String| crate::errors::input(py, &e))?;
        let bytes = py.detach(|| self.0.bytes(format)).map_err(|e| failed(py, &e))?;
        Ok(PyBytes::new(py, &bytes))
    }
    /// The rows as a stream of Arrow's C interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows a producer to ignore what it is asked for.
        drop(requested_schema);
        let batch = py.detach(|| self.0.record_batch()).map_err(|e| failed(py, &e))?;
        let schema = batch.schema();
        let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn failed(py: Python<'_>, e: &TableError) -> PyErr {
    crate::errors::raised(py, &fencepost_run::LabError::Internal(e.to_string()))
}
