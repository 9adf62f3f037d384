//! Runs driven by traces, of several processes, or that commit only now and then: what they need, and why they have no verdict.

use super::machine::MachineConfig;
use super::parts::{DrivenBy, General};
use crate::error::BadInput;
use fencepost_programs::About;

/// Whether the threads replay traces.
pub(super) fn traced(machine: &MachineConfig) -> bool {
    machine.general.driven_by == DrivenBy::Trace
}

/// Refuses processes that cannot be, and traces of a program whose threads race.
pub(super) fn possible(machine: &MachineConfig, about: &About, threads: u32) -> Result<(), BadInput> {
    let processes = u32::from(machine.general.processes);
    if traced(machine) && about.races {
        let why = format!(
            "threads of `{}` race and roll transactions back: they have no trace",
            about.name
        );
        return Err(at(machine, "driven_by", BadInput::new(why)));
    }
    if processes > 1 && !traced(machine) {
        let e = BadInput::new(format!("{processes} processes are driven by traces only"));
        return Err(at(machine, "processes", e.hint("--set machine.driven_by=trace")));
    }
    if !threads.is_multiple_of(processes) {
        let e = BadInput::new(format!(
            "{threads} threads cannot be shared out to {processes} processes"
        ));
        return Err(at(machine, "processes", e.hint("ask for a multiple: --threads N")));
    }
    Ok(())
}

fn at(machine: &MachineConfig, key: &str, e: BadInput) -> BadInput {
    match machine.origins.get(&("machine".to_owned(), key.to_owned())) {
        Some(origin) => e.at(origin.place.clone()),
        None => e,
    }
}

/// Why a run has no verdict, if it has none. One thread alone never waits for a lock: its trace computes what the program does.
pub(super) fn no_verdict(general: &General, threads: u32) -> Option<&'static str> {
    if general.driven_by == DrivenBy::Trace && threads > 1 {
        return Some("the traces of threads are replayed without waiting for locks: such a run has no verdict");
    }
    (general.commit_every > 1).then_some("commits are left out (machine.commit_every): such a run has no verdict")
}
