//! Caches: tags and states only. Bytes live in the machine's coherent image, because at any moment all valid copies
//! of a line hold the same bytes; only frozen versions (of designs that keep several) carry bytes of their own.

mod tags;

pub use tags::{Evicted, State, Tags, WayRef};
