//! `mutants --crate C[,C] --sample N --seed S [--jobs J] [--minutes M] [--again] [--build] [--no-net]`: small changes of a crate drawn by lot, and who catches which.
//!
//! `cargo mutants` names every mutant; the draw is planted behind switches in a copy of the workspace, which is built once, and each mutant
//! then runs by itself: the list of user commands first, then single tests of the crate and of those that run whole programs, the battery of
//! each design, then a piece of the net, until one of them catches it.
//! What was tried is kept in `target/mutants`; the same call goes on where it was stopped or where its minutes were over, `--again` tries once more what was missed, `--build` only builds, and `--no-net` leaves the nets out, which take minutes for each mutant that is missed.
//! The report is by file. Mutants of which [`mutant_report::equivalents`] argues that nobody can tell them from the original count by themselves.

mod jobs;
mod lot;
mod mutant_report;
mod nets;
mod store;
mod switch;
mod takes;
mod tree;

use jobs::each;
use nets::Check;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use store::{Fate, Store};
use takes::Takes;
use tree::Tree;

/// Some mutants cannot be switched at run time, so more are drawn than asked for.
const SPARE: usize = 2;

struct Options {
    krates: Vec<String>,
    sample: usize,
    seed: u64,
    jobs: usize,
    /// No mutant is begun later.
    until: Option<Instant>,
    again: bool,
    build: bool,
    no_net: bool,
}
impl Options {
    fn read(args: &[&str]) -> Option<Options> {
        let (mut krates, mut sample, mut seed, mut jobs) = (Vec::new(), None, None, 2);
        let (mut again, mut build, mut no_net, mut until) = (false, false, false, None);
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            match *arg {
                "--crate" => krates.extend(rest.next()?.split(',').map(package)),
                "--sample" => sample = Some(rest.next()?.parse().ok()?),
                "--seed" => seed = Some(rest.next()?.parse().ok()?),
                "--jobs" => jobs = rest.next()?.parse().ok()?,
                "--minutes" => {
                    let minutes: u64 = rest.next()?.parse().ok()?;
                    until = Some(Instant::now() + Duration::from_secs(60 * minutes));
                }
                "--again" => again = true,
                "--build" => build = true,
                "--no-net" => no_net = true,
                _ => return None,
            }
        }
        (!krates.is_empty()).then_some(())?;
        Some(Options {
            krates,
            sample: sample?,
            seed: seed?,
            jobs,
            until,
            again,
            build,
            no_net,
        })
    }
}
fn package(name: &str) -> String {
    let short = name.strip_prefix("fencepost-").unwrap_or(name);
    format!("fencepost-{short}")
}

/// Runs it; 1 if a mutant was missed that is not argued to be equivalent, 2 if it cannot be tried.
pub(crate) fn command(args: &[&str]) -> ExitCode {
    let Some(options) = Options::read(args) else {
        eprintln!(
            "usage: cargo run -p xtask -- mutants --crate C[,C] --sample N --seed S [--jobs J] [--minutes M] [--again] [--build] [--no-net]"
        );
        return ExitCode::from(2);
    };
    match draw(&options) {
        Ok(missed) => ExitCode::from(u8::from(missed > 0)),
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

/// How many were missed.
fn draw(options: &Options) -> Result<usize, String> {
    let mut store = Store::open(options.seed)?;
    let (mut drawn, mut keys, mut totals) = (Vec::new(), Vec::new(), Vec::new());
    for krate in &options.krates {
        let all = lot::all(krate)?;
        let of_all = store::keys(&all)?;
        totals.push(all.len());
        let order = lot::order(&of_all, options.seed, |key| store.fate(key).is_some());
        for i in order.into_iter().take(options.sample * SPARE) {
            drawn.push(all[i].clone());
            keys.push(of_all[i].clone());
        }
    }
    let known = (0..drawn.len()).filter_map(|i| match store.fate(&keys[i]) {
        Some(Fate::NotSwitched(why)) => Some((i, why.clone())),
        _ => None,
    });
    let tree = Tree::new(&drawn)?;
    let known = known.collect();
    let out = tree.plant(&options.krates, &drawn, known, |out| {
        let mut all = out.iter();
        all.try_for_each(|(i, why)| store.add(&keys[*i], Fate::NotSwitched(why.clone())))
    })?;
    let built = tree.build(&options.krates)?;
    if options.build {
        return Ok(0);
    }
    let folder = crate::sources::root();
    let mut takes = Takes::open(&built.fencepost)?;
    let (commands, _) = nets::timed(nets::commands(&built, &folder)?, &mut takes, options.jobs)?;
    let (batteries, _) = nets::timed(nets::batteries(&built, &folder), &mut takes, options.jobs)?;
    let net = match options.no_net {
        true => Vec::new(),
        false => nets::timed(nets::net(&built, &folder), &mut takes, options.jobs)?.0,
    };
    let (store, mut missed) = (Mutex::new(store), 0);
    for (krate, total) in options.krates.iter().zip(totals) {
        let (tests, left_out) = nets::timed(nets::tests(&built, krate)?, &mut takes, options.jobs)?;
        left_out.iter().for_each(|t| println!("left out, {t}"));
        let own = |i: &usize| drawn[*i].krate == *krate && !out.contains_key(i);
        let chosen: Vec<usize> = (0..drawn.len()).filter(own).take(options.sample).collect();
        let nets = [&commands, &tests, &batteries, &net];
        each(&chosen, options.jobs, |i| {
            let known = store.lock().map_err(|e| e.to_string())?.fate(&keys[i]).cloned();
            match known {
                Some(Fate::Caught { .. }) => return Ok(()),
                Some(Fate::Missed) if !options.again => return Ok(()),
                _ if options.until.is_some_and(|until| Instant::now() >= until) => return Ok(()),
                _ => {}
            }
            let fate = fate(nets.into_iter().flatten(), i)?;
            println!("{fate}  {}", keys[i]);
            store.lock().map_err(|e| e.to_string())?.add(&keys[i], fate)
        })?;
        let store = store.lock().map_err(|e| e.to_string())?;
        let fates = chosen
            .iter()
            .filter_map(|i| Some((keys[*i].as_str(), store.fate(&keys[*i])?)));
        let of_crate = out.keys().filter(|i| drawn[**i].krate == *krate).count();
        let (text, count) = mutant_report::of((krate, options.seed), total, of_crate, fates);
        print!("{text}");
        let left = chosen.iter().filter(|i| store.fate(&keys[**i]).is_none()).count();
        if left > 0 {
            println!("{left} are left; the same call goes on with them");
        }
        missed += count;
    }
    Ok(missed)
}

fn fate<'a>(nets: impl Iterator<Item = &'a Check>, mutant: usize) -> Result<Fate, String> {
    for check in nets {
        if let Some(how) = check.catches(mutant).map_err(|e| e.to_string())? {
            return Ok(Fate::Caught {
                by: check.name.clone(),
                how,
            });
        }
    }
    Ok(Fate::Missed)
}

/// Each line has its four parts, and its file has such a line. Change and source may have the sign that separates parts.
#[test]
fn arguments_are_about_lines_that_there_are() {
    for line in mutant_report::equivalents() {
        let parts = line.split_once(" | ").zip(line.rsplit_once(" | "));
        let ((file, _), (key, why)) = parts.unwrap_or_else(|| panic!("{line}"));
        assert!(why.len() > 20, "{line}");
        let text = std::fs::read_to_string(crate::sources::root().join(file)).expect("a source");
        let is_there = |source: &str| text.lines().any(|l| l.trim() == source);
        let mut cuts = key.match_indices(" | ").skip(1);
        assert!(cuts.any(|(at, _)| is_there(&key[at + 3..])), "{line}");
    }
}
