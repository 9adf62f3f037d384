//! Crash images of a recorded log: all that a contract allows, one of them again, and what was found.

pub(crate) mod apart;
pub(crate) mod found;
mod kept;
pub(crate) mod nested;
pub(crate) mod replay_image;
pub(crate) mod request;
pub(crate) mod several;
pub(crate) mod states;
