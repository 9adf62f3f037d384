//! Reading what users give: files of bounded size and with lines of bounded length, as text.

use crate::error::{BadInput, LabError};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The largest configuration file. Presets have a few KiB.
pub const CONFIGURATION: u64 = 1 << 20;
/// The largest log or request stream.
pub const RECORD: u64 = 1 << 30;
/// The longest line of a log or request stream, in bytes.
const LINE: usize = 1 << 16;

/// The text of a file of at most `limit` bytes, without a byte-order mark.
///
/// # Errors
/// A file that cannot be read, that is larger, or that is not UTF-8.
pub fn read(path: &Path, limit: u64) -> Result<String, LabError> {
    bounded(path, limit, usize::MAX)
}

/// The text of a log or request stream, every line of which has a bounded length.
///
/// # Errors
/// As [`read`], and a line that is too long, with its number.
pub fn read_record(path: &Path) -> Result<String, LabError> {
    bounded(path, RECORD, LINE)
}

fn bounded(path: &Path, limit: u64, longest: usize) -> Result<String, LabError> {
    let name = path.display();
    let refused = |e| LabError::file("read", path, e);
    let (mut file, mut bytes) = (File::open(path).map_err(refused)?, Vec::new());
    let mut chunk = vec![0; 1 << 16];
    let mut line = Line { number: 1, length: 0 };
    loop {
        let new = match file.read(&mut chunk).map_err(refused)? {
            0 => break,
            n => &chunk[..n],
        };
        if bytes.len() as u64 + new.len() as u64 > limit {
            return Err(BadInput::new(format!("{name} is larger than {} MiB", limit >> 20)).into());
        }
        if let Some(number) = line.longer_than(longest, new) {
            let most = longest >> 10;
            return Err(BadInput::new(format!("{name}:{number}: a line of more than {most} KiB")).into());
        }
        bytes.extend_from_slice(new);
    }
    let text = String::from_utf8(bytes).map_err(|e| {
        let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = good.iter().filter(|b| **b == b'\n').count() + 1;
        BadInput::new(format!("{name}:{line}: not text in UTF-8"))
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// The line that a reader is in.
struct Line {
    number: u64,
    length: usize,
}
impl Line {
    /// Goes on by these bytes; the number of the first line among them that is too long.
    fn longer_than(&mut self, longest: usize, bytes: &[u8]) -> Option<u64> {
        for part in bytes.split_inclusive(|b| *b == b'\n') {
            self.length += part.len();
            if self.length > longest {
                return Some(self.number);
            }
            if part.ends_with(b"\n") {
                *self = Line {
                    number: self.number + 1,
                    length: 0,
                };
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn sizes_lines_and_encodings_are_checked() {
        let path = std::env::temp_dir().join(format!("fencepost-input-{}", std::process::id()));
        let said = |e: LabError| {
            assert_eq!(e.exit_code(), 2);
            e.to_string()
        };
        fs::write(&path, "\u{feff}abc\n").unwrap();
        assert_eq!(read(&path, 7).unwrap(), "abc\n");
        assert!(said(read(&path, 6).unwrap_err()).contains("larger than"));
        fs::write(&path, b"ab\n\xff\n").unwrap();
        assert!(said(read(&path, 99).unwrap_err()).contains(":2: not text"));
        fs::write(&path, format!("R 0x40\n{}\n", "x".repeat(LINE + 1))).unwrap();
        assert!(said(read_record(&path).unwrap_err()).contains(":2: a line of more than"));
        assert!(said(read(&std::env::temp_dir(), 99).unwrap_err()).contains("folder"));
        fs::remove_file(&path).unwrap();
        assert!(said(read(&path, 99).unwrap_err()).contains("no such file"));
    }
    #[cfg(unix)]
    #[test]
    fn an_endless_file_is_refused() {
        let e = read(Path::new("/dev/zero"), CONFIGURATION).unwrap_err();
        assert!(e.to_string().contains("larger than 1 MiB"), "{e}");
    }
}
