//! Programs that are not ours: crash images of a recorded log, judged by the user's own recovery command, and the same log
//! on the simulated machine.

mod body;
mod check;
mod emulated;
mod in_flight;
mod log;
mod marks;
mod places;
mod program;
mod record;
mod recording;
mod recovery;
mod relocate;
mod run;
mod search;
mod sparse;
mod target;
mod translate;

pub use check::{CheckRequest, LoggedCheck};
pub use record::{RecordRequest, Recorded, SCHEDULES, record, remove_unfinished};
pub use recovery::command::{ReadsBy, Recover};
pub use recovery::emulator::{Emulator, check_emulator};
pub use run::{LogRequest, LoggedRun, run_log};
pub use search::found::{ExternalCrash, ExternalWitness};
pub use search::nested::Interrupted;
pub use search::replay_image::{ReplayedImage, is_image_id, replay_image};
pub use search::request::ExternalRequest;
pub use search::several::crash_logs;
pub use target::Target;
