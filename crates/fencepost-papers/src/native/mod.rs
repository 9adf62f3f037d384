//! Programs on the real CPU, and machine files that simulate it.

mod core_file;
mod machine_file;
mod micro;
mod runs;
mod side_by_side;
mod wire;
mod wire_judge;

pub use fencepost_native::{
    Calibration, ClientsPlan, FlushWith, KillReport, MOST_CHANNELS, NativeError, ProtocolTimes, RunReport, ServerPlan,
    Times, Variant, WireKills, WireProtocol, WireTransport, litmus, remove_temporary_files, run_litmus,
};
pub use machine_file::{Calibrated, Simulates, calibrate};
pub use runs::{DESIGN, NativeRequest, killed, native, until_killed};
pub use side_by_side::{CLOSE, Compared, Comparison, SideBySide, side_by_side};
pub use wire::{NetChildren, NetReport, NetRequest, NetRow, net, net_clients, net_killed, net_server};
