//! Result folders: files appear whole or not at all.

use crate::error::LabError;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A folder that results are written to.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}
impl Store {
    /// Creates the folder if needed and makes sure that it can be written, before any work is done.
    pub fn open(root: &Path) -> Result<Store, LabError> {
        fs::create_dir_all(root).map_err(|e| LabError::file("create folder", root, e))?;
        let store = Store { root: root.to_owned() };
        let probe = root.join(format!(".probe-{}", std::process::id()));
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
    /// Writes a file completely, then moves it to its name; a process killed in between leaves no half file there.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), LabError> {
        let target = self.path(name);
        let folder = target.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(|e| LabError::file("create folder", folder, e))?;
        let file = target.file_name().unwrap_or_default().to_string_lossy();
        let partial = folder.join(format!(".{file}.partial-{}", std::process::id()));
        let result = write_synced(&partial, bytes).and_then(|()| fs::rename(&partial, &target));
        result.map_err(|e| {
            let _ = fs::remove_file(&partial);
            LabError::file("write", &target, e)
        })
    }
    /// The text of a file, if it exists and can be read.
    pub fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn writes_whole_files_and_leaves_nothing_else() {
        let dir = std::env::temp_dir().join(format!("fencepost-store-{}", std::process::id()));
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
    fn a_file_in_the_way_is_a_clear_error() {
        let path = std::env::temp_dir().join(format!("fencepost-store-file-{}", std::process::id()));
        fs::write(&path, b"").unwrap();
        let e = Store::open(&path).unwrap_err();
        assert_eq!(e.exit_code(), 2);
        fs::remove_file(&path).unwrap();
    }
}
