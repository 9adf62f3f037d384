//! The native memory beside a loop written by hand from the same instructions: swaps of two 64-byte entries with an inline undo log.
//!
//! ```text
//! cargo bench -p fencepost-native --bench overhead
//! ```
//!
//! Batches of both alternate on one pinned thread; the ratio of the fastest is printed. The loop shares no code with the programs.
#![allow(unsafe_code, reason = "the loop by hand works on raw memory")]

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod by_hand;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn main() {
    by_hand::compare();
}
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn main() {
    println!("{}", fencepost_native::NativeError::Host);
}
