//! Papers: their claims, experiments and statements, measured, scored and reported.

mod broi;
pub mod compare;
mod dpo;
pub mod experiment;
mod fgc;
pub mod listing;
mod loc;
pub mod native;
pub mod repeated;
pub mod report;
pub mod reproduce;
mod statements;
mod themis;
pub mod whisper;

pub use reproduce::infer;
