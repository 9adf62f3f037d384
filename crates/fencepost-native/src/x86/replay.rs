//! Operations run again, one after the other, in private memory: what outcomes they must have had.

use super::choice::BASELINE;
use super::mapping::Mapping;
use super::memory::Raw;
use super::progress::{Progress, Unfinished};
use super::watched::{Counts, Watched};
use crate::error::NativeError;
use fencepost_kernel::{OpRecord, Pm, Program, run_thread};
use fencepost_programs::layout::Footprint;

/// Runs operations `0..ops` of the only thread again; what they did, in order, and what they executed.
pub fn alone<P: Program>(
    program: &P,
    size: Footprint,
    raw: Raw,
    ops: u32,
) -> Result<(Vec<OpRecord>, Counts), NativeError> {
    let _mapping = Mapping::new(size, None)?;
    let progress = Progress::heap(1, ops);
    program.setup(&mut Watched::new(raw, None, 0));
    let mut m = Watched::new(raw, Some(&progress), 0);
    run_thread(program, &mut Pm::new(&mut m, BASELINE), 0, 0, ops);
    Ok((progress.history(), m.counts))
}

/// The operations of a killed run, in their order: those that ended as they were recorded, and those that were under way with
/// the outcomes they have when everything is run again in that order. An operation that nobody can have seen comes last.
pub fn completed<P: Program>(
    program: &P,
    size: Footprint,
    raw: Raw,
    killed: &Progress,
) -> Result<Vec<OpRecord>, NativeError> {
    let mut order: Vec<(u64, u32, u32)> = killed.history().iter().map(|r| (r.stamp, r.thread, r.k)).collect();
    let mut last = order.last().map_or(0, |o| o.0);
    for t in 0..killed.threads() {
        match killed.unfinished(t) {
            Some((k, Unfinished::Released(stamp))) => order.push((stamp, t, k)),
            Some((k, Unfinished::Hidden)) => {
                last = last.max(1 << 62) + 1;
                order.push((last, t, k));
            }
            None => {}
        }
    }
    order.sort_unstable();
    let most = order.iter().map(|o| o.2 + 1).max().unwrap_or(0);
    let _mapping = Mapping::new(size, None)?;
    let again = Progress::heap(killed.threads(), most);
    program.setup(&mut Watched::new(raw, None, 0));
    let mut memories: Vec<Watched<'_>> = (0..killed.threads())
        .map(|t| Watched::new(raw, Some(&again), t))
        .collect();
    for (_, t, k) in &order {
        run_thread(
            program,
            &mut Pm::new(&mut memories[*t as usize], BASELINE),
            *t,
            *k,
            k + 1,
        );
    }
    let record = |(stamp, t, k): (u64, u32, u32)| match k < killed.ended(t) {
        true => killed.ended_record(t, k),
        false => OpRecord {
            stamp,
            ..again.ended_record(t, k)
        },
    };
    Ok(order.into_iter().map(record).collect())
}
