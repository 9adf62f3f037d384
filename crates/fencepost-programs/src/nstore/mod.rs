//! A write-ahead-logged tuple engine and two benchmarks on it.
//!
//! Tables are arrays of tuples of one size, updated in place; an index leads from a key to its tuple. Before a tuple changes, the log
//! keeps what it held (undo records in a list that one store cuts at commit): the engine's own form is `undo-list` of the transaction
//! runtime, the runtime's other logged schemes stand beside it. What orders its persists by hand (`raw`) or logs regions (`ido`) has no
//! form here and is refused.
//!
//! Used by fgc (Table III) and broi (Table IV).

mod tpcc;
mod ycsb;

pub use tpcc::{Tpcc, TpccModel, TpccParams, Transaction};
pub use ycsb::{Request, Ycsb, YcsbParams};

use crate::choices::{Scheme, schemes_for};

/// The engine's own form first.
const SCHEMES: &[Scheme] = schemes_for!(Stores, first UndoList);
