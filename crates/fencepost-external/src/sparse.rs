//! Files with holes: what is in them is read and copied, and the holes are not.

use rustix::fs::{SeekFrom, seek};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes that are copied at once.
const PIECE: u64 = 1 << 16;

/// The ranges of a file that are no holes, in order, as far as the file system tells.
pub(crate) fn data(file: &File) -> io::Result<Vec<Range<u64>>> {
    let length = file.metadata()?.len();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < length {
        let start = match seek(file, SeekFrom::Data(at)) {
            Ok(start) => start,
            Err(rustix::io::Errno::NXIO) => break,
            // It tells nothing.
            Err(_) => at,
        };
        let end = seek(file, SeekFrom::Hole(start))
            .unwrap_or(length)
            .clamp(start + 1, length);
        found.push(start..end);
        at = end;
    }
    Ok(found)
}

/// Copies a file, with its holes.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (File::open(from)?, File::create(to)?);
    to.set_len(from.metadata()?.len())?;
    let mut piece = vec![0; PIECE as usize];
    for range in data(&from)? {
        for at in range.clone().step_by(PIECE as usize) {
            let bytes = &mut piece[..(range.end - at).min(PIECE) as usize];
            from.read_exact_at(bytes, at)?;
            to.write_all_at(bytes, at)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_same_bytes_and_no_more_blocks() {
        use std::os::unix::fs::MetadataExt;
        let path = |n: &str| std::env::temp_dir().join(format!("fencepost-sparse-{}-{n}", std::process::id()));
        let file = File::create(path("a")).unwrap();
        file.set_len(1 << 34).unwrap();
        for at in [0, 70_000, 3 << 32] {
            file.write_all_at(b"content", at).unwrap();
        }
        copy(&path("a"), &path("b")).unwrap();
        let (a, b) = (
            std::fs::metadata(path("a")).unwrap(),
            std::fs::metadata(path("b")).unwrap(),
        );
        assert_eq!(a.len(), b.len());
        if a.blocks() < 1 << 12 {
            assert!(b.blocks() < 1 << 12, "{}", b.blocks());
            let copied = File::open(path("b")).unwrap();
            for at in [0, 70_000, 3 << 32] {
                let mut bytes = [0; 8];
                copied.read_exact_at(&mut bytes, at).unwrap();
                assert_eq!(&bytes, b"content\0");
            }
        }
        std::fs::remove_file(path("a")).unwrap();
        std::fs::remove_file(path("b")).unwrap();
    }
}
