//! Timing of one channel as earliest times of the next command: delays, banks and buses, row policy, refresh.

mod channel;
mod delays;
mod refresh;
mod row_policy;
mod shared;

pub(super) use channel::Channel;
pub(super) use delays::{Delays, Direction};
#[cfg(test)]
pub(super) use shared::Kind;
pub(super) use shared::{SharedTimes, Waits};
