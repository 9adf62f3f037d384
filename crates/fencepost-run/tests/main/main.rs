//! Tests on whole runs: what is measured, and what is special to two families of designs.

mod caught;
mod common;
mod distinct;
mod felt;
mod large;
mod loc;
mod measuring;
mod named_values;
mod ring;
mod x86;
