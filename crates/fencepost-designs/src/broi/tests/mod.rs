//! Tests of the parts: the worked example and local before remote on a controller, the formula, the remote interface.

mod formula;
mod random;
mod remote;
mod schedule;
