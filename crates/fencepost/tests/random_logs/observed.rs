//! Recovery that is watched while it runs: what it reads of its image, and what it leaves where power fails again.

use super::Dice;
use super::audit::{Listed, Manner};
use super::held::{Bench, counted, pick};
use super::program::Program;
use super::states::{State, States, states};
use std::path::Path;
use std::process::Command;

/// Ways in which the reader reads a word: by calls, by loads, by atomics, and where it has stored itself.
const WAYS: u64 = 8;
/// Crash states of a log at most on which power fails again.
const FEW: usize = 40;

/// The reader in C, compiled. `false` where there is no compiler, or no emulator that could watch it.
///
/// # Errors
/// It does not compile.
pub(super) fn compile(folder: &Path) -> Result<bool, String> {
    let have = |command: &str| {
        let found = Command::new("/bin/sh").args(["-c", command]).output();
        found.is_ok_and(|o| o.status.success())
    };
    if !(have("cc --version") && have("qemu-x86_64 --version | grep -q 'version 7.2'")) {
        return Ok(false);
    }
    let source = folder.join("reader.c");
    std::fs::write(&source, include_str!("reader.c")).map_err(|e| format!("{}: {e}", source.display()))?;
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-g", "-o"]).arg(folder.join("reader")).arg(&source);
    let o = cc.output().map_err(|e| e.to_string())?;
    match o.status.success() {
        true => Ok(true),
        false => Err(String::from_utf8_lossy(&o.stderr).into_owned()),
    }
}

impl Bench {
    /// The reader by a rule, as a command; `repairs`: whether it stores two words behind what it has read, in order or not, and with which of
    /// them there it fails.
    fn reader(
        &self,
        program: &Program,
        (listed, states): (Listed, &[&State]),
        (repairs, forbidden): (u64, u64),
        rng: &mut Dice,
    ) -> Result<String, String> {
        let rule = self.rule(program, (listed, Manner::default()), states)?;
        let words = states.first().map_or(1, |s| s.words.len()) as u64;
        let (how, first) = (rng.below(WAYS), rng.below(words));
        // Who repairs must find again what it has read.
        let how = if repairs > 0 { how % 6 } else { how };
        let damages = u64::from(repairs == 0 && rng.below(2) == 0);
        let reader = self.folder.join("reader");
        Ok(format!(
            "{} {rule} {how} {first} {damages} {repairs} {forbidden} {{}}",
            reader.display()
        ))
    }
    /// A search that branches over what recovery is seen to read covers all states that x86 allows, and no others.
    pub(super) fn observed(&self, log: &str, program: &Program, rng: &mut Dice) -> Result<(), String> {
        let Some(plugin) = self
            .plugin
            .as_ref()
            .filter(|_| !program.grows)
            .map(|p| p.display().to_string())
        else {
            return Ok(());
        };
        let left = states(program, true);
        let search = |recover: &str| {
            let args = ["crash", "--log", log, "--contract", "px86", "--recover", recover];
            self.run(&[&args[..], &["--reads", "emulator", "--plugin", &plugin]].concat())
        };
        let all: Vec<&State> = left.all.iter().collect();
        let allowed = self.reader(program, (Listed::Survived, &all), (0, 0), rng)?;
        counted(&search(&allowed)?, program, &left)?;
        let lost = self.reader(program, (Listed::Lost, &[pick(&left, rng)]), (0, 0), rng)?;
        search(&lost)?.must(1)?.is("verdict", &"violated".into())?;
        self.nested(program, &left, &plugin, rng)
    }
    /// Where power fails again while recovery repairs its image, what it has stored is there in each order that it has not forbidden.
    fn nested(&self, program: &Program, left: &States, plugin: &str, rng: &mut Dice) -> Result<(), String> {
        if left.all.len() > FEW {
            return Ok(());
        }
        let log = self.write("longer.log", &program.longer_text())?;
        let all: Vec<&State> = left.all.iter().collect();
        // The second of two words without the first, or the first without the second.
        let (ordered, second) = (rng.below(2) == 0, rng.below(2) == 0);
        let (repairs, forbidden) = (if ordered { 1 } else { 2 }, 1 << if second { 2 } else { 1 });
        let recover = self.reader(program, (Listed::Survived, &all), (repairs, forbidden), rng)?;
        let args = ["crash", "--log", &log, "--contract", "px86", "--recover", &recover];
        self.run(&args)?.must(0)?.is("verdict", &"clean".into())?;
        let again = self.run(&[&args[..], &["--nested", "--plugin", plugin]].concat())?;
        let (code, verdict) = if ordered && second {
            (0, "clean")
        } else {
            (1, "violated")
        };
        again.must(code)?.is("verdict", &verdict.into())?;
        Ok(())
    }
}
