//! Store logs of pmemcheck (`--log-stores=yes`), as pmreorder reads them, made logs of this format.
//!
//! Operations are separated by `|` and lie between `START` and `STOP`: `REGISTER_FILE;name;address;size;offset`,
//! `STORE;address;value;size;trace..`, `FLUSH;address;size`, `FENCE`. Anything else is a marker, and says nothing about memory.
//! pmemcheck runs one thread at a time and does not say which: the log is one thread's. A flush counts as `clwb`.

use super::LogError;
use std::fmt::Write as _;

/// Bytes of a cache line, which a flush writes back whole.
const LINE: u64 = 64;
/// Where files and ranges begin.
const PAGE: u64 = 4096;

/// Whether a text is such a log.
pub fn is_pmemcheck(text: &str) -> bool {
    let start = text.find("START|").or_else(|| text.find("|START"));
    start.is_some_and(|at| text[..at].lines().all(|l| l.starts_with("==") || l.trim().is_empty()))
}

/// The same log in this format.
///
/// # Errors
/// An operation that cannot be understood, or a store to memory that nothing has registered. The line is the operation's number.
pub fn from_pmemcheck(text: &str) -> Result<String, LogError> {
    let mut log = Converted::default();
    let all = text.split('|').map(str::trim);
    let operations = all
        .skip_while(|o| !o.ends_with("START"))
        .skip(1)
        .take_while(|o| !o.starts_with("STOP"));
    for (i, operation) in operations.enumerate() {
        log.operation(i + 1, operation)?;
    }
    log.whole()
}

/// A range of addresses with the content of a file.
struct Mapped {
    from: u64,
    length: u64,
    file: usize,
    offset: u64,
}
#[derive(Default)]
struct Converted {
    files: Vec<(String, u64)>,
    mapped: Vec<Mapped>,
    /// File (or none), offset or address, and what is said about it: before it and after.
    lines: Vec<Line>,
}
struct Line {
    before: &'static str,
    at: Option<(Option<usize>, u64)>,
    after: String,
}

impl Converted {
    fn operation(&mut self, number: usize, text: &str) -> Result<(), LogError> {
        let fields: Vec<&str> = text.split(';').map(str::trim).collect();
        match fields.as_slice() {
            ["REGISTER_FILE", name, address, size, offset] => {
                let name = name
                    .rsplit('/')
                    .next()
                    .unwrap_or(name)
                    .replace(char::is_whitespace, "_");
                let (from, length) = (hex(number, address)?, hex(number, size)?);
                let offset = hex(number, offset)?;
                let end = offset
                    .checked_add(length)
                    .ok_or_else(|| bad(number, "a range ends beyond 2^64"))?;
                let file = self.files.iter().position(|f| f.0 == name).unwrap_or_else(|| {
                    self.files.push((name, 0));
                    self.files.len() - 1
                });
                self.files[file].1 = self.files[file].1.max(end);
                self.mapped.push(Mapped {
                    from,
                    length,
                    file,
                    offset,
                });
            }
            ["STORE", address, value, size, trace @ ..] => {
                let (at, size) = (hex(number, address)?, hex(number, size)?);
                self.store(number, at, &bytes(number, value, size)?, &place(number, trace))?;
            }
            ["FLUSH", address, size] => {
                let (from, size) = (hex(number, address)?, hex(number, size)?);
                let end = from.checked_add(size).filter(|_| size <= 1 << 32);
                let end = end.ok_or_else(|| bad(number, "a flush of more than 4 GiB"))?;
                for line in (from / LINE..end.div_ceil(LINE)).map(|l| l * LINE) {
                    if let Some(at) = self.find(line) {
                        self.push("clwb ", Some(at), format!(" @ operation {number}"));
                    }
                }
            }
            ["FENCE", ..] => self.push("sfence", None, format!(" @ operation {number}")),
            ["STORE" | "FLUSH" | "REGISTER_FILE", ..] => {
                return Err(bad(number, &format!("`{text}` has other fields")));
            }
            _ => {}
        }
        Ok(())
    }
    fn push(&mut self, before: &'static str, at: Option<(Option<usize>, u64)>, after: String) {
        self.lines.push(Line { before, at, after });
    }
    /// Aligned pieces of a word's width at most.
    fn store(&mut self, number: usize, address: u64, bytes: &[u8], place: &str) -> Result<(), LogError> {
        let mut done = 0;
        while done < bytes.len() {
            let at = address.wrapping_add(done as u64);
            let fits = |w: &usize| at.is_multiple_of(*w as u64) && done + w <= bytes.len();
            let width = [8, 4, 2].into_iter().find(fits).unwrap_or(1);
            let found = self.find(at);
            let found =
                found.ok_or_else(|| bad(number, &format!("a store to {at:#x}, where no file is registered")))?;
            let mut value = [0; 8];
            value[..width].copy_from_slice(&bytes[done..done + width]);
            self.push(
                "store ",
                Some(found),
                format!(" {:#x} w{width} @ {place}", u64::from_le_bytes(value)),
            );
            done += width;
        }
        Ok(())
    }
    /// The file and offset of an address. Without any file addresses stand for themselves.
    fn find(&self, at: u64) -> Option<(Option<usize>, u64)> {
        if self.mapped.is_empty() {
            return Some((None, at));
        }
        let holds = |m: &&Mapped| at.wrapping_sub(m.from) < m.length;
        let m = self.mapped.iter().rev().find(holds)?;
        Some((Some(m.file), m.offset + (at - m.from)))
    }
    fn whole(self) -> Result<String, LogError> {
        let mut text = String::from("fencepost-log 1\n");
        let (mut bases, mut next) = (Vec::new(), 0u64);
        for (name, length) in &self.files {
            let _ = writeln!(text, "file {next:#x} {length} {name}");
            bases.push(next);
            next = next.saturating_add(length.next_multiple_of(PAGE));
        }
        if self.files.is_empty() {
            let stores = self.lines.iter().filter(|l| l.before == "store ");
            let places: Vec<u64> = stores.filter_map(|l| Some(l.at?.1)).collect();
            if let (Some(low), Some(high)) = (places.iter().min(), places.iter().max()) {
                let (from, end) = (low / PAGE * PAGE, (high + 1).next_multiple_of(PAGE));
                let _ = writeln!(text, "persistent {from:#x} {:#x}", end - from);
            }
        }
        for line in &self.lines {
            let at = match line.at {
                Some((Some(file), offset)) => format!("pm+{:#x}", bases[file].saturating_add(offset)),
                Some((None, address)) => format!("{address:#x}"),
                None => String::new(),
            };
            let _ = writeln!(text, "0 {}{at}{}", line.before, line.after);
        }
        Ok(text)
    }
}

fn bad(number: usize, reason: &str) -> LogError {
    LogError {
        line: number,
        reason: format!("operation {number} of pmemcheck's log: {reason}"),
        hint: Some(
            "a log of `valgrind --tool=pmemcheck --log-stores=yes --log-file=FILE`, with `START|` .. `|STOP`".into(),
        ),
    }
}
fn hex(number: usize, text: &str) -> Result<u64, LogError> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| bad(number, &format!("`{text}` is no hexadecimal number")))
}
/// The bytes of a value, the lowest first.
fn bytes(number: usize, value: &str, size: u64) -> Result<Vec<u8>, LogError> {
    let digits = value.strip_prefix("0x").unwrap_or(value);
    let digit = |c: char| c.to_digit(16).map(|d| d as u8);
    let digits: Option<Vec<u8>> = digits.chars().rev().map(digit).collect();
    let digits = digits.filter(|d| !d.is_empty() && (1..=64).contains(&size));
    let digits = digits.ok_or_else(|| bad(number, &format!("`{value}` is no value of {size} bytes")))?;
    let mut bytes: Vec<u8> = digits.chunks(2).map(|d| d[0] | d.get(1).unwrap_or(&0) << 4).collect();
    if bytes.iter().skip(size as usize).any(|b| *b != 0) {
        return Err(bad(number, &format!("`{value}` has more than {size} bytes")));
    }
    bytes.resize(size as usize, 0);
    Ok(bytes)
}
/// The line of the program: of a stack, the first frame with a file and a line.
fn place(number: usize, trace: &[&str]) -> String {
    // Frames of inlined functions stand in a row, the innermost first: `0x1: set (list.h:3)0x1: main (prog.c:12)`.
    let line = |frame: &&str| {
        let mut inside = frame.split('(').skip(1).filter_map(|f| Some(f.split_once(')')?.0));
        let is_line = |at: &&str| {
            let file_and_line = at
                .rsplit_once(':')
                .filter(|(file, line)| !file.is_empty() && !line.is_empty());
            file_and_line.is_some_and(|(_, line)| line.bytes().all(|b| b.is_ascii_digit()))
        };
        inside.find(is_line).map(str::to_owned)
    };
    let found = trace.iter().find_map(line);
    let found = found.or_else(|| trace.iter().find(|f| !f.is_empty()).map(|f| (*f).to_owned()));
    found.map_or_else(|| format!("operation {number}"), |f| f.replace(['@', '#'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "==7== pmemcheck-1.0, a simple persistent store checker\n==7== Command: ./prog\n==7== \n\
        START|REGISTER_FILE;/mnt/my pool;0x7000;0x2000;0x1000|STORE;0x7008;0x1122334455667788;0x8;0x1: set (in /usr/lib/l.so);0x2: main (prog.c:12)\
        |lib.BEGIN|STORE;0x7013;0xaabbcc;0x3|FLUSH;0x7000;0x50|FENCE|STORE;0x7040;0x1;0x1|STOP\n==7== 0 errors\n";

    #[test]
    fn a_log_of_pmemcheck_becomes_one_of_ours() {
        assert!(is_pmemcheck(LOG) && !is_pmemcheck("fencepost-log 1\n0 store pm+0 1 @ START|x\n"));
        let wanted = "fencepost-log 1\nfile 0x0 12288 my_pool\n0 store pm+0x1008 0x1122334455667788 w8 @ prog.c:12\n\
            0 store pm+0x1013 0xcc w1 @ operation 4\n0 store pm+0x1014 0xaabb w2 @ operation 4\n\
            0 clwb pm+0x1000 @ operation 5\n0 clwb pm+0x1040 @ operation 5\n0 sfence @ operation 6\n\
            0 store pm+0x1040 0x1 w1 @ operation 7\n";
        assert_eq!(from_pmemcheck(LOG).unwrap(), wanted);
        let log = super::super::parse(wanted).unwrap();
        assert_eq!((log.persistent_stores(), log.trace.threads), (4, 1));
    }
    /// Shapes that pmemcheck's own tests expect of it: without files, with markers and fences in a row, with a file and nothing else.
    #[test]
    fn logs_without_files_and_without_stores_are_read() {
        let text = "START|STORE;0x7040;0x1;0x1|FLUSH;0x7040;0x40|FENCE|FENCE|STORE;0x7044;0x3;0x4;0x9: a (in /l.so);\
            0xa: set (list.h:3)0xa: main (prog.c:12)|FLUSH;0x7040;0x40|FREORDER|FAULT_ONLY|PREORDER|NO_REORDER_FAULT|DEFAULT_REORDER|STOP\n";
        let log = super::super::parse(&from_pmemcheck(text).unwrap()).unwrap();
        assert_eq!((log.persistent_stores(), log.trace.events.len()), (2, 6));
        assert_eq!(log.origins[1].source.as_deref(), Some("list.h:3"));
        let file = "START|REGISTER_FILE;/tmp/pmemcheck.testfile;0x64;0x800;0x0|STOP\n";
        let log = super::super::parse(&from_pmemcheck(file).unwrap()).unwrap();
        assert_eq!((log.persistent_stores(), log.files[0].length), (0, 0x800));
    }
    #[test]
    fn damaged_operations_are_refused_with_their_number() {
        for (operation, wanted) in [
            ("STORE;0x7000;0x1", "other fields"),
            ("STORE;0x7000;zz;0x8", "no value"),
            ("STORE;0x7000;0x100;0x1", "more than 1"),
            ("STORE;0x1;0x1;0x1", "no file is registered"),
            ("FLUSH;x;0x1", "no hexadecimal"),
        ] {
            let text = format!("START|REGISTER_FILE;p;0x7000;0x1000;0x0|{operation}|STOP");
            let error = from_pmemcheck(&text).unwrap_err();
            assert!(
                error.line == 2 && error.reason.contains(wanted),
                "{operation}: {}",
                error.reason
            );
        }
        let whole = from_pmemcheck("START|STORE;0x7040;0x5;0x4|FENCE|STOP").unwrap();
        assert!(
            whole.contains("persistent 0x7000 0x1000\n0 store 0x7040 0x5 w4"),
            "{whole}"
        );
        let at_a_page = from_pmemcheck("START|STORE;0x7000;0x5;0x4|FENCE|STOP").unwrap();
        assert!(at_a_page.contains("persistent 0x7000 0x1000\n"), "{at_a_page}");
    }
}
