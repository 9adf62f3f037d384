//! Tests of the designs on bench and machine. What holds of every design alike is the battery's (`fencepost-battery`); here stand
//! the statements of the papers, the transactional designs against an oracle of their own, and the test kit itself.

mod costs;
mod kit;
mod loc;
mod on_machine;
mod seam_sketches;
mod statements;
