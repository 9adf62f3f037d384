//! What a terminal shows: lines that fit, a start for who gives no command, names that shells complete.

use crate::common::{Folder, code, fencepost, json, refused, stderr};

fn shown(args: &[&str]) -> String {
    let o = fencepost(args);
    assert!(code(&o) < 2, "{args:?}: {}", stderr(&o));
    String::from_utf8_lossy(&o.stdout).into_owned()
}

/// Standard output is no terminal here, so that 80 columns hold. A command to copy stays on one line.
#[test]
fn text_fits_80_columns() {
    let small = ["--ops", "5", "--warmup", "1", "--threads", "2"];
    let with = |args: &[&'static str]| [args, &small].concat();
    let run = with(&["run", "cq", "-d", "delegated", "--check", "-vv"]);
    let convicted = with(&["run", "cq", "-d", "so-adr", "--media", "pcm", "--check"]);
    let compared = with(&["compare", "cq", "-d", "so,delegated", "--check"]);
    for args in [
        &["list"][..],
        &["list", "readings", "-v"],
        &["cost"],
        &[
            "crash",
            "cq",
            "--contract",
            "px86",
            "--variant",
            "missing-fence",
            "--ops",
            "2",
        ],
        &["config", "show", "l1.ways"],
        &["config", "diff", "--set", "l1.ways=8"],
        &run,
        &convicted,
        &compared,
    ] {
        let text = shown(args);
        let copied = |l: &&str| l.contains("fencepost replay '");
        let wide: Vec<&str> = text.lines().filter(|l| l.chars().count() > 80 && !copied(l)).collect();
        assert!(!text.is_empty() && wide.is_empty(), "{args:?}: {wide:#?}");
    }
}

#[test]
fn without_a_command_there_is_a_start() {
    let o = fencepost(&[]);
    assert_eq!(code(&o), 2);
    let text = stderr(&o);
    // What it names can be typed as it stands.
    for command in text.lines().filter_map(|l| l.trim().strip_prefix("fencepost ")) {
        let words: Vec<&str> = command.split("  ").next().unwrap_or_default().split(' ').collect();
        let o = fencepost(&[&["help"][..], &words[..1]].concat());
        assert!(words[0] == "help" || code(&o) == 0, "{command}");
    }
    assert!(
        text.contains("Start here") && text.lines().all(|l| l.chars().count() <= 80),
        "{text}"
    );
}

#[test]
fn every_command_has_an_example() {
    let help = shown(&["--help"]);
    let commands = help
        .split("Commands:")
        .nth(1)
        .and_then(|h| h.split("Options:").next())
        .unwrap_or_default();
    let names: Vec<&str> = commands.lines().filter_map(|l| l.split_whitespace().next()).collect();
    assert!(names.len() > 10, "{names:?}");
    for name in commands
        .lines()
        .filter(|l| l.starts_with("  ") && !l.starts_with("   "))
    {
        let name = name.split_whitespace().next().unwrap_or_default();
        if name != "help" {
            let text = shown(&["help", name]);
            assert!(
                text.contains(&format!("fencepost {name}")) && text.contains("Example"),
                "{name}"
            );
        }
    }
}

#[test]
fn one_value_is_shown_by_its_path() {
    let v = json(&["config", "show", "l1.ways", "--set", "l1.ways=8"]);
    assert_eq!((v["value"].as_str(), v["default"].as_str()), (Some("8"), Some("4")));
    refused(&["config", "show", "l1.way"], &["`l1.ways`"]);
}

#[test]
fn shells_complete_names_and_every_command_has_a_page() {
    let bash = shown(&["completions", "bash"]);
    for name in ["delegated", "rbtree", "ddr4-2400", "px86", "l1.ways="] {
        assert!(bash.contains(name), "{name}");
    }
    let folder = Folder::new("man");
    shown(&["man", "-o", folder.arg()]);
    for page in [
        "fencepost.1",
        "fencepost-run.1",
        "fencepost-config-show.1",
        "fencepost-native-net.1",
    ] {
        assert!(folder.path().join(page).is_file(), "{page}");
    }
}
