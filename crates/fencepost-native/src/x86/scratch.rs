//! Temporary files: removed when their owner is dropped, and when a signal ends the process.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The temporary files of this process.
static OWNED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn owned() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    OWNED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A path in the temporary folder that this process has not used before. Whatever is there is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// A path for a file that holds `what`.
    pub(super) fn new(what: &str) -> Scratch {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("fencepost-{what}-{}-{n}", std::process::id()));
        owned().insert(path.clone());
        Scratch(path)
    }
    /// The path.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}
impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
        owned().remove(&self.0);
    }
}

/// Whether a path is that of a temporary file of this process. A process that was given the path by another one does not make the file: it
/// would remain if the other one has just been interrupted.
pub(super) fn is_own(path: &Path) -> bool {
    owned().contains(path)
}

/// Removes all temporary files of this process, which ends next.
pub fn remove_temporary_files() {
    let owned = owned();
    for path in &*owned {
        let _ = std::fs::remove_file(path);
    }
    // No further one is begun.
    std::mem::forget(owned);
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_temporary_file_goes_with_its_owner() {
        let scratch = Scratch::new("scratch-test");
        let path = scratch.path().to_owned();
        std::fs::write(&path, "held").unwrap();
        assert!(is_own(&path));
        drop(scratch);
        assert!(!is_own(&path) && !path.exists());
    }
}
