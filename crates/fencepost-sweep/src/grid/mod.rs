//! Grids: which runs a sweep has, as a file or another program says it, and each of them by its number.
//!
//! A grid is a list of blocks; every block yields cells, and a cell is a run. All cells begin with what `[base]` sets.
//!
//! ```toml
//! [base]
//! design = "delegated"
//! [[product]]
//! program = ["cq", "sps"]
//! "design.delegated.entries" = { from = 4, to = 8 }
//! skip = [{ program = "sps", "design.delegated.entries" = [7, 8] }]
//! ```

mod axes;
mod block;
mod conditions;
mod latin;
mod node;
mod plan;
mod request;

pub use node::{Kind, Node, Scalar};
pub use plan::{Cell, MOST, Plan};
