//! A crash image as a file.

use fencepost_run::LabError;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that are written at once.
const PAGE: usize = 4096;

/// The file that recovery gets: the memory before the execution, with some words changed.
pub(crate) struct ImageFile {
    path: PathBuf,
    base: Arc<[u8]>,
    /// Runs of pages of the base that are not all zero: the file is sparse.
    written: Vec<(usize, usize)>,
    /// Pages in which the file differs from the base, if it is known what it holds.
    changed: Option<Vec<usize>>,
}

impl ImageFile {
    pub(crate) fn new(path: PathBuf, base: Arc<[u8]>) -> ImageFile {
        let mut written: Vec<(usize, usize)> = Vec::new();
        for (i, page) in base.chunks(PAGE).enumerate() {
            if page.iter().all(|b| *b == 0) {
                continue;
            }
            match written.last_mut() {
                Some((_, end)) if *end == i => *end += 1,
                _ => written.push((i, i + 1)),
            }
        }
        ImageFile {
            path,
            base,
            written,
            changed: None,
        }
    }
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
    pub(crate) fn len(&self) -> usize {
        self.base.len()
    }
    /// Writes the image. `untouched`: nobody has changed the file since it was last written.
    pub(crate) fn write(&mut self, words: &[(u64, u64)], untouched: bool) -> Result<(), LabError> {
        let pages = self.pages(words);
        let put = |file: &File| -> io::Result<()> {
            for (page, bytes) in &pages {
                file.write_all_at(bytes, (page * PAGE) as u64)?;
            }
            Ok(())
        };
        let known = self.changed.take().filter(|_| untouched);
        let done = match known {
            Some(before) => File::options().write(true).open(&self.path).and_then(|file| {
                for page in before.into_iter().filter(|p| !pages.contains_key(p)) {
                    file.write_all_at(self.base_page(page), (page * PAGE) as u64)?;
                }
                put(&file)
            }),
            None => File::create(&self.path).and_then(|file| {
                file.set_len(self.base.len() as u64)?;
                for (from, to) in &self.written {
                    let end = (to * PAGE).min(self.base.len());
                    file.write_all_at(&self.base[from * PAGE..end], (from * PAGE) as u64)?;
                }
                put(&file)
            }),
        };
        done.map_err(|e| LabError::file("write", &self.path, e))?;
        self.changed = Some(pages.into_keys().collect());
        Ok(())
    }
    fn base_page(&self, page: usize) -> &[u8] {
        &self.base[page * PAGE..((page + 1) * PAGE).min(self.base.len())]
    }
    /// The pages in which these words lie, with the words in place.
    fn pages(&self, words: &[(u64, u64)]) -> BTreeMap<usize, Vec<u8>> {
        let mut pages = BTreeMap::new();
        for (offset, value) in words {
            let (page, at) = (*offset as usize / PAGE, *offset as usize % PAGE);
            let bytes = pages.entry(page).or_insert_with(|| self.base_page(page).to_vec());
            if let Some(place) = bytes.get_mut(at..at + 8) {
                place.copy_from_slice(&value.to_le_bytes());
            }
        }
        pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_file_holds_the_image_whether_rewritten_or_mended() {
        let path = std::env::temp_dir().join(format!("fencepost-image-{}", std::process::id()));
        let mut base = vec![0u8; 5 * PAGE];
        base[2 * PAGE + 3] = 7;
        let mut file = ImageFile::new(path.clone(), base.clone().into());
        let states: [&[(u64, u64)]; 4] = [&[(0, 1), (8200, 5)], &[], &[(4096, u64::MAX)], &[(20472, 9)]];
        for (i, words) in states.iter().enumerate() {
            let mut wanted = base.clone();
            for (at, v) in *words {
                wanted[*at as usize..*at as usize + 8].copy_from_slice(&v.to_le_bytes());
            }
            file.write(words, i != 2).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), wanted, "{i}");
            if i == 1 {
                std::fs::write(&path, b"spoiled by recovery").unwrap();
            }
        }
        std::fs::remove_file(path).unwrap();
    }
}
