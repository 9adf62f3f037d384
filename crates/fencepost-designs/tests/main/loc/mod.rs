//! The transactional designs: their paper's rules one by one, and random threads against an oracle that knows nothing of logs.

mod aborts;
mod common;
mod random;
mod semantics;
