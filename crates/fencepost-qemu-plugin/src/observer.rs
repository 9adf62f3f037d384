//! What a recovery reads of its image: `image=FILE,reads=FILE`.
//!
//! Every load of a byte that the program has not stored itself is noted, through any mapping of the image, and the range of
//! every `read`. Whatever else could have read the image (another process, another thread, a system call that is not known)
//! makes it "everything"; see [`fencepost_record::Reads`].

use fencepost_record::{Call, Mapping, Mappings, Reads, View, arity, call, reads_all};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::guest;
use crate::served::Served;

/// An observation in progress.
pub(crate) struct Observer {
    /// The files of the image, as they are named.
    named: Vec<(u64, String)>,
    images: Mutex<Vec<ImageFile>>,
    /// Where the reads are written at the end.
    to: String,
    /// The process that is observed; a forked child notes nothing.
    process: AtomicU32,
    /// Whether it is one program for many images.
    served: Option<Served>,
    /// Lowest and highest address of a mapping of the image.
    span: [AtomicU64; 2],
    inner: Mutex<Inner>,
}
/// A file of the image.
struct ImageFile {
    device: u64,
    inode: u64,
    /// Where its content begins in persistent memory.
    offset: u64,
    length: u64,
}
struct Inner {
    reads: Reads,
    mappings: Mappings,
    private: u32,
    /// Arguments of the system call under way, and the position of the descriptor that it reads.
    under_way: ([u64; 6], Option<u64>),
}

const MMAP: i64 = 9;

impl Observer {
    /// Starts observing the reads of the files of an image, given with the offsets of their content in persistent memory; they
    /// are written to `to`.
    pub(crate) fn new(named: &[(u64, &str)], to: &str, served: Option<Served>) -> Result<Observer, String> {
        let named: Vec<(u64, String)> = named.iter().map(|(at, path)| (*at, (*path).to_owned())).collect();
        let images = files(&named)?;
        let length = images.iter().map(|i| i.offset + i.length).max().unwrap_or(0);
        Ok(Observer {
            images: Mutex::new(images),
            named,
            served,
            to: to.to_owned(),
            process: AtomicU32::new(std::process::id()),
            span: [AtomicU64::new(u64::MAX), AtomicU64::new(0)],
            inner: Mutex::new(Inner {
                reads: Reads::new(length),
                mappings: Mappings::new(),
                private: 0,
                under_way: ([0; 6], None),
            }),
        })
    }
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Whether one of these addresses may be of a mapping of the image.
    pub(crate) fn may_be_image(&self, from: u64, to: u64) -> bool {
        to > self.span[0].load(Relaxed) && from < self.span[1].load(Relaxed)
    }

    /// After a memory access.
    pub(crate) fn memory(&self, store: bool, bytes: u64, address: u64) {
        let mut inner = self.lock();
        let Inner { reads, mappings, .. } = &mut *inner;
        let mut note = |at: u64, bytes: u64| {
            let Some(m) = mappings.find(at) else {
                return false;
            };
            let (offset, whole) = (m.offset + (at - m.start), at + bytes <= m.start + m.length);
            match (whole, store) {
                (false, _) => {}
                (true, true) => reads.store(m.view, offset, bytes),
                (true, false) => reads.load(m.view, offset, bytes),
            }
            whole
        };
        // An access may begin before a mapping or reach over its end.
        if !note(address, bytes) {
            for at in address..address.saturating_add(bytes) {
                note(at, 1);
            }
        }
    }
    /// A block of instructions was translated.
    pub(crate) fn translated(&self, at: u64) {
        if let Some(served) = &self.served {
            served.translated(at);
        }
    }
    /// A copy of the program begins, with an image of its own.
    fn begin(&self) {
        self.process.store(std::process::id(), Relaxed);
        if let (Ok(new), Ok(mut images)) = (files(&self.named), self.images.lock()) {
            *images = new;
        }
    }
    /// Before a system call.
    pub(crate) fn call(&self, number: i64, arguments: [u64; 6]) {
        if std::process::id() != self.process.load(Relaxed) {
            return;
        }
        if self.served.as_ref().is_some_and(|s| s.copied(number, &arguments)) {
            self.begin();
        }
        let mut inner = self.lock();
        let all = match call(number) {
            Call::Mapping | Call::Quiet => None,
            Call::Read | Call::ReadAt => {
                let path = std::fs::read_link(descriptor(arguments[0])).unwrap_or_default();
                let own_memory = path.starts_with("/proc") && path.ends_with("mem");
                own_memory.then(|| "it reads its own memory as a file".to_owned())
            }
            Call::Memory => self
                .points_there(&inner.mappings, number, arguments)
                .then(|| format!("system call {number} is given an address of the image")),
            Call::WritePieces => self
                .names_pieces(&inner.mappings, arguments)
                .then(|| "a system call writes pieces of the image".to_owned()),
            Call::Control => reads_all(number, &arguments).then(|| format!("system call {number} is not followed")),
            Call::Start => Some("it starts a process or a thread".to_owned()),
            Call::Unknown => Some(format!("system call {number} is not followed")),
        };
        // Giving memory back to the system is common, and only matters where the image is mapped.
        const MADVISE: i64 = 28;
        let elsewhere = number == MADVISE && !self.may_be_image(arguments[0], arguments[0].wrapping_add(arguments[1]));
        if let Some(why) = all.filter(|_| !elsewhere) {
            inner.reads.everything(&why);
            // After the start of another program in this process there is no end to write at.
            let _ = std::fs::write(&self.to, inner.reads.text());
        }
        let position = (call(number) == Call::Read).then(|| position(arguments[0])).flatten();
        inner.under_way = (arguments, position);
    }
    fn points_there(&self, mappings: &Mappings, number: i64, arguments: [u64; 6]) -> bool {
        let mut there = arguments
            .into_iter()
            .take(arity(number))
            .filter(|a| self.may_be_image(*a, a.wrapping_add(1)));
        there.any(|a| mappings.find(a).is_some())
    }
    /// Whether one of the pieces of memory in an array of (address, length) is of the image.
    fn names_pieces(&self, mappings: &Mappings, arguments: [u64; 6]) -> bool {
        guest::pieces(arguments[1], arguments[2])
            .into_iter()
            .filter(|(at, n)| self.may_be_image(*at, at.wrapping_add(*n)))
            .any(|(at, n)| mappings.find(at).is_some() || mappings.find(at.wrapping_add(n)).is_some())
    }
    /// After a system call.
    pub(crate) fn call_returned(&self, number: i64, result: i64) {
        let mut inner = self.lock();
        let (arguments, position) = inner.under_way;
        match call(number) {
            Call::Read | Call::ReadAt if result > 0 => {
                let Some(base) = self.image(arguments[0]) else {
                    return;
                };
                let from = position.or((call(number) == Call::ReadAt).then_some(arguments[3]));
                match from {
                    Some(from) => inner.reads.range(base + from, result as u64),
                    None => inner.reads.everything("the position of a read is not known"),
                }
            }
            Call::Mapping if !(-4096..0).contains(&result) => {
                match number {
                    MMAP => self.mapped(&mut inner, result as u64, arguments),
                    _ => inner.mappings.remove(arguments[0], arguments[1]),
                }
                let (from, to) = inner.mappings.span();
                self.span[0].store(from, Relaxed);
                self.span[1].store(to, Relaxed);
            }
            _ => {}
        }
    }
    fn mapped(&self, inner: &mut Inner, start: u64, [_, length, _, flags, fd, offset]: [u64; 6]) {
        const ANONYMOUS: u64 = 0x20;
        const SHARED_KINDS: u64 = 3; // MAP_SHARED is 1, MAP_PRIVATE 2, MAP_SHARED_VALIDATE 3
        let length = length.next_multiple_of(4096);
        let Some(base) = self.image(fd).filter(|_| flags & ANONYMOUS == 0) else {
            inner.mappings.remove(start, length);
            return;
        };
        let view = match flags & SHARED_KINDS == 2 {
            true => View::Private(inner.private),
            false => View::Shared,
        };
        inner.private += 1;
        inner.mappings.add(Mapping {
            start,
            length,
            file: 0,
            offset: base + offset,
            view,
        });
    }
    /// Where the content of a file begins in persistent memory, if it is one of the image.
    fn image(&self, fd: u64) -> Option<u64> {
        let about = std::fs::metadata(descriptor(fd)).ok()?;
        let same = |i: &&ImageFile| (i.device, i.inode) == (about.dev(), about.ino());
        self.images.lock().ok()?.iter().find(same).map(|i| i.offset)
    }
    /// At the end of the program.
    pub(crate) fn end(&self) {
        if std::process::id() == self.process.load(Relaxed)
            && let Err(e) = std::fs::write(&self.to, self.lock().reads.text())
        {
            eprintln!("fencepost: {}: {e}", self.to);
        }
    }
}

/// The files of the image, as they are now.
fn files(named: &[(u64, String)]) -> Result<Vec<ImageFile>, String> {
    let image = |(offset, path): &(u64, String)| {
        let about = std::fs::metadata(path).map_err(|e| format!("{path}: {e}"))?;
        Ok(ImageFile {
            device: about.dev(),
            inode: about.ino(),
            offset: *offset,
            length: about.len(),
        })
    };
    named.iter().map(image).collect()
}
/// The file behind a descriptor: those of the program are this process's.
fn descriptor(fd: u64) -> String {
    format!("/proc/self/fd/{}", fd as i32)
}
fn position(fd: u64) -> Option<u64> {
    let about = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", fd as i32)).ok()?;
    let line = about.lines().find_map(|l| l.strip_prefix("pos:"))?;
    line.trim().parse().ok()
}
