//! A crash image as a file; or as a folder, where persistent memory consists of several files.

use fencepost_kernel::planted;
use fencepost_run::LabError;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that are written at once.
const PAGE: usize = 4096;

/// A file of an image: its name, and where its content lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) offset: usize,
    /// Its largest length.
    pub(crate) length: usize,
    /// Where the word lies that holds its length, if that changes.
    pub(crate) length_at: Option<usize>,
}

/// Persistent memory before the execution, and the files that it consists of.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    pub(crate) bytes: Arc<[u8]>,
    /// Never empty. With one the image is a file, with several a folder.
    pub(crate) parts: Arc<[Part]>,
}

impl Base {
    /// Memory as one nameless file.
    pub(crate) fn whole(bytes: Arc<[u8]>) -> Base {
        let part = Part {
            name: String::new(),
            offset: 0,
            length: bytes.len(),
            length_at: None,
        };
        Base {
            bytes,
            parts: [part].into(),
        }
    }
    /// Where a file of the image is, if `path` is the image.
    fn place(&self, path: &Path, part: &Part) -> PathBuf {
        match &*self.parts {
            [_] => path.to_owned(),
            _ => path.join(&part.name),
        }
    }
    /// The files of an image at `path`, and where their content lies.
    pub(crate) fn files(&self, path: &Path) -> Vec<(PathBuf, usize)> {
        self.parts.iter().map(|p| (self.place(path, p), p.offset)).collect()
    }
    /// How long a file is where these words differ from the base. Half of a length, where words tear, is no longer than the file ever was.
    pub(crate) fn length(&self, part: &Part, words: &[(u64, u64)]) -> usize {
        let Some(at) = part.length_at else {
            return part.length;
        };
        let stored = words.iter().find(|(offset, _)| *offset == at as u64).map(|w| w.1);
        let held = || Some(u64::from_le_bytes(self.bytes.get(at..at + 8)?.try_into().ok()?));
        let length = stored.or_else(held).and_then(|l| usize::try_from(l).ok());
        length.unwrap_or(part.length).min(part.length)
    }
    /// The words that hold lengths, as pieces of memory: whoever looks at a file reads them.
    pub(crate) fn length_words(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.parts.iter().filter_map(|p| Some((p.length_at? as u64, 8)))
    }
    /// Whether an image is a folder.
    pub(crate) fn is_folder(&self) -> bool {
        self.parts.len() > 1
    }
    /// Writes an image anew.
    pub(crate) fn write(&self, path: &Path, words: &[(u64, u64)]) -> Result<(), LabError> {
        ImageFile::new(path.to_owned(), self.clone()).write(words, false)
    }
}

/// The image that recovery gets: the memory before the execution, with some words changed.
pub(crate) struct ImageFile {
    path: PathBuf,
    base: Base,
    /// Of each part, pages of the base that are not all zero: the files are sparse.
    written: Vec<Vec<usize>>,
    /// Pages in which the files differ from the base, if it is known what they hold: part, number in the part.
    changed: Option<Vec<(usize, usize)>>,
    /// Bytes of the files as they were written.
    bytes: usize,
}

impl ImageFile {
    pub(crate) fn new(path: PathBuf, base: Base) -> ImageFile {
        let used = |p: &Part| {
            let pages = base.bytes[p.offset..p.offset + p.length].chunks(PAGE).enumerate();
            pages
                .filter(|(_, page)| page.iter().any(|b| *b != 0))
                .map(|(i, _)| i)
                .collect()
        };
        ImageFile {
            path,
            written: base.parts.iter().map(used).collect(),
            bytes: base.parts.iter().map(|p| p.length).sum(),
            base,
            changed: None,
        }
    }
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
    pub(crate) fn base(&self) -> &Base {
        &self.base
    }
    /// Bytes of its files.
    pub(crate) fn len(&self) -> usize {
        self.bytes
    }
    /// Writes the image. `untouched`: nobody has changed the files since they were last written.
    pub(crate) fn write(&mut self, words: &[(u64, u64)], untouched: bool) -> Result<(), LabError> {
        let pages = self.pages(words);
        let known = self.changed.take().filter(|_| untouched);
        if known.is_none() && self.base.is_folder() {
            // Recovery may have left more files there.
            let _ = std::fs::remove_dir_all(&self.path);
            std::fs::create_dir(&self.path).map_err(|e| LabError::file("create folder", &self.path, e))?;
        }
        self.bytes = 0;
        for (number, part) in self.base.parts.iter().enumerate() {
            let of_part = |(part, _): &&(usize, usize)| *part == number;
            // What was cut off is not there to be mended.
            let known = known.as_ref().filter(|_| part.length_at.is_none());
            let before = known.map(|all| all.iter().filter(of_part).map(|p| p.1).collect());
            let path = self.base.place(&self.path, part);
            let length = self.base.length(part, words);
            self.bytes += length;
            self.write_part(number, &path, &pages, before)
                .and_then(|file| file.set_len(length as u64))
                .map_err(|e| LabError::file("write", &path, e))?;
        }
        self.changed = Some(pages.into_keys().collect());
        Ok(())
    }
    fn write_part(
        &self,
        number: usize,
        path: &Path,
        pages: &BTreeMap<(usize, usize), Vec<u8>>,
        before: Option<Vec<usize>>,
    ) -> io::Result<File> {
        let part = &self.base.parts[number];
        let (file, restored) = match before {
            Some(before) => (File::options().write(true).open(path)?, before),
            None => {
                let file = File::create(path)?;
                file.set_len(part.length as u64)?;
                (file, self.written[number].clone())
            }
        };
        for page in restored.into_iter().filter(|p| !pages.contains_key(&(number, *p))) {
            file.write_all_at(self.base_page(part, page), (page * PAGE) as u64)?;
        }
        for ((_, page), bytes) in pages.range((number, 0)..(number + 1, 0)) {
            file.write_all_at(bytes, (page * PAGE) as u64)?;
        }
        Ok(file)
    }
    fn base_page(&self, part: &Part, page: usize) -> &[u8] {
        let end = ((page + 1) * PAGE).min(part.length);
        &self.base.bytes[part.offset + page * PAGE..part.offset + end]
    }
    /// The pages in which these words lie, with the words in place. Words in no file are left out.
    fn pages(&self, words: &[(u64, u64)]) -> BTreeMap<(usize, usize), Vec<u8>> {
        let mut pages = BTreeMap::new();
        let left_out = planted!("external.word-left-out", "an image holds every word of its crash state");
        for (offset, value) in words.iter().skip(usize::from(left_out)) {
            let offset = *offset as usize;
            let inside = |p: &Part| (p.offset..p.offset + p.length).contains(&offset);
            let Some(number) = self.base.parts.iter().position(inside) else {
                continue;
            };
            let part = &self.base.parts[number];
            let (page, at) = ((offset - part.offset) / PAGE, (offset - part.offset) % PAGE);
            let bytes = pages
                .entry((number, page))
                .or_insert_with(|| self.base_page(part, page).to_vec());
            // A file may end within a word.
            let end = bytes.len().min(at + 8);
            bytes[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
        }
        pages
    }
}

#[cfg(test)]
mod tests;
