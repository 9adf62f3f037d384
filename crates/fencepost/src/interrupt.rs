//! SIGINT (Ctrl-C): the file that is being written is finished, and the message says how to go on.

use std::sync::Mutex;

/// What is said when the user interrupts.
static MESSAGE: Mutex<String> = Mutex::new(String::new());

/// Exit code of an interrupted command, as shells expect it: 128 and the signal's number.
const INTERRUPTED: i32 = 130;

/// Handles the signal from now on.
pub fn install() {
    // Without a handler the signal ends the process all the same, only without a message.
    let _ = ctrlc::set_handler(|| {
        fencepost_lab::store::finish_writing();
        let message = MESSAGE.lock().unwrap_or_else(|e| e.into_inner()).clone();
        let message = match message.is_empty() {
            true => "nothing was kept",
            false => &message,
        };
        eprintln!("\ninterrupted: {message}");
        std::process::exit(INTERRUPTED);
    });
}

/// What to say from now on when the user interrupts.
pub fn will_say(message: impl Into<String>) {
    *MESSAGE.lock().unwrap_or_else(|e| e.into_inner()) = message.into();
}
