//! Operations run again, one after the other, in private memory: what outcomes they must have had.

use super::any::AnyProgram;
use super::mapping::Mapping;
use super::memory::Raw;
use super::progress::{Progress, Unfinished};
use super::watched::{Counts, Watched};
use crate::error::NativeError;
use fencepost_kernel::OpRecord;
use fencepost_programs::layout::Footprint;

/// Runs operations `0..ops` of the only thread again; what they did, in order, and what they executed.
pub(super) fn alone(
    program: &dyn AnyProgram,
    size: Footprint,
    raw: Raw,
    ops: u32,
) -> Result<(Vec<OpRecord>, Counts), NativeError> {
    let _mapping = Mapping::new(size, None)?;
    let progress = Progress::heap(1, ops);
    program.set_up(&mut Watched::new(raw, None, 0));
    let mut m = Watched::new(raw, Some(&progress), 0);
    program.run_ops(&mut m, 0, 0..ops);
    Ok((progress.history(), m.counts))
}

/// Where an unfinished operation stands among stamps, which are far below.
fn place(how: Unfinished) -> u64 {
    const HELD: u64 = 1 << 62;
    const WAITED: u64 = 1 << 63;
    match how {
        Unfinished::Released(stamp) => stamp,
        Unfinished::Hidden(Some(stamp)) => HELD + stamp,
        Unfinished::Hidden(None) => WAITED,
    }
}

/// The operations of a killed run, in their order: those that ended as they were recorded, and those that were under way with
/// the outcomes they have when everything is run again in that order. Operations that nobody can have seen come last: first those that
/// held their locks, which may have stored, then those that still waited for one, which have not.
pub(super) fn completed(
    program: &dyn AnyProgram,
    size: Footprint,
    raw: Raw,
    killed: &Progress,
) -> Result<Vec<OpRecord>, NativeError> {
    let mut order: Vec<(u64, u32, u32)> = killed.history().iter().map(|r| (r.stamp, r.thread, r.k)).collect();
    for t in 0..killed.threads() {
        let Some((k, how)) = killed.unfinished(t) else { continue };
        order.push((place(how), t, k));
    }
    order.sort_unstable();
    let most = order.iter().map(|o| o.2 + 1).max().unwrap_or(0);
    let _mapping = Mapping::new(size, None)?;
    let again = Progress::heap(killed.threads(), most);
    program.set_up(&mut Watched::new(raw, None, 0));
    let mut memories: Vec<Watched<'_>> = (0..killed.threads())
        .map(|t| Watched::new(raw, Some(&again), t))
        .collect();
    for (_, t, k) in &order {
        program.run_ops(&mut memories[*t as usize], *t, *k..k + 1);
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

#[cfg(test)]
mod tests {
    use super::super::any::Logged;
    use super::super::choice::BASELINE;
    use super::*;
    use crate::native_report::FlushWith;
    use fencepost_kernel::Program as _;
    use fencepost_programs::Coupling;
    use fencepost_programs::cq::Cq;
    use fencepost_programs::settings::{Described, Settings};

    /// Thread 1 holds a lock that thread 0 waits for: only thread 1 can have stored.
    #[test]
    fn who_held_the_lock_stands_before_who_waited_for_it() {
        let Ok(flush) = FlushWith::found(&[]) else { return };
        let settings = Settings {
            threads: 2,
            ops: 4,
            ..Settings::default()
        };
        let mode = settings.scheme.mode(Coupling::Auto, &BASELINE);
        let logged = Logged::new(Cq::checked(&settings).unwrap(), mode);
        let killed = Progress::heap(2, 4);
        killed.begin(0, 0);
        killed.begin(1, 0);
        killed.stamp(1, 0);
        #[allow(unsafe_code, reason = "the type cannot know that memory is mapped")]
        // SAFETY: mapped by `completed` while it is used.
        let raw = unsafe { Raw::new(flush) };
        let order = |killed: &Progress| -> Vec<u32> {
            let all = completed(&logged, logged.program.footprint(), raw, killed).unwrap();
            all.iter().map(|o| o.thread).collect()
        };
        assert_eq!(order(&killed), [1, 0]);
        // Thread 0 has let others see its effects before: it stands at its stamp.
        killed.stamp(0, 0);
        killed.release(0, 0);
        assert_eq!(order(&killed), [0, 1]);
        // One that took a first lock and waits for the second comes after the holder.
        let killed = Progress::heap(2, 4);
        for t in [0, 1] {
            killed.begin(t, 0);
            killed.stamp(t, 0);
        }
        killed.wait(0, 0);
        assert_eq!(order(&killed), [1, 0]);
    }
}
