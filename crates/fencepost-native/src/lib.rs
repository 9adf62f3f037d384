//! The real CPU: what a native program does to persistent memory, recorded while it runs.
//!
//! [`record`] is the part of a recorder that does not depend on who watches the program: which x86 instructions matter, one
//! total order over threads, and the lines of the log. The QEMU plugin (`fencepost-qemu-plugin`) feeds it.

pub mod record;
