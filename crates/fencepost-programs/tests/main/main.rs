//! Tests of the programs through their interface: structures, instruction idioms, crash consistency, deliberate mistakes.

mod audits;
mod common;
mod cost;
mod crash;
mod front;
mod pmfs;
mod sets;
mod storage;
mod structure;
mod variants;
