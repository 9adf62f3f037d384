//! Programs that are not ours: crash images of a recorded log, judged by the user's own recovery command, and the same log
//! on the simulated machine.

mod command;
mod deadline;
mod emulator;
mod found;
mod image;
mod kept;
mod log;
mod pool;
mod process;
mod record;
mod replay;
mod request;
mod runner;
mod scratch;
mod search;
mod server;
mod text;

pub use emulator::{Emulator, check_emulator};
pub use found::{ExternalCrash, ExternalWitness};
pub use log::{LogRequest, LoggedRun, run_log};
pub use record::{RecordRequest, Recorded, record};
pub use replay::{ReplayedImage, is_image_id, replay_image};
pub use request::ExternalRequest;
pub use search::crash_log;

pub use command::{ReadsBy, Recover};
