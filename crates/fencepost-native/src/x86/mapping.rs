//! The two memories of a program, mapped at fixed addresses.
#![allow(unsafe_code, reason = "mapping memory")]

use super::addresses::{OFFSET, PARTS};
use super::file::PmFile;
use crate::error::NativeError;
use fencepost_kernel::Addr;
use fencepost_programs::layout::Footprint;
use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap, mmap_anonymous, msync, munmap};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The addresses are fixed, so there is one mapping at a time in a process.
static TAKEN: Mutex<()> = Mutex::new(());

/// Both memories, mapped while this lives. Accesses to addresses inside it are sound as long as it lives: nothing else of the
/// process points there, and programs synchronise theirs among threads.
#[derive(Debug)]
pub struct Mapping {
    parts: [(u64, usize); 2],
    map_sync: bool,
    _only: MutexGuard<'static, ()>,
}

fn failed(path: &Path, why: rustix::io::Errno) -> NativeError {
    NativeError::File {
        action: "map",
        path: path.to_owned(),
        why: why.into(),
    }
}

impl Mapping {
    /// Maps `size`: volatile memory zeroed, persistent memory from the file, or zeroed without one.
    pub fn new(size: Footprint, file: Option<&PmFile>) -> Result<Mapping, NativeError> {
        let only = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let pages = |n: u64| n.next_multiple_of(4096) as usize;
        let mut made = Mapping {
            parts: [(PARTS[0], 0), (PARTS[1], 0)],
            map_sync: false,
            _only: only,
        };
        made.anonymous(0, pages(size.dram.0))?;
        match file {
            None => made.anonymous(1, pages(size.pm.0))?,
            Some(file) => made.file(file)?,
        }
        Ok(made)
    }
    fn anonymous(&mut self, part: usize, len: usize) -> Result<(), NativeError> {
        let at = (PARTS[part] + OFFSET) as *mut _;
        let flags = MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE | MapFlags::POPULATE;
        // SAFETY: a new mapping that replaces none.
        let got = unsafe { mmap_anonymous(at, len, ProtFlags::READ | ProtFlags::WRITE, flags) };
        got.map_err(|e| failed(Path::new("anonymous memory"), e))?;
        self.parts[part].1 = len;
        Ok(())
    }
    /// Maps the file; `MAP_SYNC` if its file system offers it.
    fn file(&mut self, pm: &PmFile) -> Result<(), NativeError> {
        let (at, len) = ((PARTS[1] + OFFSET) as *mut _, pm.len as usize);
        let map = |flags: MapFlags| {
            let flags = flags | MapFlags::FIXED_NOREPLACE | MapFlags::POPULATE;
            // SAFETY: a new mapping that replaces none. Every byte of it lies in the file.
            unsafe { mmap(at, len, ProtFlags::READ | ProtFlags::WRITE, flags, &pm.file, 0) }
        };
        self.map_sync = map(MapFlags::SHARED_VALIDATE | MapFlags::SYNC).is_ok();
        if !self.map_sync {
            map(MapFlags::SHARED).map_err(|e| failed(&pm.path, e))?;
        }
        self.parts[1].1 = len;
        Ok(())
    }
    /// Whether persistent memory is mapped with `MAP_SYNC`.
    pub fn map_sync(&self) -> bool {
        self.map_sync
    }
    /// Whether the 8-byte word of this address is mapped.
    pub fn holds(&self, addr: Addr) -> bool {
        let word = addr.0 & !7;
        self.parts
            .iter()
            .any(|(at, len)| word >= *at && word - at < *len as u64)
    }
    /// Has the kernel write the pages of `bytes` bytes from `addr` on to the file, which must be inside the persistent part.
    pub fn write_out(&self, addr: Addr, bytes: u64) -> std::io::Result<()> {
        let first = addr.0 & !4095;
        let len = (addr.0 + bytes - first) as usize;
        assert!(
            self.holds(Addr(first)) && self.holds(Addr(addr.0 + bytes - 1)),
            "inside the mapping"
        );
        // SAFETY: inside the mapping.
        Ok(unsafe { msync(super::addresses::host(Addr(first)), len, MsyncFlags::SYNC) }?)
    }
    /// Makes the first writes to pages before anything is timed: each page is written with what it holds.
    pub fn touch(&self) {
        for (at, len) in self.parts {
            for page in (at..at + len as u64).step_by(4096) {
                let word = super::addresses::host::<u64>(Addr(page));
                // SAFETY: inside the mapping and aligned; no program runs yet.
                unsafe { word.write_volatile(word.read_volatile()) };
            }
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        for (at, len) in self.parts.into_iter().filter(|p| p.1 > 0) {
            // SAFETY: mapped by `new`; nothing borrows from it.
            let _ = unsafe { munmap((at + OFFSET) as *mut _, len) };
        }
    }
}
