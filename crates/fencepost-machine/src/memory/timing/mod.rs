//! Timing of one channel as earliest times of the next command: delays, banks and buses, row policy, refresh.

mod channel;
mod delays;
mod refresh;
mod row_policy;
mod shared;

pub use channel::Channel;
pub use delays::{Delays, Direction};
#[cfg(test)]
pub use shared::Kind;
pub use shared::{SharedTimes, Waits};
