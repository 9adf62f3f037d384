//! Development tasks.
//!
//! `cargo run -p xtask -- generate` rewrites the generated reference pages in `docs/`, with `--explored` the pages that take
//! an exploration; `digests` compares what a list of runs yields with what was recorded, `commands` does so for the list of user commands; `faults` lists the faults that can
//! be planted, with `--run` who convicts them; `explorer` compares the explorer with brute force; `logs` holds the commands for recorded logs to a count by hand, and `recordings` the recorder to what random programs did; `net` makes checked runs for as long
//! as it is given; `mutants` draws small changes by lot, and says who catches them; `rules` breaks every rule of a scoreboard by one; `families` runs every design with every
//! paper's programs and writes `docs/families.md`; `docs` runs the commands of the documentation, `site` builds it as a site; `reproductions`
//! makes the kept pages of the papers anew; `quotes` compares every quoted sentence with the texts of the papers; `inputs` varies every parameter of a
//! paper's runs alone and lists those that move its headline and are not declared; `bench` times two commits in turns; `growth` fits how time and memory grow; `circles` shows files that
//! depend on each other. The tests of this package fail when a page is out of date, when a crate or a component of the machine
//! imports what stands above it, when a crate has too many levels, when files come to depend on each other in a circle, when a planted fault stands at no named decision, or
//! when a file grows out of hand.

mod battery;
mod bench;
mod circles;
mod commands;
#[cfg(test)]
mod components;
mod convict;
#[cfg(test)]
mod depth;
mod dice;
mod digests;
mod docs;
mod explorer;
mod families;
mod faults;
mod fuzz;
mod generate;
mod growth;
mod inputs;
#[cfg(test)]
mod layers;
mod layout;
mod logs;
mod mutants;
mod net;
#[cfg(test)]
mod packages;
#[cfg(test)]
mod points;
mod quotes;
mod recordings;
mod reproductions;
mod rules;
mod schemas;
mod seeded;
#[cfg(test)]
mod size;
mod source_text;
mod sources;
mod user_commands;

use sources::write_pages;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|first| first == commands::AS_FENCEPOST) {
        return ExitCode::from(fencepost::run(std::env::args_os().skip(1)));
    }
    if let Err(refused) = fencepost_kernel::fault::check() {
        eprintln!("{refused}");
        return ExitCode::from(2);
    }
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["generate"] => match generate::pages() {
            Ok(pages) => write_pages(pages),
            Err(e) => {
                eprintln!("{e}");
                ExitCode::from(3)
            }
        },
        ["generate", "--explored"] => write_pages(generate::explored_pages()),
        ["fuzz", ref rest @ ..] => fuzz(rest),
        ["digests", "--write"] => match digests::write() {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) => {
                eprintln!("cannot write the list: {e}");
                ExitCode::from(2)
            }
        },
        ["digests"] => match digests::differences(1) {
            Ok(wrong) => {
                for (recorded, now) in &wrong {
                    println!("recorded {recorded}\n     now {now}");
                }
                println!("{} configurations differ", wrong.len());
                ExitCode::from(u8::from(!wrong.is_empty()))
            }
            Err(e) => {
                eprintln!("cannot read the list: {e}");
                ExitCode::from(2)
            }
        },
        ["families"] => families::command("runs/families"),
        ["families", "-o", folder] => families::command(folder),
        ["docs", "--command", file, ref pages @ ..] => docs::docs(Some(file), pages),
        ["docs", ref pages @ ..] => docs::docs(None, pages),
        ["site"] => docs::site(false),
        ["site", "--api"] => docs::site(true),
        ["reproductions", ref papers @ ..] => reproductions::command(papers),
        ["circles"] => circles(),
        ["commands", ref rest @ ..] => commands::command(rest),
        ["explorer", ref rest @ ..] => explorer::command(rest),
        ["mutants", ref rest @ ..] => mutants::command(rest),
        ["logs", ref rest @ ..] => logs::command(rest),
        ["logs-audit", ref rest @ ..] => logs::audit(rest),
        ["net", ref rest @ ..] => net::command(rest),
        ["bench", ref rest @ ..] => bench::command(rest),
        ["growth", ref rest @ ..] => growth::command(rest),
        ["recordings", ref rest @ ..] => recordings::command(rest),
        ["battery", ref rest @ ..] => battery::command(rest),
        ["inputs", ref rest @ ..] => inputs::command(rest),
        ["quotes", "--papers", folder] => quotes::command(folder),
        ["rules"] => rules::command(None),
        ["rules", check] => rules::command(Some(check)),
        ["faults", "--run", ref only @ ..] => convict::command(only),
        ["faults"] => {
            for f in faults::all() {
                println!("{}\t{}\t{}", f.name, f.breaks, f.place);
            }
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!(
                "usage: cargo run -p xtask -- generate [--explored] | docs [--command FILE] [PAGE..] | site [--api] | reproductions [--check] [PAPER..] | battery [--design NAME] [--full] [--programs N] | fuzz [TARGET] [--time 60s] | digests [--write] | commands [--write | --every N] | \
                 faults [--run [--seconds N] [NAME..]] | rules [CHECK] | explorer [--programs N] [--seed S] | logs [--logs N] [--seed S] | recordings [--scripts N] [--seed S] | net [--minutes M] [--seed S] | mutants --crate C[,C] --sample N --seed S | quotes --papers DIR | inputs PAPER | families [-o DIR] | bench A B [--rounds N] [-- ARGS..] | growth [--full | --count] [PROGRAM | AXIS].. | circles"
            );
            ExitCode::from(2)
        }
    }
}

fn fuzz(args: &[&str]) -> ExitCode {
    let (only, time) = match *args {
        [] => (None, Some("60s")),
        ["--time", time] => (None, Some(time)),
        [only] => (Some(only), Some("60s")),
        [only, "--time", time] => (Some(only), Some(time)),
        _ => (None, None),
    };
    let outcome = match time.and_then(fuzz::duration) {
        Some(time) => fuzz::run(only, time),
        None => Err("usage: cargo run -p xtask -- fuzz [TARGET] [--time 60s]".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(2)
        }
    }
}

/// Prints the circles among the files of each crate.
fn circles() -> ExitCode {
    let all = match circles::all() {
        Ok(all) => all,
        Err(e) => {
            eprintln!("cannot read the sources: {e}");
            return ExitCode::from(2);
        }
    };
    for (name, circles) in all {
        println!(
            "{name}: {} files in {} circles",
            circles.iter().map(|c| c.len()).sum::<usize>(),
            circles.len()
        );
        for circle in circles {
            for (file, uses) in circle {
                println!("    {file} uses {}", Vec::from_iter(uses).join(", "));
            }
            println!();
        }
    }
    ExitCode::SUCCESS
}
