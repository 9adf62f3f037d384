//! The semantic checks that reproductions run. Each is a test of one rule; a broken rule turns its claim to `miss`.

use crate::experiment::semantics::{Checks, SemanticCheck};

mod dpo;

/// Every semantic check.
pub fn checks() -> Checks {
    let list: Vec<SemanticCheck> = dpo::CHECKS.to_vec();
    Checks::new(list)
}
