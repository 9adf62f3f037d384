//! `docs`: every command block of the documentation.

use super::summary;
use crate::sources::root;
use fencepost_battery::blocks::run;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Pages at a time.
const JOBS: usize = 2;

/// Runs the commands of all pages, or of those named, with this command or one built now; exit code 1 where one is not as the page says.
pub(crate) fn command(fencepost: Option<&str>, pages: &[&str]) -> ExitCode {
    let pages: Vec<String> = match pages {
        [] => summary::pages(),
        named => named.iter().map(|p| (*p).to_owned()).collect(),
    };
    // Absolute, as blocks run in folders of their own.
    let given = |file: &str| std::path::absolute(file).map_err(|e| format!("{file}: {e}"));
    match fencepost
        .map_or_else(built, given)
        .and_then(|fencepost| all(&pages, &fencepost))
    {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(2)
        }
    }
}

/// The command, built by the profile of this task itself, or by that of the tests.
fn built() -> Result<PathBuf, String> {
    let folder = std::env::current_exe().map_err(|e| format!("this task is not found: {e}"))?;
    let folder = folder.parent().unwrap_or(&folder);
    let profile = match folder.file_name().and_then(|n| n.to_str()) {
        // `cargo test` has built that.
        Some("debug") | None => "test",
        Some(name) => name,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .current_dir(root())
        .args(["build", "--profile", profile, "-p", "fencepost"]);
    let ended = build.status().map_err(|e| format!("cargo does not start: {e}"))?;
    ended
        .success()
        .then(|| folder.join("fencepost"))
        .ok_or_else(|| "the command does not build".into())
}

fn all(pages: &[String], fencepost: &std::path::Path) -> Result<bool, String> {
    let (next, said) = (AtomicUsize::new(0), Mutex::new((0, 0, Vec::new())));
    let work = || {
        while let Some(page) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
            let ran = run(&root(), page, fencepost, &|_| true).unwrap_or_else(|e| fencepost_battery::blocks::Ran {
                wrong: vec![format!("{page}: {e}")],
                ..Default::default()
            });
            let mut said = said.lock().unwrap_or_else(|e| e.into_inner());
            if ran.run + ran.skipped.len() + ran.wrong.len() > 0 {
                println!("{page}: {} commands, {} not as shown", ran.run, ran.wrong.len());
            }
            ran.skipped.iter().for_each(|s| println!("    skipped {s}"));
            (said.0, said.1) = (said.0 + ran.run, said.1 + ran.skipped.len());
            said.2.extend(ran.wrong);
        }
    };
    thread::scope(|s| (0..JOBS).for_each(|_| drop(s.spawn(work))));
    let (run, skipped, wrong) = said.into_inner().unwrap_or_else(|e| e.into_inner());
    wrong.iter().for_each(|w| println!("\n{w}"));
    println!(
        "{run} commands ran, {skipped} blocks were skipped, {} were not as shown",
        wrong.len()
    );
    Ok(wrong.is_empty())
}
