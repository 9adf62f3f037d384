//! What a model or a contract says of a test, and what tests expect.

pub(crate) mod judge;
pub(crate) mod promote;
