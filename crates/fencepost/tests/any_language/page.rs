//! docs/any-language.md, followed to the letter.

use super::{Folder, have, plugin, text};
use std::path::Path;

/// What the page says and what follows from it: its commands run in their order in a copy of `examples/c`; a comment with
/// `(exit code N)` says how one ends, its first word is
/// the verdict, and `names X` what it prints.
#[test]
fn the_page_is_true() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/any-language.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let f = Folder::new("page");
    let mut run = 0;
    if !have("cc") {
        return;
    }
    for block in page.split("```sh").skip(1) {
        let (head, body) = block.split_once('\n').expect("a line");
        if !head.split_whitespace().all(have) {
            continue;
        }
        if head.contains("qemu") {
            let to = Path::new(env!("CARGO_BIN_EXE_fencepost")).with_file_name("libfencepost_qemu_plugin.so");
            std::fs::copy(plugin(), to).expect("the plugin lies beside the command");
        }
        let commands = body.split("```").next().expect("a block");
        for line in commands.lines() {
            let (command, comment) = line.split_once('#').unwrap_or((line, ""));
            let wanted = comment
                .split_once("(exit code ")
                .and_then(|c| c.1.trim_end_matches(')').parse().ok());
            let o = f.sh(command);
            assert_eq!(o.status.code(), Some(wanted.unwrap_or(0)), "{command}: {}", text(&o));
            let verdict = comment.split_whitespace().next().unwrap_or_default();
            if matches!(verdict, "clean" | "violated") {
                assert!(text(&o).contains(&format!("{verdict}: ")), "{command}: {}", text(&o));
            }
            let names = comment.split_once("names ").and_then(|c| c.1.split_whitespace().next());
            assert!(
                text(&o).contains(names.unwrap_or("")),
                "{command} does not name {names:?}: {}",
                text(&o)
            );
            run += 1;
        }
    }
    assert!(run >= 10, "{run}");
}
