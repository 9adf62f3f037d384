//! SQLite's random numbers, taken from the store of the connection that asks.
//!
//! SQLite has one generator a process, seeded from the operating system, and writes its numbers into journals. Here every draw of it is
//! seeded anew by the store at hand, so that a run is a function of its own seed, whatever else the process does. The generator is
//! guarded by a mutex of its own: whoever takes that is about to draw.

use crate::store::Store;
use libsqlite3_sys as ffi;
use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::sync::OnceLock;

thread_local! {
    /// The store of the connection at work on this thread, while a call of its runs.
    static AT_WORK: Cell<Option<*mut dyn Store>> = const { Cell::new(None) };
    /// The generator is being emptied, by whoever holds its mutex already.
    static EMPTIES: Cell<bool> = const { Cell::new(false) };
}

/// The store whose connection works on this thread from now on. Not inlined: it may be another thread after every access of a store.
#[inline(never)]
pub(crate) fn at_work(store: Option<*mut dyn Store>) {
    AT_WORK.set(store);
}

/// The mutexes of SQLite as they were, and the one of the generator.
struct Mutexes {
    before: ffi::sqlite3_mutex_methods,
    generator: *mut ffi::sqlite3_mutex,
}
// SAFETY: functions, and the address of a static mutex.
unsafe impl Send for Mutexes {}
// SAFETY: as above.
unsafe impl Sync for Mutexes {}
static MUTEXES: OnceLock<Mutexes> = OnceLock::new();

/// Puts itself before the mutexes of SQLite, which nobody uses yet.
pub(crate) fn register() {
    // SAFETY: once SQLite has been initialised its mutexes are known, and they may be read and replaced once it is shut down again.
    unsafe {
        let mut before: ffi::sqlite3_mutex_methods = std::mem::zeroed();
        ffi::sqlite3_initialize();
        ffi::sqlite3_shutdown();
        let code = ffi::sqlite3_config(ffi::SQLITE_CONFIG_GETMUTEX, &raw mut before);
        assert_eq!(code, ffi::SQLITE_OK, "SQLite is in use already");
        let generator = before
            .xMutexAlloc
            .map_or(std::ptr::null_mut(), |alloc| alloc(ffi::SQLITE_MUTEX_STATIC_PRNG));
        let methods = ffi::sqlite3_mutex_methods {
            xMutexEnter: Some(enter),
            xMutexLeave: Some(leave),
            ..before
        };
        if MUTEXES.set(Mutexes { before, generator }).is_ok() {
            let code = ffi::sqlite3_config(ffi::SQLITE_CONFIG_MUTEX, &raw const methods);
            assert_eq!(code, ffi::SQLITE_OK, "SQLite is in use already");
        }
    }
}

unsafe extern "C" fn enter(mutex: *mut ffi::sqlite3_mutex) {
    let Some(mutexes) = MUTEXES.get() else { return };
    let generator = mutex == mutexes.generator;
    if generator && EMPTIES.get() {
        return;
    }
    // SAFETY: a mutex of SQLite's, by its own function; without a place to write to, the generator forgets its seed.
    unsafe {
        if let Some(enter) = mutexes.before.xMutexEnter {
            enter(mutex);
        }
        if generator {
            EMPTIES.set(true);
            ffi::sqlite3_randomness(0, std::ptr::null_mut());
            EMPTIES.set(false);
        }
    }
}
unsafe extern "C" fn leave(mutex: *mut ffi::sqlite3_mutex) {
    let Some(mutexes) = MUTEXES.get() else { return };
    if mutex == mutexes.generator && EMPTIES.get() {
        return;
    }
    // SAFETY: as above.
    unsafe {
        if let Some(leave) = mutexes.before.xMutexLeave {
            leave(mutex);
        }
    }
}

/// The seed of the next draw.
pub(crate) unsafe extern "C" fn seed(_: *mut ffi::sqlite3_vfs, len: c_int, into: *mut c_char) -> c_int {
    // SAFETY: room for `len` bytes; the store is there while its connection is in a call, and SQLite accesses it in no other way now.
    unsafe {
        let into = std::slice::from_raw_parts_mut(into.cast::<u8>(), len as usize);
        let bits = AT_WORK.get().map_or(0, |store| (*store).random());
        into.fill(0);
        into.iter_mut()
            .zip(bits.to_le_bytes())
            .for_each(|(to, byte)| *to = byte);
    }
    len
}
