//! Random recorded logs, and what the commands say of them, against a count by hand. Recovery
//! knows every state that the count allows and survives those alone, or does not survive one of them: a search that leaves a state out, makes
//! one that cannot be, loses an operation or keeps the wrong answer is told. So are a run of a design that leaves what its contract forbids,
//! and a judge that passes over a line that is late.

mod audit;
mod held;
mod observed;
mod program;
mod states;
mod texts;

pub(crate) use audit::command as audit;

use super::dice::Dice;
use held::Bench;
use program::Program;
use std::path::Path;

/// Holds so many logs to their states, from this seed on; with a plugin, and where there are a compiler and an emulator, recovery is watched as well.
///
/// # Errors
/// The folder cannot be written to; the first log of which a command says something else than the count by hand, and what.
pub(crate) fn hold(program: &Path, recovery: &Path, plugin: Option<&Path>, logs: u64, seed: u64) -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("fencepost-logs-{}-{seed}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let watched = plugin.is_some() && observed::compile(&folder)?;
    let bench = Bench {
        program: program.to_owned(),
        recovery: recovery.to_owned(),
        folder,
        plugin: plugin.filter(|_| watched).map(Path::to_owned),
    };
    for seed in (0..logs).map(|n| seed.wrapping_add(n)) {
        // Each by itself, so that one can be looked at.
        let mut rng = Dice::new(seed);
        let random = Program::random(&mut rng);
        bench
            .hold(&random, &mut rng)
            .map_err(|why| format!("seed {seed}:\n{}{why}", random.text(&[])))?;
    }
    let _ = std::fs::remove_dir_all(&bench.folder);
    Ok(())
}
