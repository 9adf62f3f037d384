//! What everything else rests on: requests, errors with places, files, the host, and how numbers and verdicts are spelled.

pub(crate) mod error;
pub mod histogram;
pub mod host;
pub mod input;
pub(crate) mod medium_table;
pub(crate) mod panic_text;
pub mod progress;
pub mod request;
pub(crate) mod short;
pub mod source;
pub mod states;
pub mod store;
pub mod verdict;
pub mod whole;
