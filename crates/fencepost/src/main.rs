//! The `fencepost` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    keep_memory();
    ExitCode::from(fencepost::run(std::env::args_os()))
}

/// Lets the allocator keep what is freed: runs follow each other in a process, and giving memory back between them, a page at a time to be
/// asked for again, took a tenth of a search's short runs.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code, reason = "settings of the C library")]
fn keep_memory() {
    /// Of what is free at the end of a heap, bytes that stay.
    const KEPT: i32 = 256 << 20;
    /// Bytes that a heap grows by at least.
    const STEP: i32 = 16 << 20;
    // SAFETY: numbers of the allocator, set before there is a second thread.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
        libc::mallopt(libc::M_MMAP_THRESHOLD, KEPT);
        libc::mallopt(libc::M_TOP_PAD, STEP);
    }
}
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn keep_memory() {}
