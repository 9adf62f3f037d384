//! Programs that are not ours: crash images of a recorded log, judged by the user's own recovery command, and the same log
//! on the simulated machine.

mod log;
mod record;
mod recovery;
mod search;

pub use log::{LogRequest, LoggedRun, run_log};
pub use record::{RecordRequest, Recorded, record};
pub use recovery::command::{ReadsBy, Recover};
pub use recovery::emulator::{Emulator, check_emulator};
pub use search::found::{ExternalCrash, ExternalWitness};
pub use search::replay::{ReplayedImage, is_image_id, replay_image};
pub use search::request::ExternalRequest;
pub use search::states::crash_log;
