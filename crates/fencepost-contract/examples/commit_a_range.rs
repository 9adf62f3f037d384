//! Per-task committing from a program: memory is bound to write queues, and a queue is committed when what was written through it has to be
//! durable. No other queue waits.
//!
//! `cargo run -p fencepost-contract --example commit_a_range` prints the verdict on the right version and on four mistakes. The same
//! in C: `examples/c/ledger.c`.

use fencepost_contract::ContractKind;
use fencepost_contract::explore::{CrashCheck, CrashMem, RecordMem, Recorder, Report, plain};
use fencepost_kernel::{Addr, At, CrashPoint, Fence, Flush, Mem, QueueId, Val, Violation};

/// Two entries of a line each, and how many count on a line of its own.
const ENTRIES: Addr = Addr::pm(0);
const COUNT: Addr = Addr::pm(128);
const N: u64 = 2;

/// What may go wrong.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Ledger {
    Right,
    WrongQueue,
    NoCommit,
    Unbound,
    EarlyRelease,
}

/// `PersistenceCommit`: the line leaves the caches for its queue, and the queue for the medium.
fn commit(m: &mut RecordMem<'_>, line: Addr, queue: Option<QueueId>) {
    m.flush(At::new(line), Flush::Clflush);
    m.fence(Fence::Mfence);
    if let Some(queue) = queue {
        m.commit_queue(queue);
    }
}

/// Binds both ranges, enters what there is, and releases them.
fn keep(m: &mut RecordMem<'_>, how: Ledger) {
    let bound = how != Ledger::Unbound;
    let entries = if bound { m.bind(ENTRIES, N * 64) } else { QueueId(9) };
    let count = m.bind(COUNT, 64);
    for n in 0..N {
        let entry = Addr(ENTRIES.0 + n * 64);
        m.op_begin(n as u32);
        m.store(At::new(entry), Val::lit(100 + n));
        m.store(At::new(Addr(entry.0 + 8)), Val::lit(700 + n));
        match how {
            Ledger::WrongQueue => commit(m, entry, Some(count)),
            Ledger::NoCommit => commit(m, entry, None),
            Ledger::EarlyRelease => {
                commit(m, entry, None);
                m.release(ENTRIES, N * 64);
                m.commit_queue(entries);
                m.bind(ENTRIES, N * 64);
            }
            Ledger::Right | Ledger::Unbound => commit(m, entry, Some(entries)),
        }
        // The entry is durable: it may be counted.
        m.store(At::new(COUNT), Val::lit(n + 1));
        commit(m, COUNT, Some(count));
        m.ack(n as u32);
    }
    m.release(COUNT, 64);
    if bound {
        m.release(ENTRIES, N * 64);
    }
}

/// What must hold after a crash: acknowledged entries are counted, counted ones are whole.
fn recover(m: &mut CrashMem<'_>, crash: &CrashPoint) -> Result<(), Violation> {
    let count = m.load(At::new(COUNT)).v;
    if count < u64::from(crash.acked[0]) {
        return Err(Violation::at(COUNT, "an acknowledged entry is not counted"));
    }
    let whole = |n: u64| [(0, 100), (8, 700)].map(|(at, v)| (Addr(ENTRIES.0 + n * 64 + at), v + n));
    match (0..count).flat_map(whole).find(|(at, v)| m.load(At::new(*at)).v != *v) {
        Some((at, _)) => Err(Violation::at(at, "a counted entry is not whole")),
        None => Ok(()),
    }
}

fn judge(how: Ledger) -> Result<Report, Box<dyn std::error::Error>> {
    let mut check = CrashCheck::new(ContractKind::Commit);
    check.prefix = format!("ledger,{how:?}");
    let record = |schedule| Recorder::new(schedule).thread(move |m| keep(m, how)).run();
    Ok(check.each(record, |explorer, _| explorer.explore(&mut plain(recover)))?)
}

const ALL: [Ledger; 5] = [
    Ledger::Right,
    Ledger::WrongQueue,
    Ledger::NoCommit,
    Ledger::Unbound,
    Ledger::EarlyRelease,
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for how in ALL {
        println!("{how:?}:\n{}", judge(how)?);
    }
    Ok(())
}

#[cfg(test)]
use fencepost_contract::explore::Verdict;

#[test]
fn the_ledger_is_clean_and_every_mistake_is_convicted() -> Result<(), Box<dyn std::error::Error>> {
    for how in ALL {
        let verdict = match how {
            Ledger::Right => Verdict::Clean,
            _ => Verdict::Violated,
        };
        assert_eq!(judge(how)?.verdict, verdict, "{how:?}");
    }
    Ok(())
}
