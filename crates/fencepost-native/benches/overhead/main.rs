//! The native memory beside a loop written by hand from the same instructions: swaps of two 64-byte entries with an inline undo log.
//!
//! ```text
//! cargo bench -p fencepost-native --bench overhead
//! ```
//!
//! Batches of both, on one temporary file (`TMPDIR` says where), take turns on one pinned thread; printed are the ratio of the fastest and
//! the median ratio of the pairs. With fences between log and data, a swap waits for them most of the time; without, every other instruction counts.
#![allow(unsafe_code, reason = "the loop by hand works on raw memory")]

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod by_hand;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod compare;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn main() {
    if let Err(why) = compare::compare() {
        println!("not measured: {why}");
    }
}
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn main() {
    println!("{}", fencepost_native::NativeError::Host);
}
