//! Processes that end with the one that started them.

use std::os::unix::process::parent_id;
use std::time::Duration;
use std::{process, thread};

/// Ends this process when its parent has ended.
pub(super) fn end_with_parent() {
    let parent = parent_id();
    thread::spawn(move || {
        while parent_id() == parent {
            thread::sleep(Duration::from_millis(50));
        }
        process::exit(0);
    });
}
