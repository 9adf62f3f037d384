//! What SQLite says instead of doing what it was asked.

use libsqlite3_sys as ffi;
use std::ffi::CStr;
use std::fmt;

/// What SQLite answered instead of doing what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteError {
    /// Its (primary or extended) result code.
    pub code: i32,
    /// Its message.
    pub message: String,
}
impl fmt::Display for SqliteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SQLite: {} (code {})", self.message, self.code)
    }
}
impl std::error::Error for SqliteError {}
impl SqliteError {
    /// # Safety
    /// `db` is an open connection.
    pub(crate) unsafe fn check(db: *mut ffi::sqlite3, code: i32) -> Result<(), SqliteError> {
        if code == ffi::SQLITE_OK {
            return Ok(());
        }
        // SAFETY: by the caller; the message is a C string until the next call.
        let message = unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(db)) };
        let message = message.to_string_lossy().into_owned();
        Err(SqliteError { code, message })
    }
}
