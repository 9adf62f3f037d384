//! The programs of the registry where they are run: as threads of the simulated machine, and before the crash checker.
//!
//! Programs are generic over memory, so each is compiled for each memory it runs on. That happens here, once; whoever runs programs
//! sees [`AnyProgram`], so that neither a change of a design nor one of the checks above compiles any program again.

mod any;
mod steady;
mod threads;

pub use any::{AnyProgram, any_program};
pub use steady::{WarmUp, resident_lines};
pub use threads::{Run, thread_body};
