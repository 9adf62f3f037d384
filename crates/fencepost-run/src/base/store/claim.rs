//! A claim on one piece of work in a folder that several processes share: a lock that ends with the process that holds it, however
//! it ends.

use super::{CLAIMS, Store};
use crate::error::LabError;
use fs4::TryLockError;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// While it lives, nobody else holds the claim of this name.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    /// The locked file; dropped after its name is gone.
    _file: File,
}
impl Drop for Claim {
    fn drop(&mut self) {
        // Removed under the lock: who opened the old file meanwhile sees that its name is gone and asks again.
        let _ = fs::remove_file(&self.path);
    }
}

impl Store {
    /// Claims a name; `None` while another process, or another thread of this one, holds it. Where the system has no locks everybody
    /// gets what is asked for: work may be done twice, and gives the same bytes twice.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn claim(&self, name: &str) -> Result<Option<Claim>, LabError> {
        let folder = self.path(CLAIMS);
        let path = folder.join(name);
        loop {
            match fs::create_dir_all(&folder) {
                // It was there, and who ended has taken it away since.
                Err(e) if e.kind() == ErrorKind::AlreadyExists && !folder.is_file() => continue,
                made => made.map_err(|e| LabError::file("create folder", &folder, e))?,
            }
            let opened = File::options().create(true).truncate(false).write(true).open(&path);
            let file = match opened {
                Ok(file) => file,
                Err(e) if e.kind() == ErrorKind::NotFound => continue,
                Err(e) => return Err(LabError::file("write", &path, e)),
            };
            match fs4::FileExt::try_lock(&file) {
                Err(TryLockError::WouldBlock) => return Ok(None),
                Ok(()) if !is_named(&file, &path) => {}
                Ok(()) | Err(TryLockError::Error(_)) => return Ok(Some(Claim { path, _file: file })),
            }
        }
    }
    /// Claims a name, and waits for who holds it. For moments, not for runs.
    ///
    /// # Errors
    /// As [`Store::claim`].
    pub fn claim_waiting(&self, name: &str) -> Result<Claim, LabError> {
        loop {
            if let Some(claim) = self.claim(name)? {
                return Ok(claim);
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
}

/// Whether the path still names this open file.
#[cfg(unix)]
fn is_named(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}
#[cfg(not(unix))]
fn is_named(_: &File, path: &Path) -> bool {
    path.exists()
}
