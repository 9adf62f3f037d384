//! The commands for recorded logs held to the states that a count by hand gives.

use super::Dice;
use super::audit::{Listed, Manner, content, seen, text};
use super::program::{Program, What};
use super::states::{State, States, apart, cuts, durable_lines, states};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where the commands and their files are.
pub(super) struct Bench {
    /// The command `fencepost`.
    pub program: PathBuf,
    /// This program, which is the recovery as well.
    pub recovery: PathBuf,
    /// A folder for logs and rules.
    pub folder: PathBuf,
    /// The emulator's plugin, where there is an emulator to watch recovery.
    pub plugin: Option<PathBuf>,
}

/// Designs whose instructions keep what x86's flushes and fences keep, on a machine where they do.
const AS_X86: [&[&str]; 6] = [
    &["-d", "so", "-m", "dpo"],
    &["-d", "so-adr", "-m", "dpo", "--media", "pwq"],
    &["-d", "x86-adr", "-m", "themis", "--media", "pwq"],
    &["-d", "themis", "-m", "themis", "--media", "pwq"],
    &["-d", "global-commit", "-m", "fgc"],
    &["-d", "per-task-commit", "-m", "fgc"],
];
/// Designs that promise something else: what a run of one leaves its contract must allow.
const OTHERS: [&[&str]; 6] = [
    &["-d", "volatile", "-m", "dpo"],
    &["-d", "delegated", "-m", "dpo"],
    &["-d", "delegated-merge", "-m", "dpo"],
    &["-d", "themis-llc", "-m", "themis", "--media", "pwq"],
    &["-d", "x86-ideal", "-m", "dpo", "--media", "pwq"],
    &["-d", "broi", "-m", "broi"],
];
/// Designs that log in hardware: an operation is a transaction of theirs.
const LOGGED: [&[&str]; 5] = [
    &["-d", "h-wal", "-m", "dpo"],
    &["-d", "ec-wal", "-m", "loc"],
    &["-d", "loc-wal", "-m", "loc"],
    &["-d", "kiln", "-m", "loc"],
    &["-d", "loc-kiln", "-m", "fgc"],
];
/// Ways to ask for the same search.
const WAYS: [&[&str]; 7] = [
    &[],
    &["--memory", "4GiB"],
    &["--timeout", "1m", "--reads", "report"],
    &["--reads", "report"],
    &["--server"],
    &["--server", "--reads", "report"],
    &["--jobs", "1", "--reads"],
];

/// How a command ended, and the document that it said.
pub(super) struct Ended {
    code: Option<i32>,
    said: Value,
    asked: String,
    /// Whether its threads cannot go on.
    stuck: bool,
}

impl Ended {
    pub(super) fn must(&self, code: i32) -> Result<&Self, String> {
        match self.code == Some(code) {
            true => Ok(self),
            false => Err(format!(
                "{}\nended with {:?} and should with {code}",
                self.asked, self.code
            )),
        }
    }
    pub(super) fn is(&self, field: &str, value: &Value) -> Result<&Self, String> {
        match &self.said[field] == value {
            true => Ok(self),
            false => Err(format!(
                "{}\n`{field}` is {}, and should be {value}",
                self.asked, self.said[field]
            )),
        }
    }
}

impl Bench {
    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
    pub(super) fn write(&self, name: &str, text: &str) -> Result<String, String> {
        let path = self.path(name);
        std::fs::write(&path, text).map_err(|e| format!("{path}: {e}"))?;
        Ok(path)
    }
    pub(super) fn run(&self, args: &[&str]) -> Result<Ended, String> {
        let mut command = Command::new(&self.program);
        command.args(args).arg("--json").stdin(Stdio::null());
        let out = command
            .output()
            .map_err(|e| format!("{}: {e}", self.program.display()))?;
        Ok(Ended {
            code: out.status.code(),
            said: serde_json::from_slice(&out.stdout).unwrap_or(Value::Null),
            asked: format!("fencepost {}", args.join(" ")),
            stuck: out.status.code() == Some(2)
                && String::from_utf8_lossy(&out.stderr).contains("wait for one another for ever"),
        })
    }
    /// The recovery by a rule. All have one name, so that what is kept of one may not be taken for what another says.
    fn recovery(&self, of: &Program, how: (Listed, Manner), all: &[&State]) -> Result<String, String> {
        let rule = self.rule(of, how, all)?;
        Ok(format!("{} logs-audit {rule}", self.recovery.display()))
    }
    /// A rule as a file.
    pub(super) fn rule(&self, of: &Program, how: (Listed, Manner), all: &[&State]) -> Result<String, String> {
        self.write("rule", &text(of, how, all.iter().copied()))
    }

    /// One log, in every respect.
    ///
    /// # Errors
    /// The command that says something else than the count by hand, and what.
    pub(super) fn hold(&self, program: &Program, rng: &mut Dice) -> Result<(), String> {
        let log = self.write("random.log", &program.text(&[]))?;
        self.contract(&log, program, rng)?;
        self.observed(&log, program, rng)?;
        self.bounded(&log, program, rng)?;
        self.executions(program, rng)?;
        self.of_pmemcheck(program)?;
        self.designs(&log, program, rng)?;
        self.judged(program, rng)
    }

    /// All crash states that x86 allows, and no others.
    fn contract(&self, log: &str, program: &Program, rng: &mut Dice) -> Result<(), String> {
        let way = WAYS[rng.below(WAYS.len() as u64) as usize];
        let line_order = rng.below(3) > 0;
        let left = states(program, line_order);
        let order: &[&str] = if line_order { &[] } else { &["--line-order", "none"] };
        let told = self.told(log, program, rng)?;
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        let search = |recover: &str, kept: &[&str]| {
            let args = ["crash", "--contract", "px86", "--recover", recover];
            self.run(&[&args, &told[..], way, order, kept].concat())
        };
        let damages = Manner {
            garbles: rng.below(4) == 0,
            ..damages(rng)
        };
        let allowed = self.recovery(
            program,
            (Listed::Survived, damages),
            &left.all.iter().collect::<Vec<_>>(),
        )?;
        let folder = self.path("kept");
        let _ = std::fs::remove_dir_all(&folder);
        let whole = search(&allowed, &["-o", &folder])?;
        counted(&whole, program, &left)?;
        // What is kept needs no second run, and says nothing of another recovery.
        let again = search(&allowed, &["-o", &folder])?;
        counted(&again, program, &left)?;
        again.is("recoveries", &0.into())?;
        let lost = pick(&left, rng);
        let other = self.recovery(program, (Listed::Lost, damages), &[lost])?;
        let found = search(&other, &["-o", &folder])?;
        found.must(1)?.is("verdict", &"violated".into())?;
        self.witness(&found, program, lost, &folder)
    }

    /// The log as arguments: what memory holds before is told by it, or by an image, which may end where nothing follows but zeros.
    fn told(&self, log: &str, program: &Program, rng: &mut Dice) -> Result<Vec<String>, String> {
        let by_image = !program.files && rng.below(2) == 0;
        let mut args = vec!["--log".to_owned(), log.to_owned()];
        if by_image {
            let text = program.text(&[]);
            let lines: Vec<&str> = text.lines().filter(|l| !l.starts_with("initial")).collect();
            args[1] = self.write("no-words.log", &(lines.join("\n") + "\n"))?;
            let mut image = program.image();
            while rng.below(300) > 0 && image.last() == Some(&0) {
                image.pop();
            }
            let path = self.path("image");
            std::fs::write(&path, image).map_err(|e| format!("{path}: {e}"))?;
            args.extend(["--image".to_owned(), path]);
        }
        Ok(args)
    }

    /// A search that a budget ends says so, and no other does.
    fn bounded(&self, log: &str, program: &Program, rng: &mut Dice) -> Result<(), String> {
        let left = states(program, true);
        let allowed = self.recovery(
            program,
            (Listed::Survived, Manner::default()),
            &left.all.iter().collect::<Vec<_>>(),
        )?;
        let args = ["crash", "--log", log, "--contract", "px86", "--recover", &allowed];
        let runs = self.run(&args)?.said["recoveries"].as_u64().unwrap_or_default();
        let budget = 1 + rng.below(runs + 1);
        let found = self.run(&[&args[..], &["--budget", &budget.to_string(), "--require-complete"]].concat())?;
        let (code, verdict) = if budget < runs { (4, "bounded") } else { (0, "clean") };
        found
            .must(code)?
            .is("verdict", &verdict.into())?
            .is("recoveries", &budget.min(runs).into())?;
        let all = found.said["states_covered"] == found.said["states_total"];
        match all == (code == 0) {
            true => Ok(()),
            false => Err(format!(
                "{}\nsays of another part of the states that it is covered",
                found.asked
            )),
        }
    }

    /// A log of two executions has the states of both, and what breaks one of them breaks the log.
    fn executions(&self, program: &Program, rng: &mut Dice) -> Result<(), String> {
        let other = program.shuffled(rng);
        let log = self.write("two.log", &(program.text(&[]) + &other.text(&[])))?;
        let both = [states(program, true), states(&other, true)];
        let all: Vec<&State> = both.iter().flat_map(|s| &s.all).collect();
        let search = |recover: &str, more: &[&str]| {
            let args = ["crash", "--log", &log, "--contract", "px86", "--recover", recover];
            self.run(&[&args, more].concat())
        };
        let whole = search(
            &self.recovery(program, (Listed::Survived, Manner::default()), &all)?,
            &[],
        )?;
        let stores = program.stores().count() as u64;
        whole
            .must(0)?
            .is("executions", &2.into())?
            .is("stores", &(2 * stores).into())?;
        let bounded = search("true", &["--budget", "2"])?;
        let more = bounded.said["states_covered"] != bounded.said["states_total"];
        bounded
            .must(0)?
            .is("verdict", &if more { "bounded" } else { "clean" }.into())?;
        // One that the second alone leaves, where there is one.
        let only: Vec<&State> = both[1].all.difference(&both[0].all).collect();
        let lost = match only.len() as u64 {
            0 => pick(&both[rng.below(2) as usize], rng),
            n => only[rng.below(n) as usize],
        };
        let recover = self.recovery(program, (Listed::Lost, Manner::default()), &[lost])?;
        let folder = self.path("kept-of-two");
        let _ = std::fs::remove_dir_all(&folder);
        let found = search(&recover, &["-o", &folder])?;
        found.must(1)?;
        self.witness(&found, program, lost, &folder)
    }

    /// The same as a log of pmemcheck, as far as that has words for it.
    fn of_pmemcheck(&self, program: &Program) -> Result<(), String> {
        let program = program.as_pmemcheck();
        let Some(text) = program.pmemcheck_text() else {
            return Ok(());
        };
        let log = self.write("pmemcheck.log", &text)?;
        let left = states(&program, true);
        let allowed = self.recovery(
            &program,
            (Listed::Survived, Manner::default()),
            &left.all.iter().collect::<Vec<_>>(),
        )?;
        counted(
            &self.run(&["crash", "--log", &log, "--contract", "px86", "--recover", &allowed])?,
            &program,
            &left,
        )
    }

    /// The failing image is the one that recovery does not survive, and its id makes it again.
    fn witness(&self, found: &Ended, program: &Program, lost: &State, folder: &str) -> Result<(), String> {
        let words = program.seen(&lost.words);
        let of = (program.apart, program.grows);
        let holds = |path: &Path| seen(&content(path).unwrap_or_default(), words.len(), of) == words;
        let image = Path::new(found.said["witness"]["image"].as_str().unwrap_or_default());
        if !image.starts_with(folder) || !holds(image) {
            return Err(format!("{}\nthe failing image is another one", found.asked));
        }
        let id = found.said["witness"]["replay"].as_str().unwrap_or_default();
        let image = self.path("again.img");
        let _ = std::fs::remove_file(&image);
        let _ = std::fs::remove_dir_all(&image);
        self.run(&["replay", id, "-o", &image])?.must(1)?;
        match holds(Path::new(&image)) {
            true => Ok(()),
            false => Err(format!("fencepost replay {id} -o {image}\nthe image is another one")),
        }
    }

    /// What runs of designs leave behind, those that x86's instructions suffice for, and others by their own contracts.
    fn designs(&self, log: &str, program: &Program, rng: &mut Dice) -> Result<(), String> {
        let of = |list: &[&'static [&'static str]], rng: &mut Dice| list[rng.below(list.len() as u64) as usize];
        let check = |design: &[&str], recover: &str| {
            self.run(&[&["run", "--log", log, "--check", "--recover", recover], design].concat())
        };
        // A failure before anything is durable leaves what was there before.
        let nothing = State {
            begun: vec![0; program.threads],
            acked: vec![0; program.threads],
            words: program.initial.clone(),
        };
        let lost = self.recovery(program, (Listed::Lost, Manner::default()), &[&nothing])?;
        // A log without operations has no transactions.
        let logged = rng.below(4) > 0 && program.events.iter().any(|e| matches!(e.what, What::Begin(_)));
        let list: &[_] = if logged { &LOGGED } else { &AS_X86 };
        let ended = check(of(list, rng), &lost)?;
        if logged && program.shares() && ended.stuck {
            // Operations that run at once and store to one line are no transactions that could wait for one another.
            return Ok(());
        }
        ended.must(1)?;
        if program.shares() {
            // A run has its threads in an order of its own, and with it another newest store.
            return Ok(());
        }
        let allowed = apart(program);
        let listed = (Listed::Tolerated, damages(rng));
        let allowed = self.recovery(program, listed, &allowed.iter().collect::<Vec<_>>())?;
        check(of(&AS_X86, rng), &allowed)?.must(0)?;
        let seen = cuts(program);
        let seen = self.recovery(
            program,
            (Listed::Tolerated, Manner::default()),
            &seen.iter().collect::<Vec<_>>(),
        )?;
        let design = &of(&AS_X86, rng)[..2];
        self.run(&[&["crash", "--log", log, "--recover", &seen], design].concat())?
            .must(0)?;
        if program.threads > 1 {
            // A run has its threads in an order of its own, and the log's contract in that of the log.
            return Ok(());
        }
        // Any content that stores in order may leave, with nothing durable for sure.
        let unflushed = states(&program.without_flushes(), true);
        let lost = self.recovery(program, (Listed::Lost, Manner::default()), &[pick(&unflushed, rng)])?;
        let design = of(&OTHERS, rng);
        let ran = check(design, &lost)?;
        let name = &design[..2];
        let searched = self.run(&[&["crash", "--log", log, "--recover", &lost], name].concat())?;
        match (ran.code, searched.code) {
            (Some(0), Some(0 | 1)) | (Some(1), Some(1)) => Ok(()),
            (ran_code, code) => Err(format!(
                "{}\nended with {ran_code:?}, and\n{}\nwith {code:?}",
                ran.asked, searched.asked
            )),
        }
    }

    /// Lines that become durable in time conform, and one that is late does not.
    fn judged(&self, program: &Program, rng: &mut Dice) -> Result<(), String> {
        for (late, code) in [(false, 0), (true, 1)] {
            let mut choose = |n: usize| rng.below(n as u64) as usize;
            let Some(durable) = durable_lines(program, &mut choose, late) else {
                continue;
            };
            let log = self.write("judged.log", &program.text(&durable))?;
            self.run(&["judge", &log, "--contract", "px86"])?.must(code)?;
        }
        Ok(())
    }
}

/// A recovery that leaves its image alone, or not.
fn damages(rng: &mut Dice) -> Manner {
    Manner {
        damages: rng.below(2) == 0,
        ..Manner::default()
    }
}

pub(super) fn pick<'a>(left: &'a States, rng: &mut Dice) -> &'a State {
    let at = rng.below(left.all.len() as u64) as usize;
    left.all.iter().nth(at).expect("there is always one")
}

/// A search that found nothing has counted as the count by hand.
pub(super) fn counted(found: &Ended, program: &Program, left: &States) -> Result<(), String> {
    found
        .must(0)?
        .is("verdict", &"clean".into())?
        .is("threads", &(program.threads as u64).into())?
        .is("stores", &(program.stores().count() as u64).into())?
        .is("states_covered", &found.said["states_total"])?;
    let total = u64::try_from(left.counted).map_err(|e| e.to_string())?;
    found
        .is("crash_points", &left.points.into())?
        .is("states_total", &total.into())?;
    Ok(())
}
