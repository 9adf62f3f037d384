//! Recording a native program.

mod calls;
mod decode;
mod log;
mod ranges;
mod reads;
mod turn;

pub use calls::{Call, call, reads_all};
pub use decode::{Class, Operand, Register, classify};
pub use log::{Event, LogWriter};
pub use ranges::{Mapping, Mappings};
pub use reads::{Reads, View};
pub use turn::Turn;
