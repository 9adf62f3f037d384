//! Native runs on x86-64 Linux. The parts that are public are for measurements of one's own.
//!
//! `run` and `kill` compile every program of the registry. Unit tests do without them; `tests/` has theirs.
#![cfg_attr(test, allow(dead_code))]

pub mod addresses;
mod any;
mod calibrate;
mod chain;
mod checked;
pub mod choice;
mod computing;
pub mod cpu;
pub mod file;
mod instructions;
#[cfg(not(test))]
mod kill;
pub mod litmus;
pub mod mapping;
pub mod memory;
mod parent;
mod patience;
pub mod pinned;
mod progress;
mod recovered_file;
mod recovering;
mod replay_ops;
#[cfg(not(test))]
mod run;
mod sample;
mod scratch;
mod stepped;
mod timed;
mod watched;
mod wire;
mod words;

pub use calibrate::{calibrate, clflush_and_mfence, logged_stores};
pub use cpu::flush_instruction;
#[cfg(not(test))]
pub use kill::{killed, until_killed};
#[cfg(not(test))]
pub use run::run;
pub use scratch::remove_temporary_files;
pub use wire::{
    Children, Judge, killed as wire_killed, persist as wire_clients, serve as wire_server, timed as wire_timed,
};
