//! The persist seam: the one place where a design plugs into the machine.
//!
//! A [`Design`] is one object for the whole machine and sees every thread. It is called at the moments listed in the
//! trait and acts only through [`Cx`], which offers exactly what a design may do and never the machine itself; `Cx`
//! is a trait, so a design is unit-tested without a machine.
//!
//! Two rules hold everywhere. *Refusals*: a hook that returns [`Gate::Wait`] names the stall cause and is asked again
//! after [`Cx::kick`]; there is no token to lose. *No recursion*: a
//! call on `Cx` never calls back into the design; what follows from it arrives later as a hook of its own.

mod cause;
mod cuts;
mod cx;
mod design;
mod disturbed;
mod fence;
mod parts;
mod recovery;
mod types;

pub use cx::Cx;
pub use design::{Design, straight_to_queue};
pub use disturbed::{Again, Disturbed, Outcome, disturbed, recovered};
pub use fence::{FenceAction, FenceExecution};
pub use parts::{ControllerParts, NetworkPort, Ranges, Statistics, Transactions, Versions};
pub use recovery::Recovery;
pub use types::*;
