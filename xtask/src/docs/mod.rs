//! The documentation: its commands run, its links followed, its site built.

mod commands;
mod links;
mod site;
mod summary;

pub use commands::command as docs;
pub use site::command as site;
