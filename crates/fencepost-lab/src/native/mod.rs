//! Programs on the real CPU, and machine files that simulate it.

mod machine_file;
mod micro;
mod runs;
mod side_by_side;

pub use fencepost_native::{Calibration, FlushWith, KillReport, NativeError, RunReport, Times, Variant};
pub use machine_file::{Calibrated, Simulates, calibrate};
pub use runs::{DESIGN, NativeRequest, killed, native, until_killed};
pub use side_by_side::{Compared, SideBySide, side_by_side};
