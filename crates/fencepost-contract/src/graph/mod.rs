//! Persist-order graphs: nodes, edges that say why they are there, sets of crash states as *cuts*.

mod axiom;
mod build;
mod cut;
mod extent;
mod history;
mod persist;
mod space;

pub use axiom::Axiom;
pub use build::{GraphBuilder, GraphError};
pub use cut::Cut;
pub use extent::Extent;
pub use history::{History, WhyLost};
pub use persist::{Grain, LocationId, NodeId, PersistGraph, Version, Write};
pub use space::{CrashSpace, FailurePoint, Must};
