//! Crash states: the check of a run, exploration, replay, deliberate mistakes, and logs that somebody else recorded.

pub mod check;
pub mod crash;
pub mod fire;
pub mod judge;
pub mod picture;
pub mod replay_witness;
mod searched_again;
pub mod variants;
