//! Programs in the sizes of users whose memory is larger than what a recovery of a small one may read.

use fencepost_run::request::Request;
use fencepost_run::run::run;

/// An audit of more than a gigabyte ends: the correct program is not accused of a recovery that does not, before the first call, after the
/// last, or with what is in flight in another order.
#[test]
fn a_large_file_system_is_audited_whole() {
    let done = run(&Request {
        program: "nfs".into(),
        design: "so".into(),
        machine: "dpo".into(),
        threads: Some(1),
        ops: 1,
        warmup: 0,
        check: true,
        ..Request::default()
    });
    let check = done.unwrap_or_else(|e| panic!("{e}")).check.expect("asked for");
    assert!(!check.violated(), "{:#?}", check.witnesses);
    assert!(check.points >= 2);
}
