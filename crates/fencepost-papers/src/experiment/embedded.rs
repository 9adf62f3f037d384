//! The experiments, embedded in the binary.

/// Every embedded file: path below the project's root, and text.
pub(crate) static EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
