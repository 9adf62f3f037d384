//! The persistent files: which descriptor is which, and what they held.

use fencepost_record::{Event, Shared, pieces};
use rustix::fs::SeekFrom;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

/// Pages as which contents are kept.
const PAGE: u64 = 4096;
/// Most bytes of content, holes not counted, that are compared or taken down at once.
const MOST_CONTENT: u64 = 256 << 20;
/// Most bytes of a file, holes counted: what crash images may have.
const MOST_LENGTH: u64 = 1 << 32;

/// The persistent files.
pub(crate) struct Files {
    paths: Vec<PathBuf>,
    shared: &'static Shared,
}

/// A descriptor of the program, which is one of this process.
pub(crate) fn descriptor(fd: u64) -> String {
    format!("/proc/self/fd/{}", fd as i32)
}
/// Position and flags of a descriptor.
pub(crate) fn position(fd: u64) -> Option<(u64, u64)> {
    let about = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", fd as i32)).ok()?;
    let field = |name: &str| about.lines().find_map(|l| l.strip_prefix(name)).map(str::trim);
    let flags = u64::from_str_radix(field("flags:")?, 8).ok()?;
    Some((field("pos:")?.parse().ok()?, flags))
}

impl Files {
    pub(crate) fn new(paths: Vec<PathBuf>, shared: &'static Shared) -> Files {
        Files { paths, shared }
    }
    /// The persistent file behind a descriptor.
    pub(crate) fn of(&self, fd: u64) -> Option<usize> {
        let about = std::fs::metadata(descriptor(fd)).ok()?;
        (0..self.paths.len()).find(|k| self.is(*k, &about))
    }
    fn is(&self, k: usize, about: &Metadata) -> bool {
        let identity = (about.dev(), about.ino());
        match self.touched(k) {
            true => self.identity(k) == identity,
            false => std::fs::metadata(&self.paths[k]).is_ok_and(|m| (m.dev(), m.ino()) == identity),
        }
    }
    fn identity(&self, k: usize) -> (u64, u64) {
        let file = &self.shared.files[k];
        (file.device.load(Relaxed), file.inode.load(Relaxed))
    }
    /// Whether everything done to a file counts.
    pub(crate) fn touched(&self, k: usize) -> bool {
        self.shared.files[k].touched.load(Relaxed) != 0
    }
    /// All files of which everything counts.
    pub(crate) fn all_touched(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.paths.len()).filter(|k| self.touched(*k))
    }
    /// The files of which everything counts that `sync` makes durable, or `syncfs` with this descriptor: those of its file system.
    pub(crate) fn synced_with(&self, syncfs: Option<u64>) -> Vec<usize> {
        let device = syncfs.and_then(|fd| Some(std::fs::metadata(descriptor(fd)).ok()?.dev()));
        let there = |k: &usize| syncfs.is_none() || device == Some(self.identity(*k).0);
        self.all_touched().filter(there).collect()
    }
    /// Takes down what a file holds, the first time that it is written or mapped. The lines for the journal.
    pub(crate) fn touch(&self, k: usize, fd: u64) -> Result<String, String> {
        if self.touched(k) {
            return Ok(self.measure(k));
        }
        let about = std::fs::metadata(descriptor(fd)).map_err(|e| self.because(k, &e))?;
        let file = &self.shared.files[k];
        file.device.store(about.dev(), Relaxed);
        file.inode.store(about.ino(), Relaxed);
        file.touched.store(1, Relaxed);
        self.shared.begun.store(1, Relaxed);
        let mut lines = self.measure(k);
        self.begins_with(k, about.len());
        // Only what is new is laid out first.
        file.laid_out.store(u32::from(about.len() > 0), Relaxed);
        if about.is_file() {
            let held = self.held(k)?;
            // Before the region of interest only what it starts from matters.
            if self.shared.inside.load(Relaxed) != 0 {
                lines += &held;
            }
        }
        Ok(lines)
    }
    /// What a file holds now, as lines for the journal.
    pub(crate) fn held(&self, k: usize) -> Result<String, String> {
        let mut lines = String::new();
        for (at, page) in self.content(k, 0, u64::MAX)?.0 {
            for (i, word) in page.chunks(8).enumerate() {
                let mut bytes = [0; 8];
                bytes[..word.len()].copy_from_slice(word);
                match u64::from_le_bytes(bytes) {
                    0 => {}
                    value => lines += &format!("initial f{k}+{:#x} {value:#x}\n", at + i as u64 * 8),
                }
            }
        }
        Ok(lines)
    }
    /// Notes how long a file is now. The line for the journal, if it was never that long.
    pub(crate) fn measure(&self, k: usize) -> String {
        let length = std::fs::metadata(&self.paths[k]).map_or(0, |m| m.len());
        self.reaches(k, length)
    }
    /// Notes that a file reaches so far.
    pub(crate) fn reaches(&self, k: usize, length: u64) -> String {
        match self.shared.files[k].length.fetch_max(length, Relaxed) < length {
            true => format!("size {k} {length}\n"),
            false => String::new(),
        }
    }
    /// The largest length that a file had.
    pub(crate) fn length(&self, k: usize) -> u64 {
        self.shared.files[k].length.load(Relaxed)
    }
    /// Its length now.
    pub(crate) fn length_now(&self, k: usize) -> u64 {
        std::fs::metadata(&self.paths[k]).map_or(0, |m| m.len())
    }
    /// A file has this length when what happens to it begins to count.
    pub(crate) fn begins_with(&self, k: usize, length: u64) {
        self.shared.files[k].first_length.store(length, Relaxed);
    }
    /// A file has another length: whether that is an event. What it grows before it is used is how it is laid out, and it starts from
    /// what it is when the region of interest begins.
    pub(crate) fn resized(&self, k: usize, was: u64, is: u64, stored: bool) -> bool {
        let file = &self.shared.files[k];
        let counts = self.shared.inside.load(Relaxed) != 0;
        if stored || is < was {
            file.laid_out.store(1, Relaxed);
        }
        if is == was {
            return false;
        }
        if !counts || file.laid_out.load(Relaxed) == 0 {
            self.begins_with(k, is);
            return false;
        }
        file.length_pending.store(1, Relaxed);
        true
    }
    /// A file is mapped to be written: what it has of length is laid out. A fault in persistent memory (`MAP_SYNC`) makes it durable.
    /// Whether it was not.
    pub(crate) fn is_used(&self, k: usize) -> bool {
        self.shared.files[k].laid_out.store(1, Relaxed);
        self.length_is_durable(k)
    }
    /// The length of a file is durable; whether it was not.
    pub(crate) fn length_is_durable(&self, k: usize) -> bool {
        self.shared.files[k].length_pending.swap(0, Relaxed) != 0
    }
    /// Whether a file that counts is no longer what its path names.
    pub(crate) fn displaced(&self) -> Option<usize> {
        let there = |k: usize| std::fs::metadata(&self.paths[k]).is_ok_and(|m| (m.dev(), m.ino()) == self.identity(k));
        self.all_touched().find(|k| !there(*k))
    }
    /// Whether a path belongs to a persistent file by its name: `pool-lock` to `pool`.
    pub(crate) fn is_beside(&self, path: &str) -> bool {
        let prefix = |p: &PathBuf| path.len() > p.as_os_str().len() && path.starts_with(&*p.to_string_lossy());
        self.paths.iter().any(prefix)
    }
    fn because(&self, k: usize, why: &dyn std::fmt::Display) -> String {
        format!("{}: {why}", self.paths[k].display())
    }

    /// What a range of a file holds now.
    pub(crate) fn content(&self, k: usize, from: u64, to: u64) -> Result<Content, String> {
        let file = File::open(&self.paths[k]).map_err(|e| self.because(k, &e))?;
        let length = file.metadata().map_or(0, |m| m.len());
        if length > MOST_LENGTH {
            let most = MOST_LENGTH >> 30;
            return Err(self.because(
                k,
                &format!("a file of {length} bytes is too large: images have at most {most} GiB"),
            ));
        }
        let (mut content, mut read) = (Content::default(), 0);
        let (mut at, end) = (from, to.min(length));
        while at < end {
            // Holes are skipped where the file system knows them.
            let next = match rustix::fs::seek(&file, SeekFrom::Data(at)) {
                Ok(next) => next.max(at),
                Err(rustix::io::Errno::NXIO) => break,
                Err(_) => at,
            };
            if next >= end {
                break;
            }
            let stop = (next / PAGE * PAGE + PAGE).min(end);
            let mut bytes = vec![0; (stop - next) as usize];
            file.read_exact_at(&mut bytes, next).map_err(|e| self.because(k, &e))?;
            read += bytes.len() as u64;
            if read > MOST_CONTENT {
                return Err(self.because(k, &format!("more than {} MiB of content", MOST_CONTENT >> 20)));
            }
            if bytes.iter().any(|b| *b != 0) {
                let mut page = vec![0; (next % PAGE) as usize];
                page.extend(bytes);
                content.0.insert(next / PAGE * PAGE, page);
            }
            at = stop;
        }
        Ok(content)
    }
}

/// What a range of a file holds: pages that are not all zero, by their offsets. What lies outside the range is zero in them.
#[derive(Default)]
pub(crate) struct Content(BTreeMap<u64, Vec<u8>>);

impl Content {
    /// The stores to file `k` that make `self` of `before`, each for an aligned piece of a word.
    pub(crate) fn stores_since(&self, before: &Content, k: usize) -> Vec<Event> {
        let pages: BTreeSet<u64> = self.0.keys().chain(before.0.keys()).copied().collect();
        let mut stores = Vec::new();
        for page in pages {
            let word = |content: &Content, at: usize| {
                let mut bytes = [0; 8];
                let found = content.0.get(&page).and_then(|p| p.get(at..)).unwrap_or_default();
                let found = &found[..found.len().min(8)];
                bytes[..found.len()].copy_from_slice(found);
                bytes
            };
            for at in (0..PAGE as usize).step_by(8) {
                let (new, old) = (word(self, at), word(before, at));
                let Some(first) = (0..8).find(|i| new[*i] != old[*i]) else {
                    continue;
                };
                let last = (0..8).rfind(|i| new[*i] != old[*i]).unwrap_or(first);
                let whole = first == 0 && last == 7;
                let (from, length) = if whole {
                    (0, 8)
                } else {
                    (first as u64, (last - first + 1) as u64)
                };
                stores.extend(pieces(page + at as u64 + from, length).map(|(offset, bytes)| {
                    let mut value = [0; 8];
                    let start = (offset % 8) as usize;
                    value[..bytes as usize].copy_from_slice(&new[start..start + bytes as usize]);
                    store(k, offset, u64::from_le_bytes(value), bytes)
                }));
            }
        }
        stores
    }
}

/// A store by the system: what it copies is durable by a sync only, as far as the program may rely on it.
pub(crate) fn store(file: usize, offset: u64, value: u64, bytes: u64) -> Event {
    Event::Store {
        file,
        offset,
        value,
        bytes: bytes as u8,
        non_temporal: false,
    }
}
