//! Recording a native program.

mod decode;
mod log;
mod ranges;
mod turn;

pub use decode::{Class, Operand, Register, classify};
pub use log::{Event, LogWriter};
pub use ranges::{Mapping, Mappings};
pub use turn::Turn;
