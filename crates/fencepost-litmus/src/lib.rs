//! Litmus tests: what a memory model allows of a tiny program, and what a power failure may leave of it.
//!
//! Tests are read in herd's `.litmus` format ([`parse`]), their candidate executions are enumerated ([`Program`]), and consistency
//! models ([`Model`]) say which of them are allowed.
//!
//! ```
//! use fencepost_litmus::{Model, Outcome, parse};
//! let test = parse("X86 SB
//! { x=0; y=0; }
//!  P0          | P1          ;
//!  MOV [x],$1  | MOV [y],$1  ;
//!  MOV EAX,[y] | MOV EAX,[x] ;
//! exists (0:EAX=0 /\\ 1:EAX=0)")?;
//! let tso = Outcome::of(&test, Model::Tso)?;
//! assert_eq!((tso.observation(), tso.states.len()), ("Sometimes", 4));
//! assert_eq!(Outcome::of(&test, Model::Sc)?.observation(), "Never");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod crash;
mod executions;
mod format;
pub mod generate;
mod paths;
pub mod picture;
mod verdicts;

pub use executions::execution::{Choice, Flow, Solution};
pub use executions::models::Model;
pub use executions::outcome::Outcome;
pub use executions::{models, relation};
pub use format::parse::{ReadError, parse};
pub use format::test::{Arch, Test};
pub use format::{condition, op, test};
pub use paths::path;
pub use paths::program::{Program, ProgramError};
pub use verdicts::judge::{Judge, Judged, UnknownJudge};
pub use verdicts::promote::promote;
