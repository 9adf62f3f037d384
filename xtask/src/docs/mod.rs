//! The documentation: its commands run, its links followed, its site built.

mod commands;
mod links;
mod site;
mod summary;

pub(crate) use commands::command as docs;
pub(crate) use site::command as site;
