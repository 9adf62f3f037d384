//! Result folders: several processes may work in one at a time, files appear whole or not at all, and no command overwrites what
//! another one left.
//!
//! A folder holds `runs/` (a result and its configuration each), `host/` (what the runs cost on each host), `store.json` (the version of
//! this layout, and whose the documents beside it are) and, while processes work there, `claims/`.

mod claim;
mod documents;

pub use claim::Claim;
pub use documents::{FORMAT, Of};

use crate::error::LabError;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// The folder of claims.
const CLAIMS: &str = "claims";

/// Ending of files that are being written.
const PARTIAL: &str = ".fencepost-partial";

/// Shared by all who write a file, so that an orderly end of the process does not cut a write short.
static WRITING: RwLock<()> = RwLock::new(());

/// Waits for the files that are being written, and lets no other begin. For the moment before the process ends.
pub fn finish_writing() {
    std::mem::forget(WRITING.write());
}

/// A folder that results are written to.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    _at_work: Arc<AtWork>,
}

/// Being at work in a folder, among others.
#[derive(Debug)]
struct AtWork {
    claims: PathBuf,
    /// The folder, with a lock that all who work there share; `None` where the system does not lock folders.
    _lock: Option<File>,
}
impl Drop for AtWork {
    fn drop(&mut self) {
        // It stays while others have claims.
        let _ = fs::remove_dir(&self.claims);
    }
}
impl Store {
    /// Creates the folder if needed, removes what interrupted writes left there if nobody else works in it, and makes sure that the
    /// folder can be written before any work is done.
    ///
    /// # Errors
    /// The folder cannot be created or written, or a newer version of fencepost laid it out.
    pub fn open(root: &Path) -> Result<Store, LabError> {
        fs::create_dir_all(root).map_err(|e| LabError::file("create folder", root, e))?;
        let store = Store {
            root: root.to_owned(),
            _at_work: Arc::new(AtWork {
                claims: root.join(CLAIMS),
                _lock: shared(root),
            }),
        };
        store.check_format()?;
        let probe = root.join(format!(".probe.{}{PARTIAL}", unique()));
        fs::write(&probe, b"").map_err(|e| LabError::file("write into folder", root, e))?;
        let _ = fs::remove_file(probe);
        Ok(store)
    }
    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }
    /// Path of a file below the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
    /// Writes a file completely, then moves it to its name: a process killed at any moment leaves the file whole or
    /// absent there, and so does the host when its power fails.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), LabError> {
        self.put(name, bytes, File::sync_data)?;
        // The new name itself is durable with its folder; systems that cannot sync one lose a file at most.
        let folder = self.path(name);
        let _ = File::open(folder.parent().unwrap_or(&self.root)).and_then(|f| f.sync_all());
        Ok(())
    }
    /// The same without waiting for the disk, for what there is much of and what can be made again: a process killed at any moment leaves
    /// the file whole or absent, but if the power fails, files of the last seconds may be torn or missing, whichever was written first.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_soon(&self, name: &str, bytes: &[u8]) -> Result<(), LabError> {
        self.put(name, bytes, |_| Ok(()))
    }
    fn put(&self, name: &str, bytes: &[u8], sync: fn(&File) -> std::io::Result<()>) -> Result<(), LabError> {
        let _writing = WRITING.read().unwrap_or_else(|e| e.into_inner());
        let target = self.path(name);
        let folder = target.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(|e| LabError::file("create folder", folder, e))?;
        let file = target.file_name().unwrap_or_default().to_string_lossy();
        let partial = folder.join(format!(".{file}.{}{PARTIAL}", unique()));
        let fill = |mut file: File| file.write_all(bytes).and_then(|()| sync(&file));
        let result = File::create(&partial)
            .and_then(fill)
            .and_then(|()| fs::rename(&partial, &target));
        result.map_err(|e| {
            let _ = fs::remove_file(&partial);
            LabError::file("write", &target, e)
        })
    }
    /// Adds a line to a file in one write, so that lines of several processes do not mix. It may be lost with the power.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&self, name: &str, line: &str) -> Result<(), LabError> {
        let _writing = WRITING.read().unwrap_or_else(|e| e.into_inner());
        let target = self.path(name);
        let failed = |e| LabError::file("write", &target, e);
        fs::create_dir_all(target.parent().unwrap_or(&self.root)).map_err(failed)?;
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(&target)
            .map_err(failed)?;
        file.write_all(format!("{line}\n").as_bytes()).map_err(failed)
    }
    /// The text of a file, if it exists and can be read.
    pub fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }
}

/// A part of a file's name that no other write has, of this process or another one.
fn unique() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{now:x}-{n}", std::process::id())
}

/// Shares the folder's lock with others. Who finds itself alone removes what interrupted writes left.
fn shared(root: &Path) -> Option<File> {
    let folder = File::open(root).ok()?;
    if fs4::FileExt::try_lock(&folder).is_ok() {
        for folder in [root.to_owned(), root.join("runs"), root.join("sweeps")] {
            remove_partial(&folder);
        }
        let _ = fs::remove_dir_all(root.join(CLAIMS));
        fs4::FileExt::unlock(&folder).ok()?;
    }
    fs4::FileExt::lock_shared(&folder).ok()?;
    Some(folder)
}

fn remove_partial(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(PARTIAL) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests;
