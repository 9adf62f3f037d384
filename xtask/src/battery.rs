//! `battery [--design NAME] [--full] [--programs N]`: the battery of one or every design, as a table. It needs a build with faults.

use fencepost_battery::{Extent, Part, heading, run};
use fencepost_run::designs;
use std::process::ExitCode;

fn usage() -> ExitCode {
    eprintln!("usage: cargo run -p xtask -- battery [--design NAME] [--full] [--programs N]");
    ExitCode::from(2)
}

/// Runs it; 1 if something is wrong, 2 for an unknown design or option, and in builds without planted faults.
pub(crate) fn command(args: &[&str]) -> ExitCode {
    let (mut design, mut extent) = (None, Extent::sample());
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match (*arg, design) {
            ("--full", _) => extent = Extent::full(),
            ("--programs", _) => match rest.next().and_then(|n| n.parse().ok()) {
                Some(n) => extent.programs = n,
                None => return usage(),
            },
            ("--design", None) => design = Some(rest.next().copied().unwrap_or_default()),
            _ => return usage(),
        }
    }
    let all = designs();
    let chosen = match design.map(|name| all.iter().position(|d| d.name == name)) {
        None => all,
        Some(Some(i)) => &all[i..=i],
        Some(None) => {
            let known: Vec<_> = all.iter().map(|d| d.name).collect();
            eprintln!("no such design; there are {}", known.join(", "));
            return ExitCode::from(2);
        }
    };
    if crate::faults::lacking(&["battery"].iter().chain(args).copied().collect::<Vec<_>>().join(" ")) {
        return ExitCode::from(2);
    }
    println!("{}", heading());
    let verdicts = run(chosen, extent, &Part::ALL);
    verdicts.iter().for_each(|v| println!("{v}"));
    ExitCode::from(u8::from(verdicts.iter().any(|v| v.wrong().next().is_some())))
}
