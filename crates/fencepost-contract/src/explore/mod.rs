//! Exploration of every crash state that a contract allows.
//!
//! Recovery runs on *sets* of crash states ([`CrashMem`]): a load that can return several values splits the set, each
//! part narrowed to the states that return that value, and recovery is run for each. Continuations from equal states
//! of recovery, with equal views of the words they still read, are run once; that also holds between the crash points
//! of an execution. So the cost follows what recovery reads and distinguishes, not the number of crash states.
//!
//! Recovery comes as a chain of steps ([`Recovery`], [`steps`]), which all programs of the kernel's
//! [`fencepost_kernel::Program`] kind are ([`Oracle`]), or as plain Rust with `cut` marks ([`plain`]).

mod bounded;
mod check;
mod count;
mod explorer;
mod guard;
mod known;
mod memo;
mod memory;
mod order;
mod path;
mod plain;
mod prefixes;
mod record;
mod recovery;
mod replay;
mod report;
mod search;
mod steps;
mod witness;
mod work;

pub use check::{BadBudget, CheckError, CrashCheck, ProgramRun};
pub use explorer::{Explorer, Replayed};
pub use memory::{CrashMem, ImageMem, SetupMem};
pub use plain::{PlainSubject, plain};
pub use prefixes::{BrokenPrefix, PrefixReport, check_prefixes};
pub use record::{Granularity, RecordError, RecordMem, Recorder, Recording, Schedule, Waiter, record_program};
pub use recovery::{Oracle, Phase, Recovery, Steps};
pub use replay::{ReplayError, ReplayId};
pub use report::{Budget, Report, Verdict};
pub use search::{ExploreError, Subject};
pub use steps::{StepSubject, steps};
pub use witness::{Deviation, NamedStore, Witness};
