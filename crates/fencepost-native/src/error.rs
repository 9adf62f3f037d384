//! Why a native run is refused.

use fencepost_programs::ProgramError;
use std::path::PathBuf;

/// Why a program does not run on the real CPU. All are the user's or the machine's to mend.
#[derive(Debug, thiserror::Error)]
pub enum NativeError {
    /// Not x86-64 Linux.
    #[error(
        "native runs need an x86-64 CPU under Linux; this is {} on {}",
        std::env::consts::ARCH,
        std::env::consts::OS
    )]
    Host,
    /// The processor cannot write a cache line back.
    #[error("this CPU has none of clwb, clflushopt and clflush")]
    NoFlush,
    /// What was not to be used is all there is.
    #[error("this CPU has none of clwb, clflushopt and clflush besides those given as --without")]
    NoFlushLeft,
    /// The program or its settings.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// No such way of running.
    #[error("{0}")]
    Refused(String),
    /// The memory file could not be made, mapped or read.
    #[error("cannot {action} {}: {why}", path.display())]
    File {
        /// "create", "map".
        action: &'static str,
        /// Which.
        path: PathBuf,
        /// The system's reason.
        why: std::io::Error,
    },
    /// The child of a kill test did not behave.
    #[error("the process to be killed {0}")]
    Child(String),
}
