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

pub mod condition;
pub mod crash;
mod exec;
mod execution;
pub mod generate;
mod judge;
pub mod models;
pub mod op;
mod outcome;
mod parse;
pub mod path;
pub mod picture;
mod program;
mod promote;
pub mod relation;
pub mod test;

pub use execution::{Choice, Flow, Solution};
pub use judge::{Judge, Judged, UnknownJudge};
pub use models::Model;
pub use outcome::Outcome;
pub use parse::{ReadError, parse};
pub use program::{Program, ProgramError};
pub use promote::promote;
pub use test::{Arch, Test};
