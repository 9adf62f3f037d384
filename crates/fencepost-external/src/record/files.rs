//! The files that are persistent memory, as they are named.

use fencepost_run::{BadInput, LabError};
use std::path::PathBuf;

/// Most bytes of a file: what crash images may have.
const MOST: u64 = 1 << 32;

/// The persistent files by whole paths.
pub(super) fn files(asked: &[PathBuf]) -> Result<Vec<PathBuf>, LabError> {
    let mut files: Vec<PathBuf> = Vec::new();
    for path in asked {
        let bad = |why: &str| BadInput::new(format!("--pm {}: {why}", path.display()));
        let file = match path.canonicalize() {
            Ok(file) => file,
            // It need not be there yet, but its folder must.
            Err(_) => {
                let whole = std::path::absolute(path).map_err(|e| LabError::file("find", path, e))?;
                let (folder, name) = (whole.parent(), whole.file_name());
                let folder = folder.and_then(|f| f.canonicalize().ok());
                let (Some(folder), Some(name)) = (folder, name) else {
                    return Err(bad("its folder is not there").into());
                };
                folder.join(name)
            }
        };
        let name = file
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        if file.is_dir() {
            return Err(bad("is a folder").hint("name each file: --pm FILE --pm FILE").into());
        }
        let length = file.metadata().map_or(0, |m| m.len());
        if length > MOST {
            let why = format!("has {length} bytes, and images have at most {} GiB", MOST >> 30);
            return Err(bad(&why).into());
        }
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '@' || c == '#') {
            return Err(bad("a log has no place for a name with blanks, `@` or `#`").into());
        }
        if files.iter().any(|f| f.file_name() == file.file_name()) {
            return Err(bad("two files have one name, by which a log tells them apart").into());
        }
        files.push(file);
    }
    match files.is_empty() {
        true => Err(BadInput::new("name the persistent file: --pm FILE").into()),
        false => Ok(files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::scratch::Scratch;

    #[test]
    fn files_are_named_by_whole_paths_and_told_apart_by_their_names() {
        let scratch = Scratch::new().expect("a folder");
        let folder = scratch.path().canonicalize().expect("a folder");
        std::fs::create_dir(folder.join("other")).expect("a folder");
        let why = |names: &[&str]| {
            let paths: Vec<PathBuf> = names.iter().map(|n| folder.join(n)).collect();
            files(&paths).map_err(|e| e.to_string())
        };
        std::fs::write(folder.join("there"), "").expect("a file");
        let wanted = vec![folder.join("there"), folder.join("new"), folder.join("other/third")];
        assert_eq!(why(&["other/../there", "new", "other/third"]), Ok(wanted));
        for (names, wanted) in [
            (&["gone/new"][..], "its folder is not there"),
            (&["other"], "is a folder"),
            (&["there", "other/there"], "two files have one name"),
            (&["a b"], "no place for a name"),
            (&["a\u{7}b"], "no place for a name"),
            (&["a@b"], "no place for a name"),
            (&["a#b"], "no place for a name"),
            (&[], "name the persistent file"),
        ] {
            let why = why(names).expect_err(wanted);
            assert!(why.contains(wanted), "{why}");
        }
    }
    #[test]
    fn a_file_is_no_longer_than_an_image_may_be() {
        let scratch = Scratch::new().expect("a folder");
        let path = scratch.path().join("large");
        let file = std::fs::File::create(&path).expect("a file");
        // Nothing but a hole.
        for (length, fits) in [(MOST, true), (MOST + 1, false)] {
            file.set_len(length).expect("a hole");
            let found = files(std::slice::from_ref(&path)).map_err(|e| e.to_string());
            assert_eq!(found.is_ok(), fits, "{found:?}");
            assert!(found.err().is_none_or(|e| e.contains("at most 4 GiB")));
        }
    }
}
