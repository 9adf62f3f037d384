//! Random numbers of what the command's tests and this package share.

#[path = "../../crates/fencepost/tests/common/dice.rs"]
mod numbers;

pub(crate) use numbers::Dice;
