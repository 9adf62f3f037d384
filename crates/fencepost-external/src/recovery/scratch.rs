//! Where images lie while they are judged.

use fencepost_run::LabError;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder for images that goes when it is dropped: in memory, where the system has such a place. One that a killed process
/// left there goes when the next is made: its lock is free.
pub(crate) struct Scratch {
    folder: PathBuf,
    _lock: File,
}

const NAME: &str = "fencepost-";
const LOCK: &str = "lock";

impl Scratch {
    pub(crate) fn new() -> Result<Scratch, LabError> {
        let mut why = None;
        for place in [PathBuf::from("/dev/shm"), std::env::temp_dir()] {
            match Scratch::within(&place) {
                Ok(scratch) => return Ok(scratch),
                Err(e) => why = Some(LabError::file("create folder in", &place, e)),
            }
        }
        Err(why.unwrap_or_else(|| LabError::Internal("no temporary folder".into())))
    }
    fn within(place: &Path) -> io::Result<Scratch> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        clear(place);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", std::process::id());
        // It has its name only once it is locked, so that nobody takes it for left behind.
        let (new, folder) = (
            place.join(format!("new-{NAME}{name}")),
            place.join(format!("{NAME}{name}")),
        );
        std::fs::create_dir(&new)?;
        let lock = File::create(new.join(LOCK))?;
        lock.lock()?;
        std::fs::rename(&new, &folder)?;
        Ok(Scratch { folder, _lock: lock })
    }
    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }
}
impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Removes folders whose process was killed.
fn clear(place: &Path) {
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(NAME) {
            continue;
        }
        let free = File::open(entry.path().join(LOCK)).is_ok_and(|f| f.try_lock().is_ok());
        if free {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn what_a_killed_process_left_goes_and_nothing_else() {
        let place = std::env::temp_dir().join(format!("scratch-test-{}", std::process::id()));
        std::fs::create_dir(&place).unwrap();
        let left = place.join(format!("{NAME}1-0"));
        std::fs::create_dir(&left).unwrap();
        std::fs::write(left.join(LOCK), "").unwrap();
        let other = place.join(format!("{NAME}other"));
        std::fs::create_dir(&other).unwrap();
        let alive = Scratch::within(&place).unwrap();
        let second = Scratch::within(&place).unwrap();
        assert!(alive.path().exists() && second.path().exists() && other.exists() && !left.exists());
        drop((alive, second));
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 1);
        std::fs::remove_dir_all(place).unwrap();
    }
}
