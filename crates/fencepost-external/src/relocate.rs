//! The log of a recording: files side by side in persistent memory, lines in order; and whether it makes the files.

use crate::recording::{Noted, Recording, address, hexadecimal};
use fencepost_run::{BadInput, LabError};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Files begin on pages.
const PAGE: u64 = 4096;

/// Lengths have lines of their own.
const LINE: u64 = 64;

/// Addresses that no guest has: the recorder notes there where threads begin and end, and what they hand on through the system.
const MEETINGS: Range<u64> = 0x20_0000_0000..0x23_0000_0000;

/// Where each file lies in persistent memory.
pub(crate) struct Layout {
    /// By number: first offset.
    bases: BTreeMap<usize, u64>,
    /// By number, of files whose lengths change: offset of the word that holds it.
    lengths: BTreeMap<usize, u64>,
    /// By number, of the same: the newest length.
    newest: BTreeMap<usize, u64>,
    /// What shorter lengths have cut off, and no longer one has shown as zero: file, offset, bytes.
    cut: BTreeSet<(usize, u64, u64)>,
    /// Addresses at which threads meet by beginning and ending, or by a pipe and the like, which are made of their numbers in the system; by first
    /// use: runs in one order are one execution.
    meetings: HashMap<String, String>,
}

impl Layout {
    /// The files that were touched, in the order in which they were named.
    pub(crate) fn of(recording: &Recording) -> Layout {
        let mut ends: BTreeMap<usize, u64> = recording.lengths.clone();
        let stored = recording
            .events
            .iter()
            .filter_map(|e| e.what.split(' ').nth(1).and_then(address));
        // A mapping shows whole pages of a file that ends within one.
        for (file, offset) in stored {
            let end = ends.entry(file).or_default();
            *end = (*end).max(offset + 8);
        }
        let (mut bases, mut next) = (BTreeMap::new(), 0);
        for (file, end) in ends {
            bases.insert(file, next);
            next += end.next_multiple_of(PAGE);
        }
        let resized = recording.events.iter().filter_map(|e| e.what.strip_prefix("length "));
        let mut lengths: BTreeMap<usize, u64> = resized
            .filter_map(|e| Some((address(e.split(' ').next()?)?.0, 0)))
            .collect();
        for at in lengths.values_mut() {
            *at = next;
            next += LINE;
        }
        let mut meetings = HashMap::new();
        for at in recording.events.iter().filter_map(|e| e.what.split(' ').nth(1)) {
            if hexadecimal(at).is_some_and(|a| MEETINGS.contains(&a)) && !meetings.contains_key(at) {
                let new = format!("{:#x}", MEETINGS.start + meetings.len() as u64 * 8);
                meetings.insert(at.to_owned(), new);
            }
        }
        Layout {
            bases,
            lengths,
            newest: recording.first_lengths.clone(),
            cut: BTreeSet::new(),
            meetings,
        }
    }
    fn place(&self, file: usize, offset: u64) -> u64 {
        self.bases.get(&file).copied().unwrap_or(0) + offset
    }
    /// The declarations of a log: files by their names, and what they held.
    pub(crate) fn head(&self, recording: &Recording, files: &[PathBuf]) -> String {
        let mut text = String::new();
        for (file, base) in &self.bases {
            let name = files.get(*file).and_then(|f| f.file_name()).unwrap_or_default();
            let length = recording.lengths.get(file).copied().unwrap_or(0);
            let at = self.lengths.get(file).map(|at| format!(" length {at:#x}"));
            let at = at.unwrap_or_default();
            let _ = writeln!(text, "file {base:#x} {length} {}{at}", name.to_string_lossy());
        }
        for (file, at) in &self.lengths {
            let first = recording.first_lengths.get(file).copied().unwrap_or(0);
            let _ = writeln!(text, "initial pm+{at:#x} {first:#x}");
        }
        for (file, offset, value) in &recording.initial {
            let _ = writeln!(text, "initial pm+{:#x} {value:#x}", self.place(*file, *offset));
        }
        for (process, vcpu, lines) in &recording.warm {
            if let Some(thread) = recording.thread_of(*process, *vcpu) {
                let lines: String = lines.split(' ').map(|l| self.warm(l)).collect();
                let _ = writeln!(text, "{thread} warm{lines}");
            }
        }
        text
    }
    /// Lines in a row, `f0+0x40*3`, as the log has them.
    fn warm(&self, lines: &str) -> String {
        let (at, count) = lines.split_at(lines.find('*').unwrap_or(lines.len()));
        match address(at) {
            Some((file, offset)) => format!(" pm+{:#x}{count}", self.place(file, offset)),
            None => format!(" {lines}"),
        }
    }
    /// An event as lines of the log; of all events in their order.
    pub(crate) fn event(&mut self, event: &Noted) -> Vec<String> {
        let mut words = event.what.split(' ');
        let (kind, at) = (words.next().unwrap_or_default(), words.next().and_then(address));
        let durable = |file: &usize| self.lengths.get(file).map(|at| format!("sync pm+{at:#x} {LINE}"));
        let number = words.next().and_then(hexadecimal);
        match (kind, at) {
            ("sync", Some((file, _))) => [self.line(event)].into_iter().chain(durable(&file)).collect(),
            ("length-sync", Some((file, _))) => durable(&file).into_iter().collect(),
            ("cut", Some((file, offset))) => {
                let bytes = words.next().and_then(|w| w.strip_prefix('w')?.parse().ok());
                self.cut.insert((file, offset, bytes.unwrap_or(8)));
                Vec::new()
            }
            ("length", Some((file, _))) => {
                let length = number.unwrap_or(0);
                let mut lines = self.shown(file, length);
                let at = self.lengths.get(&file).copied().unwrap_or(0);
                lines.push(format!("store pm+{at:#x} {length:#x}"));
                lines
            }
            _ => vec![self.line(event)],
        }
    }
    /// A file gets this length: what was cut off before its end is zero now, and durably so, as nobody may see what was there. In the line
    /// in which it ended other bytes are not durable for that, and these are not.
    fn shown(&mut self, file: usize, length: u64) -> Vec<String> {
        let ended = self.newest.insert(file, length).unwrap_or(0).next_multiple_of(LINE);
        let is_shown = |(f, at, _): &(usize, u64, u64)| *f == file && *at < length;
        let shown: Vec<_> = self.cut.iter().copied().filter(is_shown).collect();
        self.cut.retain(|c| !is_shown(c));
        let zero = |(_, at, bytes): &(usize, u64, u64)| {
            let width = if *bytes == 8 {
                String::new()
            } else {
                format!(" w{bytes}")
            };
            format!("store pm+{:#x} 0x0{width}", self.place(file, *at))
        };
        let end = shown.last().map_or(0, |last| last.1 + last.2);
        let sync = |n| format!("sync pm+{:#x} {n}", self.place(file, ended));
        let sync = end.checked_sub(ended).filter(|n| *n > 0).map(sync);
        shown.iter().map(zero).chain(sync).collect()
    }
    fn line(&self, event: &Noted) -> String {
        let mut words = event.what.splitn(3, ' ');
        let (kind, at, rest) = (words.next().unwrap_or_default(), words.next(), words.next());
        let at = at.map(|at| match address(at) {
            Some((file, offset)) => format!(" pm+{:#x}", self.place(file, offset)),
            None => format!(" {}", self.meetings.get(at).map_or(at, String::as_str)),
        });
        let rest = rest.map(|r| format!(" {r}")).unwrap_or_default();
        format!("{kind}{}{rest}", at.unwrap_or_default())
    }
}

/// Whether what was recorded makes the files that are there now, byte for byte.
///
/// # Errors
/// The first place where it does not, in words.
pub(crate) fn compare(recording: &Recording, files: &[PathBuf]) -> Result<(), LabError> {
    let mut memory: HashMap<(usize, u64), u64> = HashMap::new();
    memory.extend(recording.initial.iter().map(|(f, o, v)| ((*f, *o), *v)));
    for event in &recording.events {
        apply(&mut memory, &event.what);
    }
    for (file, path) in files
        .iter()
        .enumerate()
        .filter(|f| recording.lengths.contains_key(&f.0))
    {
        if !std::fs::metadata(path).is_ok_and(|m| m.is_file()) {
            continue;
        }
        let failed = |e| LabError::file("read", path, e);
        let input = std::fs::File::open(path).map_err(failed)?;
        let length = input.metadata().map_err(failed)?.len();
        let ranges = crate::sparse::data(&input).map_err(failed)?;
        // What is in holes is zero.
        let in_hole = |at: u64| !ranges.iter().any(|r| r.start < at + 8 && at < r.end);
        let mut lost = memory
            .iter()
            .filter(|((f, at), v)| *f == file && **v != 0 && at + 8 <= length && in_hole(*at));
        if let Some(((_, at), value)) = lost.next() {
            return Err(differs(path, *at, &[0; 8], &value.to_le_bytes()).into());
        }
        let mut page = vec![0; 1 << 16];
        for range in ranges {
            // Words are aligned, whatever the file system says.
            for at in (range.start / 8 * 8..range.end).step_by(page.len()) {
                let bytes = &mut page[..(length - at).min(1 << 16) as usize];
                input.read_exact_at(bytes, at).map_err(failed)?;
                for (i, word) in bytes.chunks(8).enumerate() {
                    let offset = at + i as u64 * 8;
                    let mut wanted = memory.get(&(file, offset)).copied().unwrap_or(0).to_le_bytes();
                    wanted[word.len()..].fill(0);
                    if wanted[..word.len()] != *word {
                        return Err(differs(path, offset, word, &wanted).into());
                    }
                }
            }
        }
    }
    Ok(())
}
fn differs(path: &std::path::Path, offset: u64, found: &[u8], wanted: &[u8]) -> BadInput {
    let text = format!(
        "{}: at offset {offset:#x} the file holds {found:02x?} and the recorded stores make {wanted:02x?}",
        path.display()
    );
    BadInput::new(text)
        .hint("something wrote to it that was not recorded, such as another program; nothing was written")
}
fn apply(memory: &mut HashMap<(usize, u64), u64>, what: &str) {
    let mut words = what.split(' ');
    let (Some("store" | "nt" | "rmw" | "cut"), Some((file, offset)), Some(value)) = (
        words.next(),
        words.next().and_then(address),
        words.next().and_then(hexadecimal),
    ) else {
        return;
    };
    let bytes = words
        .next()
        .and_then(|w| w.strip_prefix('w')?.parse::<u32>().ok())
        .unwrap_or(8);
    let word = memory.entry((file, offset / 8 * 8)).or_default();
    let shift = offset % 8 * 8;
    let mask = if bytes == 8 {
        u64::MAX
    } else {
        ((1u64 << (bytes * 8)) - 1) << shift
    };
    *word = *word & !mask | value << shift & mask;
}

#[cfg(test)]
mod tests;
