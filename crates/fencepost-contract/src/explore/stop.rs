//! Why a run of recovery stops before its end.

use fencepost_kernel::{Addr, Violation};
use std::panic::Location;

/// A line of recovery's source.
pub(super) type Place = &'static Location<'static>;

/// An access that a processor would refuse.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub access: &'static str,
    pub problem: &'static str,
    pub at: Addr,
    pub place: Place,
}
impl Fault {
    /// As a violation, with the place in recovery's source.
    pub(super) fn violation(self) -> Violation {
        let (file, line) = (self.place.file(), self.place.line());
        let why = format!("recovery {} {} at {file}:{line}", self.access, self.problem);
        Violation::at(self.at, why)
    }
}

/// What stops a run of recovery before its end. Travels as a panic payload that no hook sees.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The continuation is known from an equal state.
    Merged,
    /// No smaller witness than the one in hand can follow.
    NotSmaller,
    /// The run goes on without end.
    Endless,
    /// The budget's time is over.
    OutOfTime,
    /// The run used an address that no memory has.
    Fault(Fault),
    /// The run took another way than the last time it was given the same values.
    Diverged,
}
impl Stop {
    /// Leaves the run at once.
    pub(super) fn unwind(self) -> ! {
        std::panic::resume_unwind(Box::new(self))
    }
}
