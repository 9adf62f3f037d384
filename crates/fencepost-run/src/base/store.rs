//! Result folders: one process at a time, and files appear whole or not at all.

use crate::error::{BadInput, LabError};
use fs4::TryLockError;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Ending of files that are being written.
const PARTIAL: &str = ".fencepost-partial";

/// Held while a file is written, so that an orderly end of the process does not cut a write short.
static WRITING: Mutex<()> = Mutex::new(());

/// Waits for the file that is being written, and lets no other begin. For the moment before the process ends.
pub fn finish_writing() {
    std::mem::forget(WRITING.lock());
}

/// A folder that results are written to. While it lives, no other process can open the folder.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    /// The folder, locked; `None` where the system does not lock folders.
    _lock: Option<Arc<File>>,
}
impl Store {
    /// Creates the folder if needed, locks it, removes what an interrupted write left there, and makes sure that the
    /// folder can be written before any work is done.
    ///
    /// # Errors
    /// The folder cannot be created or written, or another process works in it.
    pub fn open(root: &Path) -> Result<Store, LabError> {
        fs::create_dir_all(root).map_err(|e| LabError::file("create folder", root, e))?;
        let store = Store {
            root: root.to_owned(),
            _lock: locked(root)?,
        };
        for folder in [root.to_owned(), root.join("runs")] {
            remove_partial(&folder);
        }
        let probe = root.join(format!(".probe{PARTIAL}"));
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
    /// absent there.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), LabError> {
        let _writing = WRITING.lock().unwrap_or_else(|e| e.into_inner());
        let target = self.path(name);
        let folder = target.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(|e| LabError::file("create folder", folder, e))?;
        let file = target.file_name().unwrap_or_default().to_string_lossy();
        let partial = folder.join(format!(".{file}{PARTIAL}"));
        let result = write_synced(&partial, bytes).and_then(|()| fs::rename(&partial, &target));
        result.map_err(|e| {
            let _ = fs::remove_file(&partial);
            LabError::file("write", &target, e)
        })?;
        // The new name itself is durable with its folder; systems that cannot sync one lose a run at most.
        let _ = File::open(folder).and_then(|f| f.sync_all());
        Ok(())
    }
    /// The text of a file, if it exists and can be read.
    pub fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }
}

fn locked(root: &Path) -> Result<Option<Arc<File>>, LabError> {
    let Ok(folder) = File::open(root) else {
        return Ok(None);
    };
    match fs4::FileExt::try_lock(&folder) {
        Ok(()) => Ok(Some(Arc::new(folder))),
        Err(TryLockError::WouldBlock) => {
            let e = BadInput::new(format!("another process works in {}", root.display()));
            Err(e
                .hint("wait until it has finished, or name another folder with -o")
                .into())
        }
        Err(TryLockError::Error(_)) => Ok(None),
    }
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

fn write_synced(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;
    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("fencepost-store-{name}-{}", std::process::id()))
    }
    #[test]
    fn writes_whole_files_and_leaves_nothing_else() {
        let dir = folder("whole");
        let store = Store::open(&dir).unwrap();
        store.write("runs/a.json", b"1").unwrap();
        store.write("runs/a.json", b"22").unwrap();
        assert_eq!(store.read("runs/a.json").unwrap(), "22");
        assert_eq!(store.read("runs/b.json"), None);
        let names: Vec<_> = fs::read_dir(dir.join("runs"))
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(names, ["a.json"]);
        fs::remove_dir_all(&dir).unwrap();
    }
    #[test]
    fn what_an_interrupted_write_left_is_removed() {
        let dir = folder("left");
        fs::create_dir_all(dir.join("runs")).unwrap();
        let left = dir.join(format!("runs/.a.json{PARTIAL}"));
        fs::write(&left, b"{\"half\":").unwrap();
        let _store = Store::open(&dir).unwrap();
        assert!(!left.exists());
        fs::remove_dir_all(&dir).unwrap();
    }
    #[cfg(unix)]
    #[test]
    fn a_folder_has_one_user_at_a_time() {
        let dir = folder("lock");
        let first = Store::open(&dir).unwrap();
        let e = Store::open(&dir).unwrap_err();
        assert!(e.exit_code() == 2 && e.to_string().contains("another process"), "{e}");
        drop(first);
        drop(Store::open(&dir).unwrap());
        fs::remove_dir_all(&dir).unwrap();
    }
    #[test]
    fn a_file_in_the_way_is_a_clear_error() {
        let path = folder("file");
        fs::write(&path, b"").unwrap();
        let e = Store::open(&path).unwrap_err();
        assert_eq!(e.exit_code(), 2);
        fs::remove_file(&path).unwrap();
    }
}
