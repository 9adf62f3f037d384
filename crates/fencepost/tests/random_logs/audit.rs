//! Recovery for random logs: `logs-audit FILE [IMAGE]`. The file says which states it survives, or which it does not.

use super::program::{Program, WORDS};
use super::states::State;
use std::fmt::Write as _;
use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Whether the listed states are those that recovery survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    /// It fails on every other.
    Survived,
    /// The same where fewer operations had begun or more were acknowledged: what a machine knows of its threads runs ahead of its stores.
    Tolerated,
    /// It fails on these, and on those words where more has been acknowledged.
    Lost,
}

fn numbers(values: &[u32]) -> String {
    let values: Vec<String> = values.iter().map(u32::to_string).collect();
    values.join(",")
}

/// What else a recovery does with its image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Manner {
    /// It leaves nothing of it as it was, as one that repairs it in place might.
    pub damages: bool,
    /// What it says of its reads is cut off, and ends in what nobody understands.
    pub garbles: bool,
}

/// The file's text.
pub(super) fn text<'a>(
    of: &Program,
    (listed, manner): (Listed, Manner),
    states: impl IntoIterator<Item = &'a State>,
) -> String {
    let Manner { damages, garbles } = manner;
    let mut text = format!("{listed:?} {damages} {} {} {garbles}\n", of.apart, of.grows);
    for s in states {
        let words: Vec<String> = of.seen(&s.words).iter().map(u64::to_string).collect();
        let _ = writeln!(text, "{} {} {}", numbers(&s.begun), numbers(&s.acked), words.join(","));
    }
    text
}

/// The rule of a file.
struct Rule {
    listed: Listed,
    manner: Manner,
    apart: usize,
    grows: bool,
    states: Vec<State>,
    words: usize,
}

impl Rule {
    fn read(path: &Path) -> Option<Rule> {
        let text = std::fs::read_to_string(path).ok()?;
        let mut lines = text.lines();
        let [listed, damages, apart, grows, garbles] = lines.next()?.split(' ').collect::<Vec<_>>()[..] else {
            return None;
        };
        let listed = match listed {
            "Survived" => Listed::Survived,
            "Tolerated" => Listed::Tolerated,
            "Lost" => Listed::Lost,
            _ => return None,
        };
        let state = |l: &str| {
            let mut fields = l.split(' ');
            Some(State {
                begun: list(fields.next()?)?,
                acked: list(fields.next()?)?,
                words: list(fields.next()?)?,
            })
        };
        let states: Vec<State> = lines.map(state).collect::<Option<_>>()?;
        let words = states.first()?.words.len();
        Some(Rule {
            listed,
            manner: Manner {
                damages: damages.parse().ok()?,
                garbles: garbles.parse().ok()?,
            },
            apart: apart.parse().ok()?,
            grows: grows.parse().ok()?,
            states,
            words,
        })
    }

    /// What recovery says of the words that it read.
    fn reads(&self, read: usize) -> String {
        // In one piece, or in two that no word begins with.
        let word = |w| match place(w, self.apart) {
            at if w % 2 == 0 => format!("read {at} 8\n"),
            at => format!("read {at} 3\nread {} 5\n", at + 3),
        };
        // How long a file is, who looks at it knows.
        let read = read.min(self.words - usize::from(self.grows));
        (0..read).map(word).collect()
    }

    /// Whether recovery survives, and how many words it had to read.
    fn judge(&self, image: &Path, begun: &[u32], acked: &[u32]) -> Option<(bool, usize)> {
        let words = seen(&content(image)?, self.words, (self.apart, self.grows));
        let none_below = |a: &[u32], b: &[u32]| a.iter().zip(b).all(|(a, b)| a >= b);
        let concerned = |s: &&State| match self.listed {
            Listed::Survived => s.begun == begun && s.acked == acked,
            Listed::Tolerated => none_below(begun, &s.begun) && none_below(&s.acked, acked),
            Listed::Lost => none_below(acked, &s.acked),
        };
        let mut left: Vec<&State> = self.states.iter().filter(concerned).collect();
        let mut read = 0;
        while read < self.words && !left.is_empty() {
            left.retain(|s| s.words[read] == words[read]);
            read += 1;
        }
        if self.manner.damages {
            for file in files(image)? {
                let length = std::fs::metadata(&file).ok()?.len();
                std::fs::write(&file, vec![0xa5; length as usize]).ok()?;
            }
        }
        Some((left.is_empty() == (self.listed == Listed::Lost), read))
    }
}

/// Where a word lies in an image.
pub(super) fn place(word: usize, apart: usize) -> usize {
    word / WORDS * apart + word % WORDS * 8
}

/// So many words of an image, of which the last may be its length.
pub(super) fn seen(image: &[u8], words: usize, (apart, grows): (usize, bool)) -> Vec<u64> {
    let word = |w| match grows && w + 1 == words {
        true => image.len() as u64,
        false => word(image, place(w, apart)),
    };
    (0..words).map(word).collect()
}

/// A word of an image.
fn word(image: &[u8], at: usize) -> u64 {
    let piece = image.get(at..).unwrap_or_default();
    piece.iter().take(8).rev().fold(0, |v, b| v << 8 | u64::from(*b))
}

/// The files of an image, which is one or a folder of them.
fn files(image: &Path) -> Option<Vec<PathBuf>> {
    if !image.is_dir() {
        return Some(vec![image.to_owned()]);
    }
    let entries = std::fs::read_dir(image).ok()?;
    let mut files: Vec<PathBuf> = entries.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>().ok()?;
    files.sort();
    Some(files)
}

/// An image's bytes.
pub(super) fn content(image: &Path) -> Option<Vec<u8>> {
    let each: Vec<Vec<u8>> = files(image)?
        .iter()
        .map(|f| std::fs::read(f).ok())
        .collect::<Option<_>>()?;
    Some(each.concat())
}

fn list<T: std::str::FromStr>(text: &str) -> Option<Vec<T>> {
    text.split(',').map(|n| n.parse().ok()).collect()
}

/// Judges an image, or as many as it is asked for.
pub(crate) fn command(args: &[&str]) -> ExitCode {
    let judged = match *args {
        [rule] => Rule::read(Path::new(rule)).and_then(|rule| serve(&rule)),
        [rule, image] => Rule::read(Path::new(rule)).and_then(|rule| once(&rule, Path::new(image))),
        _ => None,
    };
    match judged {
        Some(true) => ExitCode::SUCCESS,
        Some(false) => {
            eprintln!("a state that recovery does not survive");
            ExitCode::from(1)
        }
        None => {
            eprintln!("usage: logs-audit FILE [IMAGE]");
            ExitCode::from(2)
        }
    }
}

fn once(rule: &Rule, image: &Path) -> Option<bool> {
    let of = |name| list(&std::env::var(name).ok()?);
    let (good, read) = rule.judge(image, &of("FENCEPOST_BEGUN")?, &of("FENCEPOST_ACKED")?)?;
    if let Ok(path) = std::env::var("FENCEPOST_READS") {
        let lines = match rule.manner.garbles {
            true => rule.reads(read.min(1)) + "read what there is\n",
            false => rule.reads(read),
        };
        std::fs::write(path, lines).ok()?;
    }
    if !good && rule.manner.damages {
        // As good a verdict as a status.
        std::process::abort();
    }
    Some(good)
}

/// `fencepost-server 1`: a process that judges many.
fn serve(rule: &Rule) -> Option<bool> {
    let mut out = std::io::stdout().lock();
    let mut say = |text: String| out.write_all(text.as_bytes()).and_then(|()| out.flush()).ok();
    let private = if rule.manner.damages { "" } else { " private" };
    say(format!("fencepost-server 1{private}\n"))?;
    for line in std::io::stdin().lock().lines() {
        let line = line.ok()?;
        let fields: Vec<&str> = line.split(' ').collect();
        let ["image", path, _, "begun", begun, "acked", acked] = fields[..] else {
            return None;
        };
        let (good, read) = rule.judge(Path::new(path), &list(begun)?, &list(acked)?)?;
        let reads = rule.reads(read);
        let answer = if good {
            "ok\n"
        } else {
            "fail a state that recovery does not survive\n"
        };
        say(reads + answer)?;
    }
    Some(true)
}
