//! Common slips of the command line: what was most likely meant, as the command that says it.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use fencepost_run::config::{find_design, find_program};
use fencepost_run::{BadInput, LabError};
use std::ffi::OsString;

/// Advice on arguments that do not parse, where a slip is recognised.
pub(crate) fn advice(arguments: &[OsString], e: &clap::Error) -> Option<String> {
    if e.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(word)) = e.get(ContextKind::InvalidArg) else {
        return None;
    };
    let words: Vec<&str> = arguments.iter().skip(1).filter_map(|a| a.to_str()).collect();
    let at = words.iter().position(|w| w == word)?;
    let command = words.iter().find(|w| !w.starts_with('-'))?;
    let before = at.checked_sub(1).map(|i| words[i]);
    let path = before.filter(|_| at >= 2 && words[at - 2] == "--set");
    if let Some(path) = path.filter(|p| !p.contains('=')) {
        return Some(format!("a path and its value are one word: --set {path}={word}"));
    }
    match *command {
        "record" => {
            let rest = words[at..].join(" ");
            Some(format!(
                "the program follows `--`: fencepost record --pm FILE -- {rest}"
            ))
        }
        "run" | "crash" | "config" if is_design(word) => Some(format!(
            "a design follows -d: fencepost {command} {} -d {word}",
            program_of(&words)
        )),
        "run" | "crash" if is_program(word) => Some(format!(
            "`{command}` takes one program; several are compared: fencepost compare {} {word} -d so,delegated",
            program_of(&words)
        )),
        "compare" if is_design(word) => Some(format!("designs follow -d, separated by commas: -d {word}")),
        _ => None,
    }
}

fn program_of<'a>(words: &[&'a str]) -> &'a str {
    words.iter().copied().find(|w| is_program(w)).unwrap_or("cq")
}

fn is_design(word: &str) -> bool {
    find_design(word).is_ok()
}
fn is_program(word: &str) -> bool {
    find_program(word).is_ok()
}

/// Refuses several programs or designs where one runs.
pub(crate) fn one_only(program: &str, design: &str) -> Result<(), LabError> {
    let several = design.contains(',');
    if program != "all" && !several {
        return Ok(());
    }
    let what = match several {
        true => format!("`{design}` are several designs, and one runs here"),
        false => "`all` are several programs, and one runs here".to_owned(),
    };
    let programs = match program {
        "all" => "cq sps tatp",
        one => one,
    };
    let designs = match several {
        true => design.replace(' ', ""),
        false if matches!(design, "volatile" | "delegated") => "so,delegated".to_owned(),
        false => format!("{design},delegated"),
    };
    Err(BadInput::new(what)
        .hint(format!(
            "several are compared: fencepost compare {programs} -d {designs}"
        ))
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    fn advised(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let e = crate::args::Cli::try_parse_from(&words).expect_err("does not parse");
        advice(&words, &e).unwrap_or_else(|| panic!("no advice on `{line}`: {e}"))
    }

    #[test]
    fn slips_are_answered_with_the_command_that_was_meant() {
        assert!(advised("fencepost run cq so").contains("fencepost run cq -d so"));
        assert!(advised("fencepost run cq sps").contains("fencepost compare cq sps"));
        assert!(advised("fencepost record ls -l").contains("-- ls -l"));
        assert!(advised("fencepost run cq --set l1.ways 8").contains("--set l1.ways=8"));
        assert!(advised("fencepost config show cq so").contains("-d so"));
    }
    #[test]
    fn what_is_not_understood_gets_no_advice() {
        let words = ["fencepost", "run", "cq", "quux"].map(OsString::from);
        let e = crate::args::Cli::try_parse_from(&words).expect_err("does not parse");
        assert_eq!(advice(&words, &e), None);
    }
    #[test]
    fn several_are_sent_to_compare() {
        let hint = |p, d| one_only(p, d).expect_err("several").to_string();
        assert!(hint("cq", "so,delegated").contains("compare cq -d so,delegated"));
        assert!(hint("all", "volatile").ends_with("-d so,delegated)"));
        assert!(hint("all", "so").contains("compare cq sps tatp -d so,delegated"));
        assert!(one_only("cq", "so").is_ok());
    }
}
