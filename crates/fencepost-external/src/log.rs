//! A recorded log, read with the memory it started from.

use crate::recovery::image::{Base, Part};
use fencepost_contract::recorded::{self, PersistentFile, RecordedLog};
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, Image};
use fencepost_run::{BadInput, LabError};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// A log with the memory it started from.
pub(crate) struct Loaded {
    pub(crate) log: RecordedLog,
    /// Persistent memory before the run.
    pub(crate) base: Base,
    /// The log's text, for its digest.
    pub(crate) text: String,
}

/// The executions that a log holds, as texts.
///
/// # Errors
/// A file that cannot be read, or that is no log.
pub(crate) fn texts(file: &Path) -> Result<Vec<String>, LabError> {
    let bytes = std::fs::read(file).map_err(|e| LabError::file("read", file, e))?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if recorded::is_pmemcheck(&text) {
        text = recorded::from_pmemcheck(&text).map_err(|e| bad(file, &e))?;
    }
    Ok(recorded::executions(&text).into_iter().map(Cow::into_owned).collect())
}
fn bad(file: &Path, e: &recorded::LogError) -> BadInput {
    let bad = BadInput::new(format!("{}:{}: {}", file.display(), e.line, e.reason));
    e.hint.iter().fold(bad, |bad, hint| bad.hint(hint.clone()))
}

/// Largest image of memory, in bytes.
const MOST: u64 = 1 << 32;

/// Reads an execution of a log, counted from 0, over the bytes of `image` (zero if there is none).
///
/// # Errors
/// A file that cannot be read, or a line that cannot be understood, with its number and the reason.
pub(crate) fn load(file: &Path, execution: usize, image: Option<&Path>) -> Result<Loaded, LabError> {
    let found = texts(file)?.into_iter().nth(execution);
    let text = found.ok_or_else(|| {
        let which = execution + 1;
        BadInput::new(format!("{}: there is no execution {which} in it", file.display()))
    })?;
    let mut before = match image {
        Some(path) => std::fs::read(path).map_err(|e| LabError::file("read", path, e))?,
        None => Vec::new(),
    };
    before.resize(before.len().next_multiple_of(LINE_BYTES as usize), 0);
    let mut initial = Image::default();
    for (i, word) in before.chunks_exact(8).enumerate() {
        let value = word.try_into().map_or(0, u64::from_le_bytes);
        if value != 0 {
            initial.set_word(Addr::pm(i as u64 * 8), value, None);
        }
    }
    let log = recorded::parse_over(&text, &initial).map_err(|e| bad(file, &e))?;
    let length = end(&log).next_multiple_of(LINE_BYTES).max(before.len() as u64);
    if length > MOST {
        return Err(BadInput::new(format!(
            "{}: images of {length} bytes are too large (at most {MOST})",
            file.display()
        ))
        .into());
    }
    before.resize(length as usize, 0);
    // `initial` lines of the log are part of the memory before the run, zeros too.
    for line in log.initial.pm_lines() {
        for (i, word) in log.initial.line_words(line).into_iter().enumerate() {
            let at = (line.base().0 - Addr::pm(0).0) as usize + i * 8;
            if let Some(place) = before.get_mut(at..at + 8) {
                place.copy_from_slice(&word.to_le_bytes());
            }
        }
    }
    let base = base(file, image, &log, before.into())?;
    Ok(Loaded { log, base, text })
}

/// Where the memory of a log ends: behind all that it declares, holds before the run, or stores to.
fn end(log: &RecordedLog) -> u64 {
    let stores = log.trace.stores.iter().filter(|s| s.addr.is_persistent());
    let stored = stores.map(|s| s.addr.0 - Addr::pm(0).0 + 8);
    let held = log
        .initial
        .pm_lines()
        .filter(|l| log.initial.line_words(*l).iter().any(|w| *w != 0));
    let held = held.map(|l| l.base().0 - Addr::pm(0).0 + LINE_BYTES);
    let file = |f: &PersistentFile| (f.offset + f.length).max(f.length_at.map_or(0, |at| at + 8));
    let ends = stored.chain(held).chain(log.files.iter().map(file));
    ends.fold(log.persistent_bytes, u64::max)
}

/// The files of which memory consists, as the log names them.
fn base(file: &Path, image: Option<&Path>, log: &RecordedLog, bytes: Arc<[u8]>) -> Result<Base, BadInput> {
    let mut base = Base::whole(Arc::clone(&bytes));
    let part = |f: &PersistentFile| Part {
        name: f.name.clone(),
        offset: f.offset as usize,
        length: (f.length as usize).min(bytes.len().saturating_sub(f.offset as usize)),
        length_at: f.length_at.map(|at| at as usize),
    };
    match (log.files.is_empty(), image) {
        (true, _) => {}
        (false, Some(path)) if log.files.len() > 1 => {
            let found = format!(
                "{}: the log has several files, and --image {} is one",
                file.display(),
                path.display()
            );
            return Err(BadInput::new(found).hint("a recorded log holds what its files held before"));
        }
        (false, Some(_)) if log.files.iter().all(|f| f.length_at.is_none()) => {}
        (false, _) => base.parts = log.files.iter().map(part).collect(),
    }
    Ok(base)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::scratch::Scratch;

    /// An image is one file: a log of several holds what those held.
    #[test]
    fn an_image_is_for_a_log_of_one_file() {
        let scratch = Scratch::new().expect("a folder");
        let (log, image) = (scratch.path().join("a.log"), scratch.path().join("image"));
        std::fs::write(&image, [7; 64]).expect("a folder to write to");
        let loaded = |files: &[&str]| {
            let file = |(i, name): (usize, &&str)| format!("file {} 4096 {name}\n", i * 4096);
            let files: String = files.iter().enumerate().map(file).collect();
            let text = format!("fencepost-log 1\npersistent 0x10000 8192\n{files}0 store pm+8 7\n");
            std::fs::write(&log, text).expect("a folder to write to");
            load(&log, 0, Some(&image)).map(|l| l.base.parts.len())
        };
        assert_eq!([loaded(&[]).ok(), loaded(&["one"]).ok()], [Some(1), Some(1)]);
        let why = loaded(&["one", "two"]).expect_err("two files").to_string();
        assert!(why.contains("several files"), "{why}");
    }
    #[test]
    fn a_log_whose_memory_is_too_large_is_refused() {
        let scratch = Scratch::new().expect("a folder");
        let file = scratch.path().join("large.log");
        let loaded = |length: u64| {
            let text = format!("fencepost-log 1\npersistent 0x10000 {length}\n0 store 0x10008 7\n");
            std::fs::write(&file, text).expect("it is written");
            load(&file, 0, None).map(|l| l.base.bytes.len() as u64)
        };
        assert_eq!(loaded(192).ok(), Some(192));
        for length in [MOST + 64, 2 * MOST] {
            let why = loaded(length).expect_err("too large").to_string();
            assert!(why.contains("too large"), "{why}");
        }
    }
    /// The memory before the run is the image, longer where the log reaches further, with the log's own first words in it.
    #[test]
    fn memory_before_the_run_holds_the_image_and_the_first_words() {
        let scratch = Scratch::new().expect("a folder");
        let (file, image) = (scratch.path().join("a.log"), scratch.path().join("image"));
        let mut before = vec![0u8; 100];
        (before[8], before[99]) = (3, 4);
        std::fs::write(&image, &before).expect("a folder to write to");
        let loaded = |text: &str, image: Option<&Path>| {
            std::fs::write(&file, format!("fencepost-log 1\n{text}")).expect("a folder to write to");
            load(&file, 0, image).expect("a log")
        };
        let found = loaded("initial pm+0x50 0x7\n0 store pm+184 1\n", Some(&image));
        let mut wanted = before.clone();
        // The last store ends at 192, a multiple of 64.
        wanted.resize(192, 0);
        wanted[0x50] = 7;
        assert_eq!(*found.base.bytes, *wanted);
        let words = [8, 96, 0x50].map(|at| found.log.initial.word(Addr::pm(at)));
        assert_eq!(words, [3, 4 << 24, 7]);
        let zeroed = loaded("initial pm+8 0\n0 store pm+64 1\n", Some(&image));
        assert_eq!((zeroed.base.bytes[8], zeroed.log.initial.word(Addr::pm(8))), (0, 0));
        assert_eq!(
            loaded("0 store pm+0 1\n", Some(&image)).base.bytes.len(),
            128,
            "an image of whole lines"
        );
        assert_eq!(loaded("0 store pm+192 1\n", None).base.bytes.len(), 256);
    }
    /// Memory reaches as far as the log says, whatever it stores to: first words, files, the word that holds a length.
    #[test]
    fn memory_holds_what_no_store_reaches() {
        let scratch = Scratch::new().expect("a folder");
        let file = scratch.path().join("a.log");
        let loaded = |text: &str| {
            std::fs::write(&file, format!("fencepost-log 1\n{text}0 store pm+0 1\n")).expect("a folder to write to");
            load(&file, 0, None).expect("a log").base
        };
        assert_eq!(loaded("").bytes.len(), 64);
        let base = loaded("initial pm+0x88 7\n");
        assert_eq!((base.bytes.len(), base.bytes[0x88]), (192, 7));
        let base = loaded("file 0 100 short\nfile 4096 200 long\n");
        let lengths: Vec<usize> = base.parts.iter().map(|p| p.length).collect();
        assert_eq!((base.bytes.len(), lengths), (4352, vec![100, 200]));
        let base = loaded("file 0 64 grows length 0x1000\ninitial pm+0x1000 8\n");
        assert_eq!((base.bytes.len(), base.length(&base.parts[0], &[])), (4160, 8));
        assert_eq!(loaded("persistent 0x10000 4096\n").bytes.len(), 4096);
    }
    #[test]
    fn executions_are_counted_from_one_where_there_is_none() {
        let scratch = Scratch::new().expect("a folder");
        let file = scratch.path().join("a.log");
        std::fs::write(
            &file,
            "fencepost-log 1\n0 store pm+0 1\nfencepost-log 1\n0 store pm+64 1\n",
        )
        .expect("a file");
        assert_eq!(texts(&file).map_err(|e| e.to_string()).map(|t| t.len()), Ok(2));
        let second = load(&file, 1, None).expect("two executions");
        assert_eq!(second.log.trace.stores[0].addr, Addr::pm(64));
        let why = load(&file, 2, None)
            .map(|_| ())
            .expect_err("two executions")
            .to_string();
        assert!(why.contains("there is no execution 3 in it"), "{why}");
        std::fs::write(&file, "fencepost-log 1\n0 nonsense\n").expect("a file");
        let why = load(&file, 0, None).map(|_| ()).expect_err("no log").to_string();
        assert!(why.contains("a.log:2: "), "{why}");
    }
    /// A file whose length changes is one by itself, even where an image holds what it held.
    #[test]
    fn files_of_a_log_are_parts_of_memory() {
        let scratch = Scratch::new().expect("a folder");
        let (file, image) = (scratch.path().join("a.log"), scratch.path().join("image"));
        std::fs::write(&image, [7; 64]).expect("a folder to write to");
        let parts = |declared: &str, image: Option<&Path>| {
            let text = format!("fencepost-log 1\npersistent 0x10000 12288\n{declared}0 store pm+8 7\n");
            std::fs::write(&file, text).expect("a folder to write to");
            let loaded = load(&file, 0, image).expect("a log");
            let part = |p: &Part| (p.name.clone(), p.offset, p.length, p.length_at);
            loaded.base.parts.iter().map(part).collect::<Vec<_>>()
        };
        let grows = "file 0x0 100 pool length 0x2000\n";
        let wanted = vec![("pool".to_owned(), 0, 100, Some(0x2000))];
        assert_eq!(
            [parts(grows, None), parts(grows, Some(&image))],
            [wanted.clone(), wanted]
        );
        let whole = vec![(String::new(), 0, 12288, None)];
        assert_eq!(parts("file 0x0 100 pool\n", Some(&image)), whole);
        assert_eq!(parts("", None), whole);
        let two = parts("file 0x0 100 pool\nfile 0x1000 16 side\n", None);
        let wanted = [("pool".to_owned(), 0, 100, None), ("side".to_owned(), 4096, 16, None)];
        assert_eq!(two, wanted);
    }
}
