//! A copy of the workspace in which a draw of mutants is built, once for all of them.

use super::lot::Mutant;
use super::switch::{Source, edit, edited};
use crate::sources::root;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The file of the copy that gains [`SWITCH`].
const KERNEL: &str = "crates/fencepost-kernel/src/lib.rs";
/// What the kernel gains in the copy: whether a mutant is the one that the environment names. Where the environment names a file, the
/// mutants that are reached are noted there, once each.
const SWITCH: &str = r#"
/// Whether this is the mutant that the environment asks for.
#[must_use]
pub fn mutant(number: usize) -> bool {
    use std::sync::OnceLock;
    static ASKED: OnceLock<(usize, Option<std::path::PathBuf>)> = OnceLock::new();
    let (asked, reached) = ASKED.get_or_init(|| {
        let number = std::env::var("FENCEPOST_MUTANT").ok().and_then(|n| n.parse().ok());
        (number.unwrap_or(usize::MAX), std::env::var_os("FENCEPOST_REACHED").map(Into::into))
    });
    if let Some(file) = reached {
        note_reached(number, file);
    }
    *asked == number
}
fn note_reached(number: usize, file: &std::path::Path) {
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, Ordering};
    static SEEN: [AtomicBool; 1 << 14] = [const { AtomicBool::new(false) }; 1 << 14];
    if SEEN.get(number).is_some_and(|s| !s.load(Ordering::Relaxed) && !s.swap(true, Ordering::Relaxed)) {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(file);
        let _ = file.and_then(|mut f| f.write_all(format!("{number}\n").as_bytes()));
    }
}
"#;

/// Builds the command and these tasks.
const PROGRAMS: [&str; 6] = ["build", "--workspace", "--bins", "--profile", "test", "-q"];

/// Crates whose tests run whole programs, so that they may catch a mutant of any other.
pub(super) const WHOLE: [&str; 3] = ["fencepost-battery", "fencepost-run", "fencepost"];

/// The copy, and the folder that it is built in.
pub(super) struct Tree {
    root: PathBuf,
    target: PathBuf,
    /// The files in which mutants will be planted, as they are now: whoever goes on writing in the workspace does not move the places.
    sources: BTreeMap<String, String>,
}

/// The test programs of a build, and what it puts beside them.
pub(super) struct Built {
    /// Test programs, each with the folder of its crate, in which it runs.
    pub tests: Vec<(PathBuf, PathBuf)>,
    /// The command.
    pub fencepost: PathBuf,
    /// These tasks.
    pub xtask: PathBuf,
}

impl Tree {
    /// A copy of all files that git knows or would add, but those in which mutants will be planted: they are written once.
    ///
    /// # Errors
    /// A file cannot be copied.
    pub(super) fn new(mutants: &[Mutant]) -> Result<Tree, String> {
        let mutated: BTreeSet<&str> = mutants.iter().map(|m| m.file.as_str()).collect();
        let read = |file: &str| match fs::read_to_string(root().join(file)) {
            Ok(text) => Ok((file.to_owned(), text)),
            Err(e) => Err(format!("{file}: {e}")),
        };
        let sources = mutated.iter().map(|f| read(f)).collect::<Result<_, _>>()?;
        let home = root().join("target/mutants");
        let tree = Tree {
            root: home.join("tree"),
            target: home.join("target"),
            sources,
        };
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let said = Command::new("git").args(list).current_dir(root()).output();
        let said = said.map_err(|e| e.to_string())?;
        if !said.status.success() {
            return Err(format!("git ls-files fails: {}", String::from_utf8_lossy(&said.stderr)));
        }
        for name in String::from_utf8_lossy(&said.stdout)
            .split('\0')
            .filter(|n| !n.is_empty())
        {
            if let Ok(to) = fs::read_link(root().join(name)) {
                link(&tree.root.join(name), &to)?;
                continue;
            }
            // A file that was deleted is still in the index.
            if let (false, Ok(mut bytes)) = (mutated.contains(name), fs::read(root().join(name))) {
                if name == KERNEL {
                    bytes.extend(SWITCH.bytes());
                }
                write(&tree.root.join(name), &bytes)?;
            }
        }
        Ok(tree)
    }

    /// Puts mutants into the sources of crates, those that can be switched and compile; returns the others with the reason,
    /// among them those that are known to be such (`out`). A mutant's number is its place in the list. `keep` is given what is out so far
    /// after each attempt: whoever stops it does not wait for the same errors again.
    ///
    /// # Errors
    /// The crate does not compile for another reason.
    pub(super) fn plant(
        &self,
        krates: &[String],
        mutants: &[Mutant],
        mut out: BTreeMap<usize, String>,
        mut keep: impl FnMut(&BTreeMap<usize, String>) -> Result<(), String>,
    ) -> Result<BTreeMap<usize, String>, String> {
        loop {
            self.write_sources(mutants, &mut out)?;
            keep(&out)?;
            let wrong = self.errors()?;
            if wrong.is_empty() {
                return Ok(out);
            }
            let before = out.len();
            for (file, line, why) in wrong {
                let mine = (0..mutants.len()).filter(|i| mutants[*i].file == file && !out.contains_key(i));
                let places: Vec<(usize, usize)> = mine.map(|i| (mutants[i].piece.start.0, i)).collect();
                // The nearest one that begins at this line or above: edits never add lines. Where an arm is gone, the match above it is
                // what does not compile.
                let above = places.iter().filter(|p| p.0 <= line).max();
                let nearest = above.or_else(|| places.iter().min());
                nearest.map(|(_, i)| out.insert(*i, why));
            }
            if out.len() == before {
                return Err(format!("{} does not compile in the copy", krates.join(", ")));
            }
        }
    }
    fn write_sources(&self, mutants: &[Mutant], out: &mut BTreeMap<usize, String>) -> Result<(), String> {
        for (file, text) in &self.sources {
            let source = Source::parse(text.clone())?;
            let (mut numbers, mut edits) = (Vec::new(), Vec::new());
            for i in (0..mutants.len()).filter(|i| mutants[*i].file == *file && *file != KERNEL) {
                if out.contains_key(&i) {
                    continue;
                }
                let kernel = match mutants[i].krate.as_str() {
                    "fencepost-kernel" => "crate",
                    _ => "::fencepost_kernel",
                };
                match edit(&source, &mutants[i], i, kernel) {
                    Ok(e) => (numbers.push(i), edits.push(e)).0,
                    Err(why) => drop(out.insert(i, why)),
                }
            }
            let (text, left_out) = edited(&source.text, &edits);
            out.extend(
                left_out
                    .iter()
                    .map(|e| (numbers[*e], "lies within another one of the draw".to_owned())),
            );
            write(&self.root.join(file), text.as_bytes())?;
        }
        Ok(())
    }
    fn cargo(&self, args: &[&str]) -> Command {
        let mut command = Command::new("cargo");
        command
            .args(args)
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target);
        command.stderr(Stdio::inherit());
        command
    }
    /// Files and lines of crates that do not compile. It builds what [`Tree::build`] wants of programs: features are those of the whole
    /// workspace, so that nothing is compiled for one of them alone, and an operation that always overflows is found too.
    fn errors(&self) -> Result<Vec<(String, usize, String)>, String> {
        let said = self
            .cargo(&[&PROGRAMS[..], &["--message-format=json", "--keep-going"]].concat())
            .output()
            .map_err(|e| e.to_string())?;
        let mut wrong = Vec::new();
        for message in messages(&said.stdout).filter(|m| m["message"]["level"] == "error") {
            let spans = message["message"]["spans"].as_array().cloned().unwrap_or_default();
            let why = message["message"]["message"].as_str().unwrap_or_default();
            for span in spans {
                let (file, line) = (span["file_name"].as_str(), span["line_start"].as_u64());
                if let (Some(file), Some(line)) = (file, line) {
                    wrong.push((file.to_owned(), line as usize, why.to_owned()));
                }
            }
        }
        match said.status.success() {
            true => Ok(Vec::new()),
            false if wrong.is_empty() => Err("the copy does not build, and no place is named".into()),
            false => Ok(wrong),
        }
    }
    /// Builds tests of the crates, the command and these tasks, all with one profile.
    ///
    /// # Errors
    /// The build fails.
    pub(super) fn build(&self, krates: &[String]) -> Result<Built, String> {
        let mut tests = self.cargo(&["build", "--tests", "--profile", "test", "--message-format=json", "-q"]);
        let tested = krates.iter().map(String::as_str).chain(WHOLE);
        tests.args(tested.flat_map(|k| ["-p", k]));
        let said = tests.output().map_err(|e| e.to_string())?;
        if !said.status.success() {
            return Err(format!("the tests of {} do not build in the copy", krates.join(", ")));
        }
        let artifact = |m: Value| {
            let program = m["executable"].as_str().filter(|_| m["profile"]["test"] == true)?;
            let folder = Path::new(m["manifest_path"].as_str()?).parent()?.to_owned();
            Some((PathBuf::from(program), folder))
        };
        let mut built = Built {
            tests: messages(&said.stdout).filter_map(artifact).collect(),
            fencepost: self.target.join("debug/fencepost"),
            xtask: self.target.join("debug/xtask"),
        };
        built.tests.sort();
        match self.errors()?.is_empty() {
            true => Ok(built),
            false => Err("the command does not build in the copy".into()),
        }
    }
}

fn messages(out: &[u8]) -> impl Iterator<Item = Value> {
    let text = String::from_utf8_lossy(out).into_owned();
    let lines: Vec<Value> = text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    lines.into_iter()
}

/// A symbolic link, as the workspace has them to folders.
fn link(path: &Path, to: &Path) -> Result<(), String> {
    if fs::read_link(path).is_ok_and(|old| old == to) {
        return Ok(());
    }
    let failed = |e: std::io::Error| format!("{}: {e}", path.display());
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
    std::os::unix::fs::symlink(to, path).map_err(failed)
}

/// Writes a file unless it is the same, so that what did not change is not built again.
fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let failed = |e: std::io::Error| format!("{}: {e}", path.display());
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
    fs::write(path, bytes).map_err(failed)
}
