//! Programs in the sizes of users that a recovery reads for longer than it may take for small ones.

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

/// All of the cache in one chain, which is walked for each of its items: long, and no recovery that does not end.
#[test]
fn a_long_chain_is_audited_to_its_end() {
    let items = 4000;
    let set = |name: &str, value: u32| format!("program.memcached.{name}={value}");
    let done = run(&Request {
        program: "memcached".into(),
        design: "so".into(),
        machine: "dpo".into(),
        threads: Some(1),
        ops: 2,
        warmup: 0,
        seed: 5,
        check: true,
        budget: Some(2),
        sets: vec![
            set("buckets", 1),
            set("shards", 1),
            set("entries", items),
            set("preload", items),
            set("keys", items + 500),
            set("set_percent", 100),
        ],
        ..Request::default()
    });
    let check = done.unwrap_or_else(|e| panic!("{e}")).check.expect("asked for");
    assert!(!check.violated(), "{:#?}", check.witnesses);
}
