//! Conformance: did a recorded execution become durable in an order that the contract allows?
//!
//! One pass over the trace and the persist log, linear in events and persist-order edges. Every prefix of the
//! durable order is a crash state, so a clean log proves all of them at once. Checked are
//!
//! * order: when a store becomes durable, everything the contract puts before it is durable already (or becomes so
//!   in the same line write);
//! * must-sets: when a fence, drain or commit completes, what the contract calls durable is durable;
//! * coherence: no word goes back to an older store, no line carries bytes that its stores did not write;
//! * completeness, where asked for: at the end no store is lost.
//!
//! The report counts what the contract permits and the run showed: a relaxed design that never reorders is either
//! not relaxed or not tested.

mod by_value;
mod conform_report;
mod races;
mod refusal;
mod state;
mod token;
mod transactions;

pub(crate) use by_value::Given;
pub use conform_report::{ConformReport, Demands, Reordering};
pub use races::{Race, race};
pub use refusal::{Link, Refusal, StoreAt};

use crate::contracts::Contract;
use crate::graph::{CrashSpace, Grain};
use fencepost_kernel::{Image, PersistRecord, Trace};

/// Checks a run against a contract.
///
/// `trace` holds the execution with its [`Durable`](fencepost_kernel::TraceKind::Durable) events, `records` the persist
/// log they index. Words are checked whole, whatever the contract's grain.
///
/// For transactional contracts, a record with cause [`Log`](fencepost_kernel::WriteCause::Log) makes the stores it
/// carries recoverable, every other record writes its line in place.
///
/// # Errors
/// The first deviation, with the rule, the stores, their source lines and the position in the trace.
pub fn conform(
    trace: &Trace,
    records: &[PersistRecord],
    contract: &Contract,
    demands: Demands,
) -> Result<ConformReport, Box<Refusal>> {
    conform_given(trace, records, contract, demands, None)
}

/// The same for a log whose lines may be given by value: it conforms if any consistent choice of stores does.
pub(crate) fn conform_given(
    trace: &Trace,
    records: &[PersistRecord],
    contract: &Contract,
    demands: Demands,
    given: Option<&Given<'_>>,
) -> Result<ConformReport, Box<Refusal>> {
    let mut contract = *contract;
    if contract.params.grain == Grain::Byte {
        contract.params.grain = Grain::Word;
    }
    let space = contract.space(trace, &Image::default());
    if contract.kind.is_transactional() {
        transactions::check(trace, records, &space, contract.kind, demands)
    } else {
        token::check(trace, records, &space, demands, given)
    }
}

/// Checks a run against an order of one's own making: the crash space that some [`Rules`](crate::contracts::Rules)
/// built of the same trace, at word grain and with single stores as nodes.
///
/// # Errors
/// As [`conform`].
pub fn conform_to_space(
    trace: &Trace,
    records: &[PersistRecord],
    space: &CrashSpace,
    demands: Demands,
) -> Result<ConformReport, Box<Refusal>> {
    token::check(trace, records, space, demands, None)
}
