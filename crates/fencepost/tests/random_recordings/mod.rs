//! Random programs recorded under the emulator, and what the recorder says of them, against what they did. A script says which
//! instructions and system calls each thread and process makes, a program in C plays it, and the log must have all of it and nothing else: each store
//! with its bytes, in an order in which every atomic and everything that was loaded has the value that is there, each flush, fence and sync, what
//! becomes of lengths, and that threads which wait for one another were seen to meet.

mod calls;
mod lines;
mod matched;
mod operations;
mod orders;
mod script;
mod spaces;

use super::dice::Dice;
use matched::Match;
use script::Script;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Designs that a log is run on, with their machines; the last two log in hardware.
const DESIGNS: [(&str, &str); 12] = [
    ("so", "dpo"),
    ("delegated", "dpo"),
    ("delegated-merge", "dpo"),
    ("x86-adr", "themis"),
    ("themis", "themis"),
    ("themis-llc", "themis"),
    ("broi", "broi"),
    ("epoch", "broi"),
    ("global-commit", "fgc"),
    ("per-task-commit", "fgc"),
    ("loc-wal", "loc"),
    ("loc-kiln", "loc"),
];

/// Where programs are played and recorded.
struct Bench {
    program: PathBuf,
    plugin: Option<PathBuf>,
    folder: PathBuf,
}

/// Holds so many recordings to their scripts, from this seed on; with a plugin of the emulator, or what the command finds. `Ok(false)` where there is no
/// compiler or no emulator.
///
/// # Errors
/// The folder cannot be written to; the first recording that says something else than its script, and what.
pub(crate) fn hold(program: &Path, plugin: Option<&Path>, scripts: u64, seed: u64) -> Result<bool, String> {
    if !(have("cc --version") && have("qemu-x86_64 --version | grep -q 'version 7.2'")) {
        return Ok(false);
    }
    let folder = std::env::temp_dir().join(format!("fencepost-recordings-{}-{seed}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let bench = Bench {
        program: program.to_owned(),
        plugin: plugin.map(Path::to_owned),
        folder,
    };
    bench.compile()?;
    for seed in (0..scripts).map(|n| seed.wrapping_add(n)) {
        // Each by itself, so that one can be looked at.
        let mut dice = Dice::new(seed);
        let script = Script::random(&mut dice);
        bench
            .hold(&script, &mut dice)
            .map_err(|why| format!("seed {seed}, in {}:\n{why}", bench.folder.display()))?;
    }
    let _ = std::fs::remove_dir_all(&bench.folder);
    Ok(true)
}
fn have(command: &str) -> bool {
    let found = Command::new("/bin/sh").args(["-c", command]).output();
    found.is_ok_and(|o| o.status.success())
}

impl Bench {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
    fn put(&self, name: &str, content: impl AsRef<[u8]>) -> Result<(), String> {
        std::fs::write(self.path(name), content).map_err(|e| format!("{name}: {e}"))
    }
    fn compile(&self) -> Result<(), String> {
        self.put("player.c", include_str!("player.c"))?;
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-g", "-mavx", "-pthread", "-o", "player", "player.c"]);
        let o = cc.current_dir(&self.folder).output().map_err(|e| e.to_string())?;
        let said = || String::from_utf8_lossy(&o.stderr).into_owned();
        if o.status.success() { Ok(()) } else { Err(said()) }
    }
    /// Plays a script under the recorder in some orders of its threads, and looks at each log.
    fn hold(&self, script: &Script, dice: &mut Dice) -> Result<(), String> {
        self.put("script", &script.text)?;
        let content: Vec<Vec<u8>> = script
            .first_lengths
            .iter()
            .map(|l| {
                (0..*l)
                    .map(|_| if dice.below(3) == 0 { 0 } else { dice.below(256) as u8 })
                    .collect()
            })
            .collect();
        let options = options(script, dice);
        let orders = if script.actors.len() == 1 { 1 } else { 3 };
        let mut executions = BTreeSet::new();
        for order in 0..orders {
            self.put_files(&content)?;
            self.record(
                script,
                &options,
                &["--schedules", "1", "-o", "log", "--seed", &order.to_string()],
            )?;
            let log = std::fs::read_to_string(self.path("log")).map_err(|e| e.to_string())?;
            let now: Result<Vec<Vec<u8>>, _> = (0..content.len())
                .map(|i| std::fs::read(self.path(&format!("f{i}"))))
                .collect();
            let now = now.map_err(|e| e.to_string())?;
            Match::new(script, &content)
                .hold(&log, &now)
                .map_err(|why| format!("order {order}: {why}"))?;
            executions.insert(without_work(&log));
        }
        if orders > 1 && dice.below(4) == 0 {
            // The same orders in one call: those that differ are kept.
            self.put_files(&content)?;
            let _ = std::fs::remove_dir_all(self.path("logs"));
            self.record(script, &options, &["--schedules", "3", "-o", "logs", "--seed", "0"])?;
            let kept = std::fs::read_dir(self.path("logs")).map_err(|e| e.to_string())?.count();
            if kept != executions.len() {
                return Err(format!(
                    "{kept} executions are kept, and there were {}",
                    executions.len()
                ));
            }
        }
        self.used(script.done, dice)
    }
    /// What takes a log takes this one: a checked run on a design conforms, and whatever survives everything finds no violation.
    fn used(&self, operations: bool, dice: &mut Dice) -> Result<(), String> {
        // A log without operations has no transactions.
        let designs = if operations { &DESIGNS[..] } else { &DESIGNS[..10] };
        let (design, machine) = designs[dice.below(designs.len() as u64) as usize];
        let log = self.path("log").display().to_string();
        let run = [
            "run",
            "--log",
            &log,
            "-d",
            design,
            "-m",
            machine,
            "--check",
            "--recover",
            "true",
            "--budget",
            "3",
        ];
        let crash = ["crash", "--log", &log, "--recover", "true", "--budget", "3"];
        let on = if dice.below(2) == 0 {
            ["-d", design]
        } else {
            ["--contract", "px86"]
        };
        for arguments in [&run[..], &[&crash[..], &on].concat()] {
            let o = Command::new(&self.program)
                .args(arguments)
                .env("NO_COLOR", "1")
                .output();
            let o = o.map_err(|e| e.to_string())?;
            let said = String::from_utf8_lossy(&[&o.stdout[..], &o.stderr[..]].concat()).into_owned();
            // Operations that run at once and store to one line are no transactions that could wait for one another.
            let stuck = operations && o.status.code() == Some(2) && said.contains("wait for one another for ever");
            if o.status.code() != Some(0) && !stuck {
                return Err(format!("fencepost {}: {}\n{said}", arguments.join(" "), o.status));
            }
        }
        Ok(())
    }
    fn put_files(&self, content: &[Vec<u8>]) -> Result<(), String> {
        for (i, bytes) in content.iter().enumerate() {
            self.put(&format!("f{i}"), bytes)?;
        }
        Ok(())
    }
    fn record(&self, script: &Script, options: &[&str], how: &[&str]) -> Result<(), String> {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder).env("NO_COLOR", "1");
        command.arg("record").args(how).args(options);
        if let Some(plugin) = &self.plugin {
            command.arg("--plugin").arg(plugin);
        }
        (0..script.first_lengths.len()).for_each(|i| {
            command.args(["--pm", &format!("f{i}")]);
        });
        let o = command
            .args(["--", "./player", "script"])
            .output()
            .map_err(|e| e.to_string())?;
        let said = String::from_utf8_lossy(&[&o.stdout[..], &o.stderr[..]].concat()).into_owned();
        match o.status.success() && said.contains("exit status: 0") {
            true => Ok(()),
            false => Err(format!("record: {said}")),
        }
    }
}

/// What a recording of a script is asked for besides.
fn options(script: &Script, dice: &mut Dice) -> Vec<&'static str> {
    let mut options = Vec::new();
    if script.region {
        options.extend(["--roi", "region"]);
    }
    if script.done {
        options.extend(["--ack-at", "done"]);
    }
    if dice.below(3) == 0 {
        options.extend(["--quantum", ["1", "3", "20"][dice.below(3) as usize]]);
    }
    if dice.below(4) == 0 {
        options.extend(["--memory", "all"]);
    }
    options
}
/// A log without the instructions between its events.
fn without_work(log: &str) -> String {
    let is_work = |line: &&str| line.split(' ').nth(1) == Some("work");
    log.lines().filter(|l| !is_work(l)).flat_map(|l| [l, "\n"]).collect()
}
