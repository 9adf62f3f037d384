//! The user's own recovery command: how it is named and started, what it is given, and what it said.

pub(crate) mod command;
pub(crate) mod deadline;
pub(crate) mod emulator;
pub(crate) mod image;
pub(crate) mod plugin;
pub(crate) mod pool;
mod process;
pub(crate) mod runner;
pub(crate) mod scratch;
mod served;
mod server;
pub(crate) mod text;
