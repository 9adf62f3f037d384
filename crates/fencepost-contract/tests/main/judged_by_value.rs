//! Logs whose lines are given by value: any consistent choice of stores is accepted, and nothing else.

use crate::support::by_value::best_choice;
use fencepost_contract::{ContractKind, Demands, Refusal, recorded};
use fencepost_kernel::{Addr, Stream};

fn judge(log: &str, kind: ContractKind) -> Result<(), String> {
    let log = recorded::parse(&format!("fencepost-log 1\n{log}")).unwrap_or_else(|e| panic!("{e}\n{log}"));
    let found = log.conform(&kind.into(), Demands::default());
    found.map(|_| ()).map_err(|r| log.explain(&r))
}
const FLUSH: &str = "0 clwb pm+0x00\n0 sfence\n";

#[test]
fn a_silent_store_is_durable_when_its_line_is_written_again() {
    let log =
        format!("0 store pm+0x00 1\ndurable pm+0x00 : 0=1\n{FLUSH}0 store pm+0x00 1\ndurable pm+0x00 : 0=1\n{FLUSH}");
    assert_eq!(judge(&log, ContractKind::Px86), Ok(()));
    // The same with the word left out of the line.
    let log = log.replacen(
        "durable pm+0x00 : 0=1\n0 clwb pm+0x00\n0 sfence\n0 store",
        "durable pm+0x00 : 0=1\n0 store",
        1,
    );
    assert_eq!(judge(&log, ContractKind::Px86), Ok(()));
}

#[test]
fn a_value_that_comes_back_may_stand_for_either_store() {
    let stores = "0 store pm+0x00 1\n0 store pm+0x00 2\n0 store pm+0x00 1\n";
    // The last store is promised: the line must stand for it.
    assert_eq!(
        judge(&format!("{stores}durable pm+0x00 : 0=1\n{FLUSH}"), ContractKind::Px86),
        Ok(())
    );
    // A later line holds the 2: the first line must stand for the first store, and then the promise is broken.
    let taken_back = format!("{stores}durable pm+0x00 : 0=1\n{FLUSH}durable pm+0x00 : 0=2\n");
    let why = judge(&taken_back, ContractKind::Px86).unwrap_err();
    assert!(why.contains("promises that store 3"), "{why}");
    // Without the promise both lines are in order.
    assert_eq!(judge(&taken_back.replace(FLUSH, ""), ContractKind::Px86), Ok(()));
    // Named, the first store is what it is.
    let named = format!("{stores}durable pm+0x00 : 0=#1\n{FLUSH}");
    assert!(judge(&named, ContractKind::Px86).is_err());
}

#[test]
fn a_younger_choice_that_would_pass_another_store_falls_back() {
    // Strict: the second 1 must come after y, which is not durable: the line stands for the first 1.
    let log = "0 store pm+0x00 1\n0 store pm+0x40 5\n0 store pm+0x00 1\ndurable pm+0x00 : 0=1\n";
    assert_eq!(judge(log, ContractKind::StrictSc), Ok(()));
    // A 2 in place of the second 1 has no older store to stand for.
    let log = log.replace(
        "0 store pm+0x00 1\ndurable pm+0x00 : 0=1",
        "0 store pm+0x00 2\ndurable pm+0x00 : 0=2",
    );
    assert!(judge(&log, ContractKind::StrictSc).is_err());
}

/// The second 1 can be no store behind the fence, as y is not durable: so the 2 before it was the first.
#[test]
fn an_older_choice_makes_those_before_it_older_too() {
    let log = "0 store pm+0x00 2\n0 store pm+0x00 1\n0 store pm+0x40 3\n0 store pm+0x00 2\n0 mfence\n0 store pm+0x00 1\n\
               durable pm+0x00 : 0=2\ndurable pm+0x00 : 0=1\n";
    assert_eq!(judge(log, ContractKind::Rcbsp), Ok(()));
    // Without the first two there is no such choice.
    let late = log.replacen("0 store pm+0x00 2\n0 store pm+0x00 1\n", "", 1);
    assert!(judge(&late, ContractKind::Rcbsp).is_err());
    // Nor where the 2 is named.
    assert!(judge(&log.replace("0=2", "0=#4"), ContractKind::Rcbsp).is_err());
}

/// A line with a value that only older stores have left there: the refusal names the youngest of them, and the store that it takes back.
#[test]
fn a_value_that_goes_back_is_named_by_its_stores() {
    for (stores, back) in [(2, 1), (4, 1), (4, 2), (4, 3), (7, 4)] {
        let mut log = String::from("fencepost-log 1\n");
        // Every value twice.
        (2..2 * stores + 2).for_each(|i| log += &format!("0 store pm+0x00 {}\n", i / 2));
        let last = 2 * stores;
        log += &format!("durable pm+0x00 : 0=#{last}\ndurable pm+0x00 : 0={back}\n");
        let log = recorded::parse(&log).expect("a log");
        let refused = log.conform(&ContractKind::Px86.into(), Demands::default()).map(|_| ());
        let Some(Refusal::Reversed { older, newer, .. }) = refused.as_ref().err().map(|r| &**r) else {
            panic!("{stores}, {back}: {refused:?}");
        };
        assert_eq!(older.map(|s| s.store.index() + 1), Some(2 * back), "{stores}, {back}");
        assert_eq!(newer.store.index() + 1, last, "{stores}, {back}");
    }
}

#[test]
fn the_verdict_is_that_of_the_best_choice() {
    let mut rng = Stream::new(5, "by value");
    let verdicts = (0..4_000).filter_map(|i| best_choice(&mut rng, i));
    let (accepted, refused): (Vec<_>, Vec<_>) = verdicts.partition(|accepted| *accepted);
    let (accepted, refused) = (accepted.len(), refused.len());
    assert!(accepted > 300 && refused > 300, "{accepted} {refused}");
}

#[test]
fn ranges_that_wrap_overlap_or_do_not_fit_are_refused() {
    for (range, why) in [
        ("persistent 0xffffffffffffffc0 0x40", "below 2^64"),
        ("persistent 0x1000 0xfffffffffffff000", "below 2^64"),
        ("persistent 0 0x8000000000000000", "more than 256 GiB"),
        ("persistent 0x1000 0x100\npersistent 0x1080 0x40", "overlap"),
        ("persistent 0x1000 0x30", "64-byte line"),
        ("0 bind pm+0x40 0xffffffffffffffff queue 1", "beyond 2^64"),
    ] {
        let error = recorded::parse(&format!("fencepost-log 1\n{range}\n"))
            .unwrap_err()
            .to_string();
        assert!(error.contains(why), "{range}: {error}");
    }
    // The third ends where the second begins.
    let ranges = "persistent 0x5000 0x40\npersistent 0x1000 0x40\npersistent 0xfc0 0x40\n\
                  0 store 0x5008 7\n0 store 0x1000 8\n0 store 0xfc0 9\n";
    let log = recorded::parse(&format!("fencepost-log 1\n{ranges}")).unwrap();
    assert_eq!(
        log.trace.stores.iter().map(|s| s.addr).collect::<Vec<_>>(),
        [Addr::pm(8), Addr::pm(0x40), Addr::pm(0x80)]
    );
    assert_eq!(log.persistent_stores(), 3);
}

#[test]
fn text_of_a_log_keeps_origins_and_initial_memory() {
    let text = "fencepost-log 1\ninitial pm+0x08 3\n0 store pm+0x00 1 @ list.c:12\ndurable pm+0x00 : 0=#1\n";
    let again = recorded::parse(&recorded::parse(text).unwrap().to_text()).unwrap();
    assert_eq!(again.origins[0].source.as_deref(), Some("list.c:12"));
    assert_eq!((again.initial.word(Addr::pm(8)), again.records.len()), (3, 1));
}

/// A `clflush` stands where the line has been written back: what was stored before it is durable there, whatever was stored
/// to other lines since.
#[test]
fn a_clflush_stands_where_its_line_is_durable() {
    let late =
        "0 store pm+0x00 1\n0 store pm+0x40 2\ndurable pm+0x40 : 0=2\ndurable pm+0x00 : 0=1\n0 clflush pm+0x00\n";
    assert_eq!(judge(late, ContractKind::Px86), Ok(()));
    let early =
        "0 store pm+0x00 1\n0 clflush pm+0x00\n0 store pm+0x40 2\ndurable pm+0x40 : 0=2\ndurable pm+0x00 : 0=1\n";
    assert!(judge(early, ContractKind::Px86).unwrap_err().contains("flush"));
}
