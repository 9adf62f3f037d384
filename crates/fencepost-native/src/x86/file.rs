//! The file that holds persistent memory.

use super::scratch::Scratch;
use crate::error::NativeError;
use crate::native_report::Memory;
use rustix::fs::{FallocateFlags, fallocate, fstatfs};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// First bytes of the file. Programs leave the first page free.
const MAGIC: &[u8; 24] = b"fencepost native memory\n";

/// A file of a known length, ours to overwrite.
#[derive(Debug)]
pub struct PmFile {
    /// Where it is.
    pub path: PathBuf,
    /// Opened for reading and writing.
    pub file: File,
    /// Bytes.
    pub len: u64,
    /// Present if it is a temporary file.
    temporary: Option<Scratch>,
}

fn file_error(action: &'static str, path: &Path) -> impl Fn(std::io::Error) -> NativeError {
    let path = path.to_owned();
    move |why| NativeError::File {
        action,
        path: path.clone(),
        why,
    }
}

impl PmFile {
    /// Makes the file, or takes over one of an earlier run, with all of its bytes allocated and zero.
    pub fn create(path: Option<&Path>, len: u64) -> Result<PmFile, NativeError> {
        let temporary = path.is_none().then(|| Scratch::new("memory"));
        let path = path.or(temporary.as_ref().map(Scratch::path));
        let path = path.unwrap_or(Path::new("")).to_owned();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        if temporary.is_some() {
            options.create_new(true);
        }
        let file = options.open(&path).map_err(file_error("create", &path))?;
        let mut made = PmFile {
            path,
            file,
            len: len.next_multiple_of(4096),
            temporary,
        };
        made.clear()?;
        Ok(made)
    }
    /// Opens a file that a run left, for recovery.
    pub fn open(path: &Path, len: u64) -> Result<PmFile, NativeError> {
        let failed = file_error("open", path);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).open(path).map_err(&failed)?;
        let (path, len) = (path.to_owned(), len.next_multiple_of(4096));
        let (temporary, size) = (None, file.metadata().map_err(&failed)?.len());
        if size < len {
            let why = std::io::Error::other(format!("{size} bytes are not the {len} of this program"));
            return Err(failed(why));
        }
        Ok(PmFile {
            path,
            file,
            len,
            temporary,
        })
    }
    /// Zeroes it. Only a new file, an empty one or one of ours is overwritten.
    pub fn clear(&mut self) -> Result<(), NativeError> {
        let failed = file_error("use", &self.path);
        let info = self.file.metadata().map_err(&failed)?;
        if !info.is_file() {
            let why = "not a regular file (a DAX device holds one: put a DAX file system on it)";
            return Err(failed(std::io::Error::other(why)));
        }
        if info.len() > 0 {
            let mut head = [0; MAGIC.len()];
            if self.file.read_exact_at(&mut head, 0).is_err() || &head != MAGIC {
                let why = "it holds something else; name a file that does not exist yet";
                return Err(failed(std::io::Error::other(why)));
            }
        }
        let cannot_hold = file_error("reserve space in", &self.path);
        self.file.set_len(0).map_err(&cannot_hold)?;
        // Every block exists beforehand: a full disk is an error here and not a signal in the middle of a run.
        let mode = FallocateFlags::empty();
        match fallocate(&self.file, mode, 0, self.len) {
            Ok(()) => {}
            Err(rustix::io::Errno::OPNOTSUPP) => self.file.set_len(self.len).map_err(&cannot_hold)?,
            Err(e) => {
                let _ = self.file.set_len(0);
                return Err(cannot_hold(e.into()));
            }
        }
        self.file.write_all_at(MAGIC, 0).map_err(&failed)
    }
    /// What the file lies on.
    pub fn describe(&self, map_sync: bool) -> Memory {
        let file_system = fstatfs(&self.file).map_or_else(|_| "unknown".into(), |s| file_system(s.f_type as u64));
        let meaning = match map_sync {
            true => "MAP_SYNC: persistent memory behind a DAX file system; a flushed line survives a power failure",
            false => {
                "the page cache, in DRAM: times are those of DRAM, a killed process loses nothing, a power failure loses what the kernel has not written"
            }
        };
        Memory {
            path: self.path.clone(),
            temporary: self.temporary.is_some(),
            file_system,
            map_sync,
            bytes: self.len,
            meaning: meaning.into(),
        }
    }
}

/// Names of file systems by their magic number (linux/magic.h).
fn file_system(magic: u64) -> String {
    let known = [
        (0xef53, "ext4"),
        (0x0102_1994, "tmpfs"),
        (0x5846_5342, "xfs"),
        (0x9123_683e, "btrfs"),
        (0x794c_7630, "overlayfs"),
        (0x6969, "nfs"),
        (0x2fc1_2fc1, "zfs"),
        (0xf2f5_2010, "f2fs"),
    ];
    let found = known.iter().find(|k| k.0 == magic & 0xffff_ffff);
    found.map_or_else(|| format!("{magic:#x}"), |k| k.1.to_owned())
}
