//! Moments at which the power fails.

use crate::units::LineAddr;

/// What had happened, per thread, when the power failed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CrashPoint {
    /// Operations that had begun: none beyond these may be visible.
    pub begun: Vec<u32>,
    /// Operations acknowledged as durable: all of these must be visible.
    pub acked: Vec<u32>,
}

/// An earlier crash point, every crash state of which passed its audit, as [`Mem::judged`](crate::Mem::judged) names it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What had begun and been acknowledged there.
    pub crash: CrashPoint,
    /// The lines, ascending, that may hold something else now, in whichever crash state this is.
    pub changed: Vec<LineAddr>,
}
