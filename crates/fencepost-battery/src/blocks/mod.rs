//! The command blocks of the documentation, run as a reader would run them.
//!
//! A block is fenced code whose language is `sh` or `console`. In `sh` each line is a command; `(exit code N)` in its comment says how
//! it ends, else with 0. In `console` a line that begins with `$` is a command, and what follows is its whole output, in which a line `...`
//! stands for any lines and `[..]` for anything within one. A page's commands run in one folder, in their order; `fencepost`
//! is the command under test. Words behind the language say more:
//!
//! - `file=NAME`, behind any language: the block is written to that file of the folder;
//! - `elsewhere=WHY`: not run, as it belongs on another host or is a command that takes hours; dashes stand for spaces;
//! - any other word is a tool that must be on the path; without it the block is skipped.
//!
//! `<!-- commands run in a copy of DIR -->` fills the folder beforehand; `beside a copy` puts the copy into it, by its name.

mod output;
mod parse;
mod run;

pub use parse::{Block, Step, blocks, steps};
pub use run::{Ran, run};
