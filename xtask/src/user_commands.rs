//! A fixed list of user commands, each with the exit code that it must end with.

use std::io;
use std::process::{Command, Stdio};

/// In front of the arguments: the name of a listed fault.
const PLANTED: &str = "FENCEPOST_FAULT=";
/// The list: exit code, then the arguments of `fencepost`.
const LIST: &str = include_str!("../mutants/commands.txt");

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserCommand {
    /// The arguments.
    pub args: Vec<String>,
    /// The listed fault that is planted, as `FENCEPOST_FAULT` names it.
    pub fault: Option<String>,
    /// How it must end.
    pub code: i32,
}

/// All of the list.
///
/// # Errors
/// A line is not understood.
pub(crate) fn all() -> Result<Vec<UserCommand>, String> {
    let lines = LIST
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty() && !l.starts_with('#'));
    lines
        .map(|l| read(l).ok_or_else(|| format!("not understood: {l}")))
        .collect()
}

/// Words apart by blanks; those between double quotes are one.
fn read(line: &str) -> Option<UserCommand> {
    let (code, rest) = line.split_once(' ')?;
    let mut args = Vec::new();
    for (i, piece) in rest.split('"').enumerate() {
        match i % 2 {
            0 => args.extend(piece.split_whitespace().map(str::to_owned)),
            _ => args.push(piece.to_owned()),
        }
    }
    let planted = |word: &String| word.strip_prefix(PLANTED).map(str::to_owned);
    let fault = args.first().and_then(planted);
    args.drain(..usize::from(fault.is_some()));
    let code = code.parse().ok()?;
    Some(UserCommand { args, fault, code })
}

impl std::fmt::Display for UserCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(fault) = &self.fault {
            write!(f, "{PLANTED}{fault} ")?;
        }
        write!(f, "fencepost {}", self.args.join(" "))
    }
}

impl UserCommand {
    /// What is set in its environment.
    fn environment(&self) -> Option<(&'static str, &str)> {
        Some(("FENCEPOST_FAULT", self.fault.as_deref()?))
    }
    /// Its exit code (none: a signal), and what it says with `--json`; `program` is the command `fencepost`, as far as its own first words.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn run(&self, program: &mut Command) -> io::Result<(Option<i32>, Vec<u8>)> {
        program.args(&self.args).current_dir(crate::sources::root());
        if !self.args.iter().any(|a| a == "--json") {
            program.arg("--json");
        }
        program.envs(self.environment());
        let output = program.stdin(Stdio::null()).stderr(Stdio::null()).output()?;
        Ok((output.status.code(), output.stdout))
    }
}

#[test]
fn the_list_is_understood() {
    assert!(all().expect("a list").len() > 150);
    let quoted = read("1 crash --log a.log --recover \"sh audit.sh\" -q").expect("a command");
    assert_eq!(
        quoted.args,
        ["crash", "--log", "a.log", "--recover", "sh audit.sh", "-q"]
    );
    assert_eq!((quoted.code, quoted.fault), (1, None));
    let planted = read("1 FENCEPOST_FAULT=so.x run sps").expect("a command");
    assert_eq!(planted.fault.as_deref(), Some("so.x"));
    assert_eq!(planted.args, ["run", "sps"]);
}
