//! In which units and in which order lines become durable.

use clap::ValueEnum;
use fencepost_run::crash::{Grain, LineOrder};

/// Bytes that become durable at once.
#[derive(Copy, Clone, Debug, ValueEnum, PartialEq, Eq)]
pub enum GrainArg {
    /// Single bytes.
    #[value(name = "1")]
    Byte,
    /// Aligned words of 8 bytes.
    #[value(name = "8")]
    Word,
    /// Cache lines.
    #[value(name = "64")]
    Line,
}
impl From<GrainArg> for Grain {
    fn from(arg: GrainArg) -> Grain {
        match arg {
            GrainArg::Byte => Grain::Byte,
            GrainArg::Word => Grain::Word,
            GrainArg::Line => Grain::Line,
        }
    }
}

/// Persist order within a cache line.
#[derive(Copy, Clone, Debug, ValueEnum, PartialEq, Eq)]
pub enum LineOrderArg {
    /// Stores to one line become durable in the order in which they performed.
    Fifo,
    /// Only stores to one word do.
    None,
}
impl From<LineOrderArg> for LineOrder {
    fn from(arg: LineOrderArg) -> LineOrder {
        match arg {
            LineOrderArg::Fifo => LineOrder::Fifo,
            LineOrderArg::None => LineOrder::Unordered,
        }
    }
}
