//! Verdicts kept in a file, so that a search goes on where it was stopped.
//!
//! The first line names the search: log, memory before it, contract, command. Each other line is an image that was survived:
//! its key, then `all` or the pieces read. Lines are written whole; one that was cut off is ignored.

use fencepost_contract::images::{Answer, ImageJob};
use fencepost_run::LabError;
use rustc_hash::FxHashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

/// Images that were survived in this search and in those before it.
pub(crate) struct Kept {
    known: FxHashMap<u128, Answer>,
    file: Option<BufWriter<File>>,
}

impl Kept {
    /// Nothing is kept.
    pub(crate) fn nothing() -> Kept {
        Kept {
            known: FxHashMap::default(),
            file: None,
        }
    }
    /// Reads what `path` holds of the search with this name, and adds to it. Another search's verdicts are dropped.
    pub(crate) fn open(path: &Path, name: &str) -> Result<Kept, LabError> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let mut lines = text.split_inclusive('\n').filter_map(|l| l.strip_suffix('\n'));
        let same = lines.next() == Some(name);
        let known: FxHashMap<u128, Answer> = lines.filter(|_| same).filter_map(parse).collect();
        let error = |e| LabError::file("write", path, e);
        // Written anew: a line that was cut off would swallow the next.
        let mut file = BufWriter::new(File::create(path).map_err(error)?);
        writeln!(file, "{name}").map_err(error)?;
        for (key, answer) in &known {
            file.write_all(line(*key, answer).as_bytes()).map_err(error)?;
        }
        file.flush().map_err(error)?;
        Ok(Kept {
            known,
            file: Some(file),
        })
    }
    /// What was said about an equal image.
    pub(crate) fn get(&self, job: &ImageJob) -> Option<Answer> {
        self.known.get(&job.key).cloned()
    }
    /// Keeps what was said, if it was survived.
    pub(crate) fn add(&mut self, job: &ImageJob, answer: &Answer) {
        if let (Some(file), None) = (&mut self.file, &answer.failed) {
            // A verdict that is not kept is only asked for again.
            let _ = file
                .write_all(line(job.key, answer).as_bytes())
                .and_then(|()| file.flush());
        }
    }
}

fn line(key: u128, answer: &Answer) -> String {
    let mut text = format!("{key:032x}");
    match &answer.reads {
        None => text.push_str(" all"),
        Some(reads) => {
            for (offset, length) in reads {
                let _ = write!(text, " {offset}+{length}");
            }
        }
    }
    text.push('\n');
    text
}
fn parse(line: &str) -> Option<(u128, Answer)> {
    let mut words = line.split(' ');
    let key = u128::from_str_radix(words.next()?, 16).ok()?;
    let rest: Vec<&str> = words.collect();
    let reads = match rest.as_slice() {
        ["all"] => None,
        pieces => {
            let piece = |p: &&str| {
                p.split_once('+')
                    .and_then(|(o, l)| Some((o.parse().ok()?, l.parse().ok()?)))
            };
            Some(pieces.iter().map(piece).collect::<Option<Vec<_>>>()?)
        }
    };
    let answer = Answer {
        reads,
        ..Answer::default()
    };
    Some((key, answer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::scratch::Scratch;
    use fencepost_contract::images::{Images, Next};
    use fencepost_contract::recorded::parse as parse_log;
    use fencepost_contract::{Contract, ContractKind};

    #[test]
    fn lines_come_back_as_they_went() {
        for reads in [None, Some(vec![(0, 8)]), Some(vec![(64, 1), (u64::MAX, 0)])] {
            let answer = Answer {
                reads,
                ..Answer::default()
            };
            let text = line(u128::MAX / 3, &answer);
            assert_eq!(parse(text.trim_end()), Some((u128::MAX / 3, answer)));
        }
        assert_eq!(parse("xyz all"), None);
        assert_eq!(parse("00ff 1+"), None);
    }

    /// A search that found a failure finds it again: only what was survived is kept.
    #[test]
    fn a_failure_is_asked_for_again() {
        let log = parse_log("fencepost-log 1\n0 store pm+0 1\n0 store pm+64 1\n").unwrap();
        let space = Contract::from(ContractKind::Px86).space(&log.trace, &log.initial);
        let mut images = Images::new(&space, false);
        let mut jobs = || match images.next_image() {
            Next::Run(job) => job,
            Next::Wait | Next::Done => panic!("an image of its own for each"),
        };
        let (survived, lost) = (jobs(), jobs());
        let folder = Scratch::new().unwrap();
        let path = folder.path().join("verdicts.txt");
        let failed = Answer {
            failed: Some("a record is missing".into()),
            ..Answer::default()
        };
        let mut kept = Kept::open(&path, "a search").unwrap();
        kept.add(&survived, &Answer::default());
        kept.add(&lost, &failed);
        let again = Kept::open(&path, "a search").unwrap();
        assert_eq!(
            (again.get(&survived), again.get(&lost)),
            (Some(Answer::default()), None)
        );
        let other = Kept::open(&path, "another search").unwrap();
        assert_eq!(other.get(&survived), None);
    }
}
