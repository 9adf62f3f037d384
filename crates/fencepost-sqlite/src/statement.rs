//! A prepared statement.

use crate::error::SqliteError;
use libsqlite3_sys as ffi;
use std::ffi::CStr;

/// A statement, finalised when dropped unless its connection was given up.
pub(crate) struct Statement {
    raw: *mut ffi::sqlite3_stmt,
}

impl Statement {
    /// Compiles `sql`, which may read the schema.
    ///
    /// # Safety
    /// `db` is an open connection that outlives the statement.
    pub(crate) unsafe fn new(db: *mut ffi::sqlite3, sql: &CStr) -> Result<Statement, SqliteError> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: by the caller.
        let code = unsafe { ffi::sqlite3_prepare_v2(db, sql.as_ptr(), -1, &raw mut raw, std::ptr::null_mut()) };
        // SAFETY: by the caller.
        unsafe { SqliteError::check(db, code) }?;
        Ok(Statement { raw })
    }
    /// Runs it with these blobs; `row` is given the blobs of the columns of each row.
    ///
    /// # Safety
    /// `db` is the connection it was made for.
    pub(crate) unsafe fn run(
        &mut self,
        db: *mut ffi::sqlite3,
        blobs: &[&[u8]],
        mut row: impl FnMut(&[&[u8]]),
    ) -> Result<(), SqliteError> {
        // SAFETY: the blobs outlive the run, which is over when the statement is reset; columns are read before the next step.
        unsafe {
            for (i, blob) in (1..).zip(blobs) {
                let code = ffi::sqlite3_bind_blob(self.raw, i, blob.as_ptr().cast(), blob.len() as i32, None);
                SqliteError::check(db, code)?;
            }
            let ended = loop {
                match ffi::sqlite3_step(self.raw) {
                    ffi::SQLITE_ROW => {
                        let columns: Vec<&[u8]> = (0..ffi::sqlite3_column_count(self.raw))
                            .map(|c| self.column(c))
                            .collect();
                        row(&columns);
                    }
                    ffi::SQLITE_DONE => break Ok(()),
                    code => break SqliteError::check(db, code),
                }
            };
            ffi::sqlite3_reset(self.raw);
            ended
        }
    }
    unsafe fn column(&self, c: i32) -> &[u8] {
        // SAFETY: the statement stands at a row; SQLite keeps the value until the next step.
        unsafe {
            let bytes = ffi::sqlite3_column_blob(self.raw, c).cast::<u8>();
            let len = ffi::sqlite3_column_bytes(self.raw, c) as usize;
            if bytes.is_null() {
                &[]
            } else {
                std::slice::from_raw_parts(bytes, len)
            }
        }
    }
    /// Gives its memory back.
    pub(crate) fn finalize(self) {
        // SAFETY: made by `new`, and given up here.
        unsafe { ffi::sqlite3_finalize(self.raw) };
    }
}
