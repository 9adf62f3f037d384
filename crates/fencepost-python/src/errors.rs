//! Errors as the exceptions of `fencepost._errors`, with message, hint and place.

use fencepost_run::LabError;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The exception of an error.
pub(crate) fn raised(py: Python<'_>, e: &LabError) -> PyErr {
    let (class, message, hint, place) = match e {
        LabError::Input(bad) => {
            let place = bad.place.as_ref().map(ToString::to_string);
            ("InputError", bad.message.clone(), bad.hint.clone(), place)
        }
        LabError::File { .. } => ("FileError", e.to_string(), None, None),
        LabError::Convicted { .. } => ("Convicted", e.to_string(), None, None),
        LabError::Internal(_) => {
            let hint = "this is a defect of fencepost: please report it";
            ("InternalError", e.to_string(), Some(hint.to_owned()), None)
        }
    };
    let built = (|| {
        let class = py.import("fencepost._errors")?.getattr(PyString::new(py, class))?;
        class.call1((message, hint, place))
    })();
    match built {
        Ok(exception) => PyErr::from_value(exception),
        Err(e) => e,
    }
}

/// Bad input of the package itself.
pub(crate) fn input(py: Python<'_>, message: &str) -> PyErr {
    raised(py, &fencepost_run::BadInput::new(message).into())
}
