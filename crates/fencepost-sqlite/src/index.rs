//! The index of a write-ahead log: volatile memory that all connections to a database share.

use libsqlite3_sys as ffi;
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError};

/// Words of a region, the unit in which SQLite asks for it.
const REGION_WORDS: usize = 32_768 / 8;
type Region = Box<UnsafeCell<[u64; REGION_WORDS]>>;

/// The index of one write-ahead log. It starts empty, from which SQLite concludes that it must be made from the log.
#[derive(Default)]
pub struct WalIndex {
    regions: Mutex<Vec<Region>>,
}
// SAFETY: the regions' bytes are only touched by SQLite, inside of calls that the callers' lock keeps apart.
unsafe impl Send for WalIndex {}
// SAFETY: as above.
unsafe impl Sync for WalIndex {}

impl WalIndex {
    /// Where region `number` lies, if it is there or may be made.
    #[expect(clippy::large_stack_arrays, reason = "a region is made once, and of 32 KB")]
    pub(crate) fn region(&self, number: usize, make: bool) -> Option<*mut c_void> {
        let mut regions = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
        while make && regions.len() <= number {
            regions.push(Box::new(UnsafeCell::new([0; REGION_WORDS])));
        }
        regions.get(number).map(|r| r.get().cast())
    }
}

/// The indexes of databases that equal connections work on, by number: threads that know nothing of each other but a number in the
/// memory that they share find the same one. They outlive their connections, as shared memory does while a process keeps it.
#[derive(Clone, Default)]
pub struct WalIndexes {
    all: Arc<Mutex<Vec<Arc<WalIndex>>>>,
}
impl WalIndexes {
    /// The index of this number (0: none yet), or a new one with its number.
    pub fn find(&self, number: u64) -> (u64, Arc<WalIndex>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let known = (number as usize).checked_sub(1).and_then(|i| all.get(i));
        if let Some(index) = known {
            return (number, Arc::clone(index));
        }
        all.push(Arc::default());
        (all.len() as u64, Arc::clone(&all[all.len() - 1]))
    }
}
impl std::fmt::Debug for WalIndexes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WalIndexes")
    }
}

/// One connection works at a time: whoever asks has the locks.
pub(crate) unsafe extern "C" fn lock(_: *mut ffi::sqlite3_file, _: c_int, _: c_int, _: c_int) -> c_int {
    ffi::SQLITE_OK
}
pub(crate) unsafe extern "C" fn barrier(_: *mut ffi::sqlite3_file) {}
/// It goes with its last connection.
pub(crate) unsafe extern "C" fn unmap(_: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    ffi::SQLITE_OK
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_number_names_one_index() {
        let indexes = WalIndexes::default();
        let (number, one) = indexes.find(0);
        let (same, two) = indexes.clone().find(number);
        assert!(number > 0 && same == number && Arc::ptr_eq(&one, &two));
        assert_eq!(one.region(1, false), None);
        let (second, first) = (one.region(1, true), one.region(0, false));
        assert!(second.is_some() && first.is_some() && first != second);
        assert_eq!((two.region(0, true), two.region(1, true)), (first, second));
        // Another run over the same program object begins with its own.
        assert_ne!(indexes.find(0).0, number);
        drop((one, two));
        assert_eq!(
            indexes.find(number).1.region(0, false),
            first,
            "its connections are gone, it is not"
        );
    }
}
