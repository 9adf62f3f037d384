//! Judging one's own code: a key-value slot published by a token.
//!
//! `cargo run -p fencepost-contract --example judge_my_code` prints the verdict on the wrong version, with the line
//! at fault, and on the right one.

use fencepost_contract::ContractKind;
use fencepost_contract::explore::{CrashCheck, CrashMem, RecordMem, Recorder, Report, plain};
use fencepost_kernel::{Addr, At, CrashPoint, Fence, Flush, Mem, Val, Violation};

/// The key and the value share a line; the token that validates them has its own.
const KEY: Addr = Addr::pm(0);
const VALUE: Addr = Addr::pm(8);
const TOKEN: Addr = Addr::pm(64);

/// The code under test, written against the memory interface: publishes a key and its value.
fn publish(m: &mut RecordMem<'_>, ordered: bool) {
    m.op_begin(0);
    m.store(At::new(KEY), Val::lit(7));
    m.store(At::new(VALUE), Val::lit(700));
    m.flush(At::new(KEY), Flush::Clwb);
    if ordered {
        m.fence(Fence::Sfence);
    }
    m.store(At::new(TOKEN), Val::lit(1)); // the line to blame
    m.flush(At::new(TOKEN), Flush::Clwb);
    m.fence(Fence::Sfence);
    m.ack(0);
}

/// What must hold after a crash.
fn recover(m: &mut CrashMem<'_>, crash: &CrashPoint) -> Result<(), Violation> {
    let token = m.load(At::new(TOKEN)).v;
    if token == 1 && (m.load(At::new(KEY)).v, m.load(At::new(VALUE)).v) != (7, 700) {
        return Err(Violation::at(
            TOKEN,
            "the token is there, the key and the value are not",
        ));
    }
    if crash.acked[0] > 0 && token != 1 {
        return Err(Violation::at(TOKEN, "an acknowledged entry is lost"));
    }
    Ok(())
}

fn judge(ordered: bool) -> Result<Report, Box<dyn std::error::Error>> {
    let mut check = CrashCheck::new(ContractKind::Px86);
    check.prefix = format!("publish,ordered={ordered}");
    let record = |schedule| Recorder::new(schedule).thread(move |m| publish(m, ordered)).run();
    Ok(check.each(record, |explorer, _| explorer.explore(&mut plain(recover)))?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("without a fence before the token:\n{}", judge(false)?);
    println!("with it:\n{}", judge(true)?);
    Ok(())
}

#[cfg(test)]
use fencepost_contract::explore::Verdict;

#[test]
fn the_token_is_found_and_its_line_named() -> Result<(), Box<dyn std::error::Error>> {
    let wrong = judge(false)?;
    assert_eq!(wrong.verdict, Verdict::Violated);
    let witness = wrong.witness.ok_or("a violation has a witness")?;
    let (blamed, lost) = (&witness.persisted, &witness.missing);
    assert_eq!((blamed.len(), blamed[0].at, lost.len()), (1, TOKEN, 2));
    let source = include_str!("judge_my_code.rs");
    let line = source
        .lines()
        .nth(blamed[0].source.line() as usize - 1)
        .ok_or("the line exists")?;
    assert!(line.contains("the line to blame"), "{line}");
    assert_eq!(judge(true)?.verdict, Verdict::Clean);
    Ok(())
}
