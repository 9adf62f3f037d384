//! libfabric, found at run time: nothing of it is needed to build.
#![allow(unsafe_code, reason = "calls of a C library")]

use super::abi::{self, FI_EP_MSG, FI_MSG, FI_SOCKADDR_IN, FI_THREAD_SAFE, Fid, Object, VERSION};
use crate::error::NativeError;
use std::error::Error as _;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::mem::ManuallyDrop;
use std::ptr::{NonNull, null, null_mut};

/// The file that the dynamic loader looks for.
pub const NAME: &str = "libfabric.so.1";
/// The provider that is asked for.
const PROVIDER: &CStr = c"tcp";

type GetInfo =
    unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const abi::Info, *mut *mut abi::Info) -> c_int;
type OpenFabric = unsafe extern "C" fn(*mut abi::FabricAttr, *mut *mut abi::Fabric, *mut c_void) -> c_int;

/// The functions that the library exports; everything else is reached through objects.
#[derive(Copy, Clone)]
pub struct Library {
    version: unsafe extern "C" fn() -> u32,
    getinfo: GetInfo,
    freeinfo: unsafe extern "C" fn(*mut abi::Info),
    dupinfo: unsafe extern "C" fn(*const abi::Info) -> *mut abi::Info,
    fabric: OpenFabric,
}

/// A refusal of the library as the system's error.
pub fn failed(code: isize) -> io::Error {
    match code.unsigned_abs() {
        // Codes below 256 are those of the system.
        errno @ 1..256 => io::Error::from_raw_os_error(errno as i32),
        other => io::Error::other(format!("libfabric's error {other}")),
    }
}
/// The same of a call that returns an `int`.
pub fn done(code: c_int) -> io::Result<()> {
    if code < 0 { Err(failed(code as isize)) } else { Ok(()) }
}

/// An object, closed when dropped.
pub struct Handle<T: Object>(NonNull<T>);

// SAFETY: objects are asked for with FI_THREAD_SAFE: any thread may use them, several at once.
unsafe impl<T: Object> Send for Handle<T> {}
// SAFETY: as above.
unsafe impl<T: Object> Sync for Handle<T> {}

impl<T: Object> Handle<T> {
    /// The object that `open` makes.
    pub fn open(open: impl FnOnce(*mut *mut T) -> c_int) -> io::Result<Handle<T>> {
        let mut out = null_mut();
        done(open(&mut out))?;
        NonNull::new(out)
            .map(Handle)
            .ok_or_else(|| io::Error::other("libfabric made nothing"))
    }
    /// Where it lies; valid while this lives.
    pub fn ptr(&self) -> *mut T {
        self.0.as_ptr()
    }
    /// The part that all objects have.
    pub fn fid(&self) -> *mut Fid {
        self.ptr().cast()
    }
}
impl<T: Object> Drop for Handle<T> {
    fn drop(&mut self) {
        // SAFETY: an object of the library, which begins with a `Fid`, and nobody else closes it. What was opened on it was closed
        // before: owners declare their handles in that order.
        unsafe {
            let fid = self.fid();
            ((*(*fid).ops).close)(fid);
        }
    }
}

/// A description of an endpoint, freed when dropped.
pub struct Info {
    ptr: NonNull<abi::Info>,
    library: Library,
}
impl Info {
    /// Takes over what the library allocated.
    ///
    /// # Safety
    /// `ptr` is null or comes from the library, and nobody else frees it.
    pub unsafe fn own(library: Library, ptr: *mut abi::Info) -> io::Result<Info> {
        let ptr = NonNull::new(ptr).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Info { ptr, library })
    }
    /// Where it lies; valid while this lives.
    pub fn ptr(&self) -> *mut abi::Info {
        self.ptr.as_ptr()
    }
}
impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: it comes from the library and is freed once.
        unsafe { (self.library.freeinfo)(self.ptr()) }
    }
}

impl Library {
    /// Loads the library by its `name`. It stays loaded: its providers may have threads.
    pub fn load(name: &str) -> Result<Library, NativeError> {
        let missing = |e: libloading::Error| {
            let why = e.source().map_or_else(|| e.to_string(), ToString::to_string);
            NativeError::Refused(format!(
                "{name} cannot be loaded ({why}): install libfabric (package `libfabric1` of Debian and Ubuntu, `libfabric` of Fedora), \
or use `--transport tcp`"
            ))
        };
        // SAFETY: its initialisation is that of a C library that programs link to; the signatures are those of its headers.
        unsafe {
            let library = ManuallyDrop::new(libloading::Library::new(name).map_err(missing)?);
            Ok(Library {
                version: *library.get(c"fi_version").map_err(missing)?,
                getinfo: *library.get(c"fi_getinfo").map_err(missing)?,
                freeinfo: *library.get(c"fi_freeinfo").map_err(missing)?,
                dupinfo: *library.get(c"fi_dupinfo").map_err(missing)?,
                fabric: *library.get(c"fi_fabric").map_err(missing)?,
            })
        }
    }
    /// Its version: major, minor.
    pub fn version(self) -> (u32, u32) {
        // SAFETY: it has no conditions.
        let v = unsafe { (self.version)() };
        (v >> 16, v & 0xffff)
    }
    /// How to make endpoints that send messages over a connection by the tcp provider: to a port of this machine, or, with
    /// [`FI_SOURCE`](abi::FI_SOURCE), from it; port 0 is any.
    pub fn info(self, port: u16, flags: u64) -> io::Result<Info> {
        let port = CString::new(port.to_string()).map_err(io::Error::other)?;
        // SAFETY: without an argument `fi_dupinfo` allocates an empty description with all its parts. The provider's name is not the
        // library's to free, so it is taken out again before that.
        unsafe {
            let hints = Info::own(self, (self.dupinfo)(null()))?;
            let h = hints.ptr();
            (*h).caps = FI_MSG;
            (*h).addr_format = FI_SOCKADDR_IN;
            (*(*h).ep_attr).kind = FI_EP_MSG;
            (*(*h).domain_attr).threading = FI_THREAD_SAFE;
            (*(*h).fabric_attr).prov_name = PROVIDER.as_ptr().cast_mut();
            let mut out = null_mut();
            let code = (self.getinfo)(VERSION, c"127.0.0.1".as_ptr(), port.as_ptr(), flags, h, &mut out);
            (*(*h).fabric_attr).prov_name = null_mut();
            done(code)?;
            Info::own(self, out)
        }
    }
    /// The network that `info` describes.
    pub fn fabric(self, info: &Info) -> io::Result<Handle<abi::Fabric>> {
        // SAFETY: a description that the library made has its attributes.
        Handle::open(|out| unsafe { (self.fabric)((*info.ptr()).fabric_attr, out, null_mut()) })
    }
}
