//! docs/any-language.md, the tutorial of ranges and the pages of docs/languages, followed to the letter.

use super::{Folder, have, plugin, text};
use std::path::Path;
use std::sync::Once;

/// What a page says and what follows from it: its files are written and its commands run in their order in a folder with what is in
/// `examples/c`. A block whose head names a file is that file; the head of a block of commands names what they need. A comment with
/// `(exit code N)` says how a command ends, its first word is the verdict, and `names X` what it prints. How many commands ran.
fn follow(page: &str, folder: &str) -> usize {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let page = std::fs::read_to_string(page).expect("the page");
    let f = Folder::new(folder);
    let mut run = 0;
    for block in page.split("\n```").skip(1).step_by(2) {
        let (head, body) = block.split_once('\n').expect("a line");
        let mut head = head.split_whitespace();
        let language = head.next();
        let rest: Vec<&str> = head.collect();
        match (language, rest.as_slice()) {
            (_, [file]) if file.contains('.') => {
                f.write(file, &format!("{body}\n"));
            }
            (Some("sh"), tools) if tools.iter().all(|tool| have(tool)) => {
                if tools.contains(&"qemu") {
                    PLUGIN.call_once(beside_the_command);
                }
                run += body
                    .lines()
                    .filter(|l| !l.is_empty())
                    .map(|line| follow_line(&f, line))
                    .count();
            }
            _ => {}
        }
    }
    run
}
/// The plugin lies beside the command, as it does where that is installed.
static PLUGIN: Once = Once::new();

/// Puts it there in one step: tests of other processes may be running it, and must never find half of it.
fn beside_the_command() {
    let to = Path::new(env!("CARGO_BIN_EXE_fencepost")).with_file_name("libfencepost_qemu_plugin.so");
    let part = to.with_extension(format!("{}.part", std::process::id()));
    std::fs::copy(plugin(), &part).expect("the plugin is copied");
    std::fs::rename(part, to).expect("the plugin lies beside the command");
}
fn follow_line(f: &Folder, line: &str) {
    let (command, comment) = line.split_once(" # ").unwrap_or((line, ""));
    let wanted = comment
        .split_once("(exit code ")
        .and_then(|c| c.1.trim_end_matches(')').parse().ok());
    let o = f.sh(command);
    assert_eq!(o.status.code(), Some(wanted.unwrap_or(0)), "{command}: {}", text(&o));
    let verdict = comment
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .trim_end_matches(':');
    if matches!(verdict, "clean" | "violated") {
        assert!(text(&o).contains(&format!("{verdict}: ")), "{command}: {}", text(&o));
    }
    let names = comment.split_once("names ").and_then(|c| c.1.split_whitespace().next());
    assert!(
        text(&o).contains(names.unwrap_or("")),
        "{command} does not name {names:?}: {}",
        text(&o)
    );
}

#[test]
fn the_page_is_true() {
    if have("cc") {
        let run = follow("any-language.md", "page");
        assert!(run >= 8, "{run}");
        assert!(run >= 16 || !have("qemu"), "{run}");
    }
}
/// The right program is clean, and each of its four mistakes is convicted.
#[test]
fn the_tutorial_of_ranges_is_true() {
    let run = follow("tutorials/commit-a-range.md", "ranges");
    assert!(run == 13 || !have("cc"), "{run}");
}
#[test]
fn the_page_of_pmdk_is_true() {
    follow("languages/pmdk.md", "pmdk");
}
#[test]
fn the_page_of_sqlite_is_true() {
    follow("languages/sqlite.md", "sqlite");
}
#[test]
fn the_page_of_go_is_true() {
    follow("languages/go.md", "go");
}
#[test]
fn the_page_of_python_is_true() {
    let run = follow("languages/python.md", "python");
    assert!(run >= 2 || !have("python3"), "{run}");
}
#[test]
fn the_page_of_java_is_true() {
    follow("languages/java.md", "java");
}
