//! The command as users and scripts see it.

mod any_language;
mod checking;
mod cli;
mod common;
mod hard_use;
mod litmus;
mod native;
mod native_net;
mod pages;
mod random_recordings;
mod resuming;
mod sweeps;
mod terminal;
mod verdicts;

use common::dice;
