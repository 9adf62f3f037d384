//! Running the command.

pub(crate) mod dice;
pub(crate) mod plugin;

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The command, not yet started.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.args(args).env("NO_COLOR", "1");
    command
}
/// Runs it with these arguments, and replays what it found.
pub(crate) fn fencepost(args: &[&str]) -> Output {
    let o = command(args).output().expect("the command starts");
    if args.first() != Some(&"replay") {
        replay_all(&o, Path::new("."));
    }
    o
}
/// Replays every id that was printed, where the command ran: each must name a state that is violated again. So every id
/// that a test of the command makes it print is replayed.
pub(crate) fn replay_all(printed: &Output, folder: &Path) {
    let text = String::from_utf8_lossy(&printed.stdout);
    let mut ids = Vec::new();
    match serde_json::from_str(&text) {
        Ok(document) => collect_ids(&document, &mut ids),
        Err(_) => {
            let quoted = text.split("fencepost replay '").skip(1);
            ids.extend(quoted.filter_map(|rest| Some(rest.split_once('\'')?.0.to_owned())));
        }
    }
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let own = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let image = std::env::temp_dir().join(format!("fencepost-replayed-{}-{}", own.0, own.1));
    for id in ids {
        let again = command(&["replay", &id, "-o"]).arg(&image).current_dir(folder).output();
        let again = again.expect("the command starts");
        let said = String::from_utf8_lossy(&again.stdout);
        assert_eq!(code(&again), 1, "replay {id}: {said}{}", stderr(&again));
    }
    // An image of several files is a folder.
    let _ = std::fs::remove_file(&image).or_else(|_| std::fs::remove_dir_all(&image));
}
/// The texts of all fields `replay` of a document.
fn collect_ids(value: &Value, ids: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value.as_str().filter(|_| key == "replay") {
                    Some(id) => ids.push(id.to_owned()),
                    None => collect_ids(value, ids),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|v| collect_ids(v, ids)),
        _ => {}
    }
}
/// Its exit code.
pub(crate) fn code(o: &Output) -> i32 {
    o.status.code().expect("an exit code")
}
/// What it wrote to standard error.
pub(crate) fn stderr(o: &Output) -> String {
    String::from_utf8_lossy(&o.stderr).into_owned()
}
/// The document that a command without bad input prints.
pub(crate) fn json(args: &[&str]) -> Value {
    let o = fencepost(&[args, &["--json"]].concat());
    assert!(code(&o) < 2, "{args:?}: {}", stderr(&o));
    serde_json::from_slice(&o.stdout).unwrap_or_else(|e| panic!("{args:?}: one document and nothing else: {e}"))
}
/// Refused as bad input, with all of these parts in the message, and nothing on standard output.
pub(crate) fn refused(args: &[&str], parts: &[&str]) {
    let o = fencepost(args);
    let text = stderr(&o);
    assert_eq!(code(&o), 2, "{args:?}: {text}");
    assert!(o.stdout.is_empty(), "{args:?} printed something");
    for p in parts {
        assert!(text.contains(p), "{args:?}: no `{p}` in {text}");
    }
    assert!(!text.contains("panicked"), "{text}");
}

/// Every file below a folder, without what runs cost on the host, which has files of its own.
pub(crate) fn files(root: &Path) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(root).expect("below the root").display().to_string();
            match path.is_dir() {
                true if name == "host" => {}
                true => folders.push(path),
                false => drop(out.insert(name, std::fs::read_to_string(&path).expect("text"))),
            }
        }
    }
    out
}

/// A folder of a test, removed with it.
pub(crate) struct Folder(PathBuf);
impl Folder {
    /// An empty folder.
    pub(crate) fn new(name: &str) -> Folder {
        let dir = std::env::temp_dir().join(format!("fencepost-test-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("the temporary folder is writable");
        Folder(dir)
    }
    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
    /// Its path as an argument.
    pub(crate) fn arg(&self) -> &str {
        self.0.to_str().expect("a path in UTF-8")
    }
    /// A file in it, as an argument.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("the temporary folder is writable");
        path.to_str().expect("a path in UTF-8").to_owned()
    }
}
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
