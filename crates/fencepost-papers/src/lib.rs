//! Papers: their claims, experiments and statements, measured, scored and reported.

pub mod claims;
pub mod compare;
mod embedded;
pub mod experiment;
pub mod listing;
pub mod native;
pub mod report;
pub mod reproduce;
pub mod semantics;
