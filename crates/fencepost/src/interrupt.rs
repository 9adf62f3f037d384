//! SIGINT (Ctrl-C), SIGTERM and SIGHUP: the file that is being written is finished, temporary ones are removed, and the message says how to go on.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is said when the user interrupts.
static MESSAGE: Mutex<String> = Mutex::new(String::new());
/// Whether nothing is said.
static SILENT: AtomicBool = AtomicBool::new(false);

/// Exit code of an interrupted command, as shells expect it: 128 and the number of SIGINT, whichever signal it was.
const INTERRUPTED: i32 = 130;

/// Handles the signals from now on.
pub(crate) fn install() {
    // Without a handler a signal ends the process all the same, only without a message.
    let _ = ctrlc::set_handler(|| {
        fencepost_run::store::finish_writing();
        fencepost_papers::native::remove_temporary_files();
        fencepost_external::remove_unfinished();
        let message = MESSAGE.lock().unwrap_or_else(|e| e.into_inner()).clone();
        let message = match message.is_empty() {
            true => "nothing was kept",
            false => &message,
        };
        if !SILENT.load(Ordering::Relaxed) {
            eprintln!("\ninterrupted: {message}");
        }
        std::process::exit(INTERRUPTED);
    });
}

/// What to say from now on when the user interrupts.
pub(crate) fn will_say(message: impl Into<String>) {
    *MESSAGE.lock().unwrap_or_else(|e| e.into_inner()) = message.into();
}
/// Says nothing from now on: for processes that another one started, which is interrupted too.
pub(crate) fn say_nothing() {
    SILENT.store(true, Ordering::Relaxed);
}
