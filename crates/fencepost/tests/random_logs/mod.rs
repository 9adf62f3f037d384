//! Random recorded logs, and what the commands say of them, against a count by hand. Recovery
//! knows every state that the count allows and survives those alone, or does not survive one of them: a search that leaves a state out, makes
//! one that cannot be, loses an operation or keeps the wrong answer is told. So are a run of a design that leaves what its contract forbids,
//! and a judge that passes over a line that is late.

mod audit;
mod held;
mod program;
mod states;

pub(crate) use audit::command as audit;

use held::Bench;
use program::Program;
use std::path::Path;

/// Random numbers (SplitMix64), the same on every host.
pub(crate) struct Dice(u64);
impl Dice {
    /// A number below `n`.
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % n
    }
}

/// Holds so many logs to their states, from this seed on.
///
/// # Errors
/// The folder cannot be written to; the first log of which a command says something else than the count by hand, and what.
pub(crate) fn hold(program: &Path, recovery: &Path, logs: u64, seed: u64) -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("fencepost-logs-{}-{seed}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let bench = Bench {
        program: program.to_owned(),
        recovery: recovery.to_owned(),
        folder,
    };
    for seed in (0..logs).map(|n| seed.wrapping_add(n)) {
        // Each by itself, so that one can be looked at.
        let mut rng = Dice(seed);
        let random = Program::random(&mut rng);
        bench
            .hold(&random, &mut rng)
            .map_err(|why| format!("seed {seed}:\n{}{why}", random.text(&[])))?;
    }
    let _ = std::fs::remove_dir_all(&bench.folder);
    Ok(())
}
