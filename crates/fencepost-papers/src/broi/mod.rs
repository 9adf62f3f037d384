//! The rules of BROI: its worked example on a controller, its formula, local before remote, and order found by coherence.

use crate::experiment::statement::Statement;
use crate::statements::litmus;
use crate::statements::preset::Preset;
use fencepost_designs::statements::broi;

const BROI: Preset = Preset("broi");

/// Every statement of this paper.
pub(crate) const STATEMENTS: &[Statement] = &[
    Statement::rule(&broi::EPOCH_FIRST, |_| BROI.shows(&broi::EPOCH_FIRST)),
    Statement::rule(&broi::FIRST_PICK, |_| BROI.shows(&broi::FIRST_PICK)),
    Statement::rule(&broi::PRIORITY, |_| BROI.shows(&broi::PRIORITY)),
    Statement::rule(&broi::LOCAL_FIRST, |_| BROI.shows(&broi::LOCAL_FIRST)),
    Statement::new("broi-coherence-chain", Some("broi.released-when-sent"), |_| {
        litmus::coherence_chain(&["epoch", "broi"], "released-when-sent")
    }),
];
