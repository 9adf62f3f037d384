//! `epoch`: the baseline of BROI, which merges unordered epochs of different threads to the largest size.
//!
//! # Idea
//! Delegated ordering flattens the epochs of all threads at the controller. The larger an epoch, the more its requests may be
//! reordered; so epochs that nothing orders against one another become one.
//!
//! # Paper
//! The baseline "Epoch" of Persistence Parallelism Optimization, MICRO 2018, sections III and VII, which describes it as delegated ordering
//! optimised for relaxed epoch size.
//!
//! # Where order is kept
//! Buffers, siblings, BROI entries and release are those of `broi`. The scheduler runs one epoch for the whole
//! controller at a time: the first sets of all entries. A set that a barrier separates from the epoch waits for the next one,
//! whatever its banks; what no barrier separates joins. Inside the epoch, first ready, first come, first served.
//!
//! # Durable at
//! As `broi`.
//!
//! # Contract
//! `rcbsp`; it keeps more, since a barrier separates all threads.
//!
//! # Hardware cost
//! That of `broi`: the entries are the same.
//!
//! # Deviations
//! The paper's baseline has no BROI entries and releases dependants as delegated ordering does; here the two designs differ
//! in the scheduler only, so that what is compared is the scheduling. `delegated-merge` is the merging design as first published.

use super::mechanism::{Broi, Schedules};
use super::params::{self, BroiParams};
use crate::delegated;
use crate::info::{DesignInfo, ParamValues, configure};
use fencepost_kernel::params::{Field, ParamError, Params as _};

/// Parameters of the scheduler of `broi`, which mean nothing here.
const OF_BROI: [&str; 9] = [
    "sigma",
    "scheduling",
    "hand_over",
    "queue",
    "ready",
    "leaves",
    "low_utilisation",
    "starvation",
    "barrier",
];

fn fields() -> Vec<Field> {
    let mut fields = BroiParams::fields();
    fields.retain(|f| !OF_BROI.contains(&f.name));
    fields
}
fn settings(values: ParamValues<'_>) -> Result<BroiParams, ParamError> {
    match values.iter().find(|(name, _)| OF_BROI.contains(&name.as_str())) {
        None => configure(values),
        Some((name, _)) => Err(ParamError::Unknown {
            name: name.clone(),
            known: fields().iter().map(|f| f.name).collect(),
        }),
    }
}

/// The registry entry; what is left out is as with `broi`.
pub const INFO: DesignInfo = DesignInfo {
    name: "epoch",
    summary: "delegated ordering that merges unordered epochs to the largest size: the baseline of BROI",
    source: include_str!("epoch.rs"),
    dialect: |environment| delegated::dialect("epoch", environment),
    params: fields,
    variants: &[
        &[("buffers", "core")],
        &[("buffers", "shared")],
        &[("buffers", "thread")],
        &[("release", "drain")],
        &[("units", "1")],
        &[("barriers", "1")],
        &[("path_slot", "40ns")],
    ],
    build: |values, shape| {
        let params = params::checked(settings(values)?, shape)?;
        Ok(Box::new(Broi::new(params, shape, Schedules::EpochFirst)))
    },
    cost: |values, shape| Ok(super::cost::storage(&settings(values)?, shape)),
    ..super::INFO
};
