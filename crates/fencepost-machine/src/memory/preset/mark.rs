//! Where the values of a medium come from.

/// Where a value comes from.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The paper states it.
    Paper,
    /// A device standard or a published part states it.
    Standard,
    /// The simulator that the paper names has it, where the paper is silent.
    Simulator,
    /// Chosen here, because nothing states it.
    Ours,
}

/// Origin of one value of a preset.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The parameter of `MediaSpec`.
    pub field: &'static str,
    /// Where its value comes from.
    pub origin: Origin,
    /// The source, or the reason.
    pub note: &'static str,
}

pub(super) const fn mark(field: &'static str, origin: Origin, note: &'static str) -> Mark {
    Mark { field, origin, note }
}

pub(super) const NO_REFRESH: &str = "phase-change cells need no refresh";

pub(super) const NO_DESTROY: &str =
    "array reads do not destroy the row, so it need not be restored before it is closed";
