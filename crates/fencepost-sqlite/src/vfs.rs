//! What SQLite takes for a file system: one database with its journals, whose bytes a [`Store`] holds.

use crate::index::{self, WalIndex};
use crate::random;
use crate::store::{File, PAGE_BYTES, Store};
use libsqlite3_sys as ffi;
use std::any::Any;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};

/// The name under which SQLite knows it.
pub(crate) const NAME: &CStr = c"fencepost";

/// What a connection's files work on. Its address is the database's name.
pub(crate) struct Context {
    /// The caller's store while a call of the caller runs, else null.
    store: Option<*mut dyn Store>,
    /// The index of the write-ahead log.
    index: Arc<WalIndex>,
    /// What the store panicked with.
    pub panic: Option<Box<dyn Any + Send>>,
}

impl Context {
    /// What a connection works on that has the index of a write-ahead log in common with others.
    pub(crate) fn new(index: Arc<WalIndex>) -> Context {
        Context {
            store: None,
            index,
            panic: None,
        }
    }
    /// Gives the file its store for the time of `work`, which may not keep it.
    pub(crate) fn with_store<R>(this: *mut Context, store: &mut dyn Store, work: impl FnOnce() -> R) -> R {
        let raw: *mut (dyn Store + '_) = store;
        // SAFETY: only the lifetime is forgotten; the pointer is taken back below, before the borrow ends. `this` is the connection's own
        // box, which no reference is held to.
        unsafe {
            #[expect(
                clippy::transmute_ptr_to_ptr,
                reason = "a cast cannot lengthen the lifetime of a trait object"
            )]
            let store = std::mem::transmute::<*mut (dyn Store + '_), *mut (dyn Store + 'static)>(raw);
            (*this).store = Some(store);
            random::at_work(Some(store));
        }
        let result = work();
        random::at_work(None);
        // SAFETY: as above.
        unsafe { (*this).store = None };
        result
    }
    /// Runs an access of the store. A panic is kept for the caller; whatever SQLite asks for after it fails.
    fn access<R>(&mut self, work: impl FnOnce(&mut dyn Store) -> R) -> Option<R> {
        if self.panic.is_some() {
            return None;
        }
        // SAFETY: set by `with_store`, which outlives every call into SQLite.
        let store = unsafe { &mut *self.store? };
        let result = catch_unwind(AssertUnwindSafe(|| work(store)));
        // Others may have worked on this thread during the access.
        random::at_work(self.store);
        match result {
            Ok(result) => Some(result),
            Err(panic) => {
                self.panic = Some(panic);
                None
            }
        }
    }
    /// The name of the database of this context.
    pub(crate) fn file_name(&self) -> Vec<u8> {
        format!("/{:x}\0", std::ptr::from_ref(self) as usize).into_bytes()
    }
}

/// An open file, in memory that SQLite allocates.
#[repr(C)]
struct Open {
    base: ffi::sqlite3_file,
    context: *mut Context,
    file: File,
}
/// The context and the file that a name stands for: SQLite adds its own endings to the database's.
unsafe fn named(name: *const c_char) -> Option<(*mut Context, File)> {
    if name.is_null() {
        return None;
    }
    // SAFETY: SQLite's names are C strings.
    let name = unsafe { CStr::from_ptr(name) }.to_str().ok()?.strip_prefix('/')?;
    let (digits, file) = match name.split_once('-') {
        None => (name, File::Pages),
        Some((digits, "journal")) => (digits, File::Journal),
        Some((digits, "wal")) => (digits, File::Wal),
        Some(_) => return None,
    };
    let address = usize::from_str_radix(digits, 16).ok()?;
    Some((address as *mut Context, file))
}

/// Registers the file system, once.
pub(crate) fn register() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        random::register();
        // SAFETY: a vfs and its methods are plain data; SQLite keeps the pointer, so it is never freed.
        unsafe {
            let standard = ffi::sqlite3_vfs_find(std::ptr::null());
            let vfs = Box::leak(Box::new(ffi::sqlite3_vfs {
                iVersion: 1,
                szOsFile: size_of::<Open>() as c_int,
                mxPathname: 64,
                pNext: std::ptr::null_mut(),
                zName: NAME.as_ptr(),
                xOpen: Some(open),
                xDelete: Some(delete),
                xAccess: Some(access),
                xFullPathname: Some(full_pathname),
                xRandomness: Some(random::seed),
                ..*standard
            }));
            // The generator of random numbers asks the standard one.
            assert_eq!(
                ffi::sqlite3_vfs_register(vfs, 1),
                ffi::SQLITE_OK,
                "SQLite refuses a file system"
            );
        }
    });
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(lock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shared),
    xShmLock: Some(index::lock),
    xShmBarrier: Some(index::barrier),
    xShmUnmap: Some(index::unmap),
    xFetch: None,
    xUnfetch: None,
};

unsafe fn context<'a>(file: *mut ffi::sqlite3_file) -> (&'a mut Context, File) {
    // SAFETY: SQLite hands over what `open` has filled in; the context is a box of the connection, which outlives its files.
    unsafe {
        let open = file.cast::<Open>();
        (&mut *(*open).context, (*open).file)
    }
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite's contract of xOpen: `file` has room for szOsFile bytes, a name is a C string.
    unsafe {
        (*file).pMethods = std::ptr::null();
        // Temporary data stays in memory.
        let Some((context, which)) = named(name) else {
            return ffi::SQLITE_CANTOPEN;
        };
        let open = file.cast::<Open>();
        (*open).context = context;
        (*open).file = which;
        (*file).pMethods = &raw const METHODS;
        if !out_flags.is_null() {
            *out_flags = flags;
        }
    }
    ffi::SQLITE_OK
}
/// What stands in front says that a file is there.
unsafe extern "C" fn delete(_: *mut ffi::sqlite3_vfs, name: *const c_char, _: c_int) -> c_int {
    // SAFETY: SQLite's contract; the name is of a connection that makes this call.
    let done = unsafe { named(name) }.and_then(|(context, file)| {
        // SAFETY: as above.
        let context = unsafe { &mut *context };
        context.access(|store| {
            if store.size(file) > 0 {
                store.write(file, 0, &[0; 8]);
                store.sync(file);
            }
        })
    });
    match done {
        Some(()) => ffi::SQLITE_OK,
        None => ffi::SQLITE_IOERR_DELETE,
    }
}
unsafe extern "C" fn access(_: *mut ffi::sqlite3_vfs, name: *const c_char, _: c_int, out: *mut c_int) -> c_int {
    // SAFETY: as above.
    let there = unsafe { named(name) }.and_then(|(context, file)| {
        // SAFETY: as above.
        let context = unsafe { &mut *context };
        context.access(|store| store.size(file) > 0)
    });
    match there {
        // SAFETY: SQLite's contract.
        Some(there) => unsafe {
            *out = c_int::from(there);
            ffi::SQLITE_OK
        },
        None => ffi::SQLITE_IOERR_ACCESS,
    }
}
unsafe extern "C" fn full_pathname(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    room: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: a C string in, room for `room` bytes out.
    unsafe {
        let bytes = CStr::from_ptr(name).to_bytes_with_nul();
        if bytes.len() > room as usize {
            return ffi::SQLITE_CANTOPEN;
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), out, bytes.len());
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn close(_: *mut ffi::sqlite3_file) -> c_int {
    ffi::SQLITE_OK
}
unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, into: *mut c_void, len: c_int, at: i64) -> c_int {
    // SAFETY: SQLite's contract: `into` has room for `len` bytes.
    let ((context, file), into) = unsafe {
        (
            context(file),
            std::slice::from_raw_parts_mut(into.cast::<u8>(), len as usize),
        )
    };
    match context.access(|store| {
        let there = store.capacity(file).saturating_sub(at as u64).min(len as u64) as usize;
        let (inside, beyond) = into.split_at_mut(there);
        store.read(file, at as u64, inside);
        beyond.fill(0);
        beyond.is_empty()
    }) {
        Some(true) => ffi::SQLITE_OK,
        Some(false) => ffi::SQLITE_IOERR_SHORT_READ,
        None => ffi::SQLITE_IOERR_READ,
    }
}
unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, from: *const c_void, len: c_int, at: i64) -> c_int {
    // SAFETY: SQLite's contract: `from` holds `len` bytes.
    let ((context, file), from) = unsafe {
        (
            context(file),
            std::slice::from_raw_parts(from.cast::<u8>(), len as usize),
        )
    };
    match context.access(|store| {
        let fits = at as u64 + len as u64 <= store.capacity(file);
        if fits {
            store.write(file, at as u64, from);
        }
        fits
    }) {
        Some(true) => ffi::SQLITE_OK,
        Some(false) => ffi::SQLITE_FULL,
        None => ffi::SQLITE_IOERR_WRITE,
    }
}
/// The store has room for the largest database; how much of it is in use stands in the first page.
unsafe extern "C" fn truncate(_: *mut ffi::sqlite3_file, _: i64) -> c_int {
    ffi::SQLITE_OK
}
unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    // SAFETY: SQLite's contract.
    let (context, file) = unsafe { context(file) };
    match context.access(|store| store.sync(file)) {
        Some(()) => ffi::SQLITE_OK,
        None => ffi::SQLITE_IOERR_FSYNC,
    }
}
unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, out: *mut i64) -> c_int {
    // SAFETY: SQLite's contract.
    let (context, file) = unsafe { context(file) };
    match context.access(|store| store.size(file)) {
        // SAFETY: as above.
        Some(bytes) => unsafe {
            *out = bytes as i64;
            ffi::SQLITE_OK
        },
        None => ffi::SQLITE_IOERR_FSTAT,
    }
}
/// A region of the index of the write-ahead log.
unsafe extern "C" fn shared(
    file: *mut ffi::sqlite3_file,
    region: c_int,
    _: c_int,
    make: c_int,
    out: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite's contract.
    unsafe {
        let (context, _) = context(file);
        *out = context
            .index
            .region(region as usize, make != 0)
            .unwrap_or(std::ptr::null_mut());
    }
    ffi::SQLITE_OK
}
unsafe extern "C" fn lock(_: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    ffi::SQLITE_OK
}
unsafe extern "C" fn check_reserved_lock(_: *mut ffi::sqlite3_file, out: *mut c_int) -> c_int {
    // SAFETY: SQLite's contract.
    unsafe { *out = 0 };
    ffi::SQLITE_OK
}
unsafe extern "C" fn file_control(_: *mut ffi::sqlite3_file, _: c_int, _: *mut c_void) -> c_int {
    ffi::SQLITE_NOTFOUND
}
unsafe extern "C" fn sector_size(_: *mut ffi::sqlite3_file) -> c_int {
    PAGE_BYTES as c_int
}
/// A write that fails leaves its neighbours alone.
unsafe extern "C" fn device_characteristics(_: *mut ffi::sqlite3_file) -> c_int {
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE
}
