//! A file that is written through shared memory: what was written is there however the process ends.

#![allow(unsafe_code, reason = "memory that processes share")]

use rustix::fs::{FallocateFlags, fallocate};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::File;
use std::io;
use std::path::Path;

/// Bytes that are mapped at a time.
const WINDOW: usize = 1 << 20;

/// A file of lines, written at its end. What follows the last line is zero.
#[derive(Debug)]
pub struct Journal {
    file: File,
    window: *mut u8,
    used: usize,
    next: u64,
}

// SAFETY: the window is this journal's own mapping, reached through `&mut self` only.
unsafe impl Send for Journal {}

impl Journal {
    /// Starts a file.
    ///
    /// # Errors
    /// What the system says, such as a full disk, here and below.
    pub fn create(path: &Path) -> io::Result<Journal> {
        let file = File::options().read(true).write(true).create_new(true).open(path)?;
        let mut journal = Journal {
            file,
            window: std::ptr::null_mut(),
            used: WINDOW,
            next: 0,
        };
        journal.advance()?;
        Ok(journal)
    }
    /// Writes bytes, none of which is 0.
    pub fn append(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.used == WINDOW {
                self.advance()?;
            }
            let count = bytes.len().min(WINDOW - self.used);
            // SAFETY: the window has `WINDOW` bytes, of which those from `used` on are not written yet.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.window.add(self.used), count) };
            self.used += count;
            bytes = &bytes[count..];
        }
        Ok(())
    }
    fn advance(&mut self) -> io::Result<()> {
        // Storage first: a store to a mapped page that the disk has no place for would end the process.
        fallocate(&self.file, FallocateFlags::empty(), self.next, WINDOW as u64)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping of a part of the file that is there; the old one is this journal's own, and not used again.
        unsafe {
            let window = mmap(
                std::ptr::null_mut(),
                WINDOW,
                access,
                MapFlags::SHARED,
                &self.file,
                self.next,
            )?;
            self.unmap();
            self.window = window.cast();
        }
        self.next += WINDOW as u64;
        self.used = 0;
        Ok(())
    }
    fn unmap(&mut self) {
        if !self.window.is_null() {
            // SAFETY: the window is this journal's own mapping of that length, and is not used afterwards.
            let _ = unsafe { munmap(self.window.cast(), WINDOW) };
            self.window = std::ptr::null_mut();
        }
    }
}
impl Drop for Journal {
    fn drop(&mut self) {
        self.unmap();
    }
}

/// The lines of a journal. One that a process was writing as it ended is left out.
///
/// # Errors
/// A file that cannot be read.
pub fn read_journal(path: &Path) -> io::Result<String> {
    let mut bytes = std::fs::read(path)?;
    let written = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    bytes.truncate(written);
    let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    bytes.truncate(whole);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn what_was_written_is_read_without_a_close() {
        let path = std::env::temp_dir().join(format!("fencepost-journal-{}", std::process::id()));
        let mut journal = Journal::create(&path).unwrap();
        let line = format!("{}\n", "x".repeat(1000));
        // More than one window.
        for _ in 0..2000 {
            journal.append(line.as_bytes()).unwrap();
        }
        journal.append(b"cut off").unwrap();
        assert_eq!(read_journal(&path).unwrap(), line.repeat(2000));
        std::fs::remove_file(path).unwrap();
    }
}
