//! The extension module `fencepost._core`: conversion only. Requests and results cross as JSON, tables as Arrow, and the package in
//! `python/fencepost` gives both their Python form.
#![cfg(feature = "extension")]

mod calls;
mod errors;
mod papers;
mod sweeps;
mod table;
mod work;

use pyo3::prelude::*;

/// The extension module.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::calls::{compare, config, cost, crash, judge, litmus, names, run, version};
    #[pymodule_export]
    use crate::papers::{infer_readings, planned, reproduce};
    #[pymodule_export]
    use crate::sweeps::{Folder, Plan, matrix, simulate};
    #[pymodule_export]
    use crate::table::PyTable;
    #[pymodule_export]
    use crate::work::stopped;
}
