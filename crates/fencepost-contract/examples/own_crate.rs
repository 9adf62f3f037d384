//! A structure of one's own, from zero: two threads append records to a shared log; recovery counts them.

use fencepost_contract::ContractKind;
use fencepost_contract::explore::{CheckError, CrashCheck, CrashMem, RecordMem, Recorder, Report, plain};
use fencepost_kernel::{Addr, At, CrashPoint, Fence, Flush, Mem, Outcome, Val, Violation};

// Memory is laid out by hand: fixed addresses in persistent memory, one line each for what must not share one. An
// allocator of your own works too, if it takes its memory from such a range.
const LOCK: Addr = Addr::pm(0x00);
const LENGTH: Addr = Addr::pm(0x40);
fn record(i: u64) -> At<()> {
    At::new(Addr::pm(0x80 + i * 64))
}

/// One thread: its operations are bracketed, so that recovery can be told what had begun and what was acknowledged.
fn appends(m: &mut RecordMem<'_>, fence: bool) {
    for op in 0..2 {
        m.op_begin(op);
        m.lock(At::new(LOCK)); // locks and atomics order threads; plain loads and stores must not race
        let length = m.load(At::new(LENGTH)).v;
        m.store(record(length), Val::lit(7));
        m.flush(record(length), Flush::Clwb);
        if fence {
            m.fence(Fence::Sfence); // the record is durable before the length that covers it
        }
        m.store(At::new(LENGTH), Val::lit(length + 1));
        m.flush(At::new(LENGTH), Flush::Clwb);
        m.fence(Fence::Sfence);
        m.unlock(At::new(LOCK));
        m.op_end(op, Outcome::default());
        m.ack(op); // from here on the operation must survive
    }
}

/// Recovery and its checks in one. `crash` says, per thread, how many operations had begun and been acknowledged.
fn recover(m: &mut CrashMem<'_>, crash: &CrashPoint) -> Result<(), Violation> {
    let length = m.load(At::new(LENGTH)).v;
    if length < u64::from(crash.acked.iter().sum::<u32>()) {
        return Err(Violation::at(LENGTH, "an acknowledged record is lost"));
    }
    for i in 0..length {
        m.cut(i << 32 | length); // everything that the rest of the loop uses
        if m.load(record(i)).v != 7 {
            return Err(Violation::at(record(i).addr, "a record within the length is missing"));
        }
    }
    Ok(())
}

/// Records both threads under several schedules and explores every crash state that x86 allows of them.
pub fn check(fence: bool) -> Result<Report, CheckError> {
    let record = move |schedule| {
        let two = Recorder::new(schedule).thread(move |m| appends(m, fence));
        two.thread(move |m| appends(m, fence)).run()
    };
    let check = CrashCheck::new(ContractKind::Px86);
    let report = check.each(record, |explorer, _| explorer.explore(&mut plain(recover)))?;
    if let Some(witness) = &report.witness {
        // The id names one crash state of one schedule; it is refused on any other program.
        let again = check.replay(record, &mut plain(recover), &witness.replay)?;
        assert_eq!(again.verdict, Err(witness.why.clone()));
    }
    Ok(report)
}

fn main() -> Result<(), CheckError> {
    print!("with the fence: {}", check(true)?);
    print!("without it: {}", check(false)?);
    Ok(())
}
