//! Words that several threads share: on the heap, or in a file that several processes map and that outlives a killed one.
#![allow(unsafe_code, reason = "a slice over a mapped file")]

use super::scratch::is_own;
use crate::error::NativeError;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::OpenOptions;
use std::ops::Deref;
use std::path::Path;
use std::sync::atomic::AtomicU64;

enum Backing {
    Heap(Box<[AtomicU64]>),
    Mapped(*mut AtomicU64, usize),
}

/// A fixed number of words, all zero at first.
pub(super) struct Words(Backing);
// SAFETY: the mapped words are atomics that live as long as this does, wherever it is.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    /// In private memory.
    pub(super) fn heap(words: usize) -> Words {
        Words(Backing::Heap((0..words).map(|_| AtomicU64::new(0)).collect()))
    }
    /// In a file; one of this process's own is made if absent.
    pub(super) fn file(path: &Path, words: usize) -> Result<Words, NativeError> {
        let failed = |why| NativeError::File {
            action: "use",
            path: path.to_owned(),
            why,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(is_own(path)).truncate(false);
        let file = options.open(path).map_err(failed)?;
        let len = words * size_of::<AtomicU64>();
        file.set_len(len as u64).map_err(failed)?;
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at an address that the kernel chooses; the file is as long as it.
        let at = unsafe { mmap(std::ptr::null_mut(), len, protection, flags, &file, 0) };
        let at = at.map_err(|e| failed(e.into()))?;
        Ok(Words(Backing::Mapped(at.cast(), len)))
    }
}

impl Deref for Words {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        match &self.0 {
            Backing::Heap(words) => words,
            // SAFETY: mapped by `file` with this length, aligned to a page, until this is dropped; only accessed as atomics.
            Backing::Mapped(at, len) => unsafe { std::slice::from_raw_parts(*at, len / size_of::<AtomicU64>()) },
        }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        if let Backing::Mapped(at, len) = self.0 {
            // SAFETY: mapped by `file`; no slice of it is left.
            let _ = unsafe { munmap(at.cast(), len) };
        }
    }
}
