use super::*;
use crate::marks::warnings;
use fencepost_contract::recorded::parse;
use fencepost_kernel::{Flush, Honours};

fn dialect() -> Dialect {
    Dialect {
        name: "test",
        logging: Logging::Software,
        order: &[Fence::Dmb],
        log_to_data: &[Fence::Dmb],
        durable: &[Fence::Dsb],
        ..Dialect::PLAIN
    }
}
const LOG: &str = "fencepost-log 1
0 begin 0
0 store pm+0 1
0 clwb pm+0
0 sfence
0 end 0
0 ack 0
durable pm+0 : 0=1
";
fn words(text: &str, dialect: Dialect) -> String {
    let text = translate(&parse(text).unwrap(), dialect, Honours::X86).to_text();
    text.lines()
        .skip(1)
        .map(|l| l.trim_start_matches("0 "))
        .collect::<Vec<_>>()
        .join("; ")
}
/// What an access depends on stays with the access, whatever fences come before or behind it.
#[test]
fn dependences_stay_with_their_accesses() {
    let log = "fencepost-log 1
0 store pm+0 1
0 clwb pm+0
0 sfence
0 load pm+0
0 load pm+8 needs 1
0 store pm+64 1 needs 2
0 clwb pm+64
0 rmw 0x1000 1 needs 1 needs 2
0 store pm+128 1 needs 3
";
    for dialect in [
        dialect(),
        Dialect {
            unlock_release: &[Fence::Dmb, Fence::Dmb],
            lock_acquire: &[Fence::Dmb],
            ..dialect()
        },
    ] {
        let text = words(log, dialect);
        let needing: Vec<&str> = text.split("; ").filter(|w| w.contains("needs")).collect();
        assert_eq!(
            needing,
            [
                "load pm+0x8 from initial needs 1",
                "store pm+0x40 0x1 needs 2",
                "rmw 0x1000 0x1 needs 1 needs 2",
                "store pm+0x80 0x1 needs 3"
            ],
            "{text}"
        );
    }
}
#[test]
fn flushes_fences_and_acknowledgements_are_the_designs() {
    assert_eq!(
        words(LOG, dialect()),
        "begin 0; store pm+0x0 0x1; dmb; end 0; dsb; ack 0"
    );
    let x86 = Dialect {
        flush: Some(Flush::Clflush),
        order: &[Fence::Mfence],
        durable: &[Fence::Mfence],
        order_is_durable: true,
        ..dialect()
    };
    let wanted = "begin 0; store pm+0x0 0x1; clflush pm+0x0; mfence; end 0; mfence; ack 0";
    assert_eq!(words(LOG, x86), wanted);
    let ranges = Dialect { ranges: true, ..x86 };
    assert_eq!(words(LOG, ranges).matches("mfence; commit-queue 0").count(), 2);
    let early = LOG.replace("0 sfence\n", "");
    assert_eq!(
        words(&early, x86),
        wanted.replace("mfence; ", ""),
        "a fence that is missing stays missing"
    );
    let bare = early.replace("0 clwb pm+0\n", "");
    assert_eq!(
        words(&bare, dialect()),
        "begin 0; store pm+0x0 0x1; end 0; ack 0",
        "so does one of a store that was not even flushed"
    );
    let own = LOG.replace("0 end 0\n", "0 commit-queue 3\n0 end 0\n");
    assert_eq!(
        words(&own, ranges).matches("commit-queue").count(),
        1,
        "the log's own commits and no others"
    );
}
/// Where threads meet x86 needs no fence, and a design of another memory model those of its locks.
#[test]
fn what_one_thread_hands_to_another_stays_in_order() {
    let locks = Dialect {
        lock_acquire: &[Fence::Dmb],
        unlock_release: &[Fence::Dmb],
        order: &[Fence::Dsb],
        ..dialect()
    };
    let text = "fencepost-log 1\n0 store pm+0 1\n0 rmw 0x40 1\n1 rmw 0x40 2\n1 store pm+64 1\n";
    let wanted = "store pm+0x0 0x1; dmb; rmw 0x40 0x1; dmb; 1 dmb; 1 rmw 0x40 0x2; 1 dmb; 1 store pm+0x40 0x1";
    assert_eq!(words(text, locks), wanted);
    assert_eq!(words(text, dialect()).matches("dmb").count(), 0);
    // A flag by plain accesses; what only its own thread reads is none.
    let text = "fencepost-log 1\n0 store 0x80 1\n0 store 0x40 1\n0 load 0x80\n1 load 0x40\n1 store pm+64 1\n";
    let wanted =
        "store 0x80 0x1; dmb; store 0x40 0x1; load 0x80 from 1; 1 load 0x40 from 2; 1 dmb; 1 store pm+0x40 0x1";
    assert_eq!(words(text, locks), wanted);
}
#[test]
fn a_sync_makes_nothing_durable_where_nothing_can() {
    let text = "fencepost-log 1\n0 store pm+0 1\n0 sync pm+0 64\n0 ack 0\n";
    assert_eq!(words(text, Dialect::PLAIN), "store pm+0x0 0x1; ack 0");
    assert!(words(text, dialect()).contains("sync"));
}
/// `lock` orders flushes and stores past the caches on x86, and is no fence for persists elsewhere.
#[test]
fn an_atomic_that_is_a_fence_brings_the_designs_own() {
    let log = |before: &str| format!("fencepost-log 1\n0 {before}\n0 rmw 0x40 1\n0 rmw 0x40 2\n0 store pm+64 1\n");
    let wanted = "dmb; rmw 0x40 0x1; rmw 0x40 0x2; store pm+0x40 0x1";
    assert_eq!(words(&log("clwb pm+0"), dialect()), wanted);
    assert_eq!(words(&log("nt pm+0 1"), dialect()), format!("nt pm+0x0 0x1; {wanted}"));
    let plain = words(&log("store pm+0 1"), dialect());
    assert_eq!(plain.matches("dmb").count(), 0, "{plain}");
}
#[test]
fn operations_become_transactions_and_are_told_where_they_cannot() {
    let hardware = Dialect {
        logging: Logging::Hardware,
        order: &[],
        durable: &[],
        ..dialect()
    };
    let wanted = "begin 0; tx-begin 0; store pm+0x0 0x1; tx-commit 0; end 0; tx-flush; ack 0";
    assert_eq!(words(LOG, hardware), wanted);
    let two = "fencepost-log 1\n0 begin 0\n0 store pm+0 1\n0 end 0\n0 begin 1\n0 store pm+0 2\n0 end 1\n";
    let wanted = "begin 0; tx-begin 0; store pm+0x0 0x1; tx-commit 0; end 0; \
             begin 1; tx-begin 1; store pm+0x0 0x2; tx-commit 1; end 1";
    assert_eq!(words(two, hardware), wanted, "each is one of its own");
    let log = |text: &str| parse(text).unwrap();
    assert!(warnings(&log(LOG), hardware, "d").unwrap().is_empty());
    assert!(warnings(&log("fencepost-log 1\n0 store pm+0 1\n"), hardware, "d").is_err());
    let outside = LOG.replace("0 begin 0\n", "0 store pm+64 1\n0 begin 0\n");
    assert!(warnings(&log(&outside), hardware, "d").unwrap()[0].starts_with("1 stores"));
    let transactions = "fencepost-log 1\n0 tx-begin 0\n0 store pm+0 1\n0 tx-commit 0\n";
    assert!(warnings(&log(transactions), dialect(), "d").is_err());
    assert_eq!(
        words(transactions, hardware),
        "begin 0; tx-begin 0; store pm+0x0 0x1; tx-commit 0; end 0"
    );
}
#[test]
fn a_sync_flushes_what_any_thread_stored_there() {
    let text = "fencepost-log 1\n1 store pm+0 1\n0 store pm+4096 1\n0 sync pm+0 4096\n0 sync pm+0 4096\n";
    let x86 = Dialect {
        flush: Some(Flush::Clwb),
        ..dialect()
    };
    let wanted = "1 store pm+0x0 0x1; store pm+0x1000 0x1; clwb pm+0x0; dsb; sync pm+0x0 4096; dsb; sync pm+0x0 4096";
    assert_eq!(words(text, x86), wanted);
}
#[test]
fn a_fence_that_only_orders_is_told_where_nothing_is_acknowledged() {
    let bare = LOG.replace("0 ack 0\n", "");
    assert_eq!(warnings(&parse(&bare).unwrap(), dialect(), "d").unwrap().len(), 1);
    assert!(warnings(&parse(LOG).unwrap(), dialect(), "d").unwrap().is_empty());
}
/// A command to the controller is the business of the design's own fences.
#[test]
fn a_fence_that_orders_no_persists_is_left_out() {
    let text = "fencepost-log 1\n0 store pm+0 1\n0 pcommit\n0 sfence\n0 pcommit\n";
    assert_eq!(words(text, dialect()), "store pm+0x0 0x1; dmb");
}
/// On a design of ranges what the log says of them stays; elsewhere a commit is a fence, and the rest says nothing.
#[test]
fn ranges_and_queues_stay_where_a_design_has_them() {
    let text = "fencepost-log 1\n0 bind pm+0 64 queue 3\n0 store pm+0 1\n0 commit-queue 3\n0 release pm+0 64\n";
    assert_eq!(words(text, dialect()), "store pm+0x0 0x1; dmb");
    let ranges = Dialect {
        ranges: true,
        ..dialect()
    };
    let wanted = "bind pm+0x0 64 queue 3; store pm+0x0 0x1; commit-queue 3; release pm+0x0 64";
    assert_eq!(words(text, ranges), wanted);
}
/// Each operation is a transaction of its own; where the log has transactions, those are.
#[test]
fn each_operation_is_a_transaction_unless_the_log_has_its_own() {
    let hardware = Dialect {
        logging: Logging::Hardware,
        order: &[],
        durable: &[],
        ..dialect()
    };
    let two =
        "fencepost-log 1\n0 begin 0\n0 store pm+0 1\n0 end 0\n0 begin 1\n0 store pm+64 1\n0 end 1\n0 sync pm+0 64\n";
    let wanted = "begin 0; tx-begin 0; store pm+0x0 0x1; tx-commit 0; end 0; begin 1; tx-begin 1; store pm+0x40 0x1; \
                  tx-commit 1; end 1; tx-flush; sync pm+0x0 64";
    assert_eq!(words(two, hardware), wanted);
    let stores: Vec<Option<TxId>> = translate(&parse(two).unwrap(), hardware, Honours::TRANSACTIONS)
        .trace
        .stores
        .iter()
        .map(|s| s.tx)
        .collect();
    assert_eq!(stores, [Some(TxId(0)), Some(TxId(1))]);
    let software = "begin 0; store pm+0x0 0x1; end 0; begin 1; store pm+0x40 0x1; end 1; dsb; sync pm+0x0 64";
    assert_eq!(words(two, dialect()), software);
    let own = "begin 0; tx-begin 0; store pm+0x0 0x1; tx-abort 0; end 0";
    let log = format!("fencepost-log 1\n0 {}\n", own.replace("; ", "\n0 "));
    assert_eq!(words(&log, hardware), own);
    let bare = log.replace("0 begin 0\n", "").replace("0 end 0\n", "");
    assert_eq!(
        words(&bare, hardware),
        own,
        "hardware starts again where an operation begins"
    );
}
/// A thread has one transaction at a time, and none when it has ended: another that has stored to the same line waits for its commit.
#[test]
fn a_transaction_that_does_not_end_ends_with_the_next_or_with_its_thread() {
    let hardware = Dialect {
        logging: Logging::Hardware,
        order: &[],
        durable: &[],
        ..dialect()
    };
    let log = "fencepost-log 1\n0 begin 0\n0 store pm+0 1\n0 begin 1\n0 store pm+64 1\n";
    let wanted =
        "begin 0; tx-begin 0; store pm+0x0 0x1; tx-commit 0; begin 1; tx-begin 1; store pm+0x40 0x1; tx-commit 1";
    assert_eq!(words(log, hardware), wanted);
    let own = "fencepost-log 1\n0 tx-begin 0\n0 store pm+0 1\n";
    let wanted = "begin 0; tx-begin 0; store pm+0x0 0x1; tx-commit 0; end 0";
    assert_eq!(words(own, hardware), wanted);
    let software = "fencepost-log 1\n0 begin 0\n0 store pm+0 1\n";
    assert_eq!(words(software, dialect()), "begin 0; store pm+0x0 0x1");
}
/// A design whose transactions know plain stores only makes one of each non-temporal store: as what passes its log it would be home too early.
#[test]
fn non_temporal_stores_are_stores_where_they_are_not_honoured() {
    let log = parse("fencepost-log 1\n0 begin 0\n0 nt pm+0 1\n0 store pm+64 1\n0 end 0\n").unwrap();
    let past_the_caches = |honours| -> Vec<bool> {
        let stores = translate(&log, dialect(), honours).trace.stores;
        stores.iter().map(|s| s.nt).collect()
    };
    assert_eq!(past_the_caches(Honours::X86), [true, false]);
    assert_eq!(past_the_caches(Honours::TRANSACTIONS), [false, false]);
}
/// A sync flushes the lines of its range and none behind it; one of no bytes flushes none.
#[test]
fn a_sync_ends_where_its_range_does() {
    let x86 = Dialect {
        flush: Some(Flush::Clwb),
        ..dialect()
    };
    let text =
        |sync: &str| format!("fencepost-log 1\n0 store pm+0 1\n0 store pm+64 1\n0 store pm+128 1\n0 sync {sync}\n");
    let flushed = |sync: &str| {
        let words = words(&text(sync), x86);
        let lines = words.split("; ").filter_map(|w| w.strip_prefix("clwb pm+"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(flushed("pm+0 64"), ["0x0"]);
    assert_eq!(flushed("pm+0 65"), ["0x0", "0x40"]);
    assert_eq!(flushed("pm+72 64"), ["0x40", "0x80"]);
}
/// Whoever reads what another thread has stored takes over from it, wherever that lies; only a flag in volatile memory is handed on.
#[test]
fn persistent_words_that_others_read_are_no_flags() {
    let locks = Dialect {
        lock_acquire: &[Fence::Dmb],
        unlock_release: &[Fence::Dsb],
        ..dialect()
    };
    let text = "fencepost-log 1\n0 store pm+0 1\n1 load pm+0\n0 load pm+0\n";
    assert_eq!(
        words(text, locks),
        "store pm+0x0 0x1; 1 load pm+0x0 from 1; 1 dmb; load pm+0x0 from 1"
    );
    // A store past the caches to volatile memory is not on its way to persistence.
    let text = "fencepost-log 1\n0 nt 0x80 1\n0 rmw 0x40 1\n0 ack 0\n";
    assert_eq!(words(text, dialect()).matches("dmb").count(), 0);
}

/// `clflush` makes durable by itself, before whatever its thread stores next: it stays where the design has one, and is fenced elsewhere.
#[test]
fn a_clflush_is_ordered_on_every_design() {
    let log = "fencepost-log 1\n0 store pm+0 1\n0 clflush pm+0\n0 store pm+64 1\n0 ack 0\n";
    let x86 = Dialect {
        flush: Some(Flush::Clwb),
        order: &[Fence::Sfence],
        durable: &[Fence::Sfence],
        ..Dialect::PLAIN
    };
    assert_eq!(
        words(log, x86),
        "store pm+0x0 0x1; clflush pm+0x0; store pm+0x40 0x1; ack 0"
    );
    let pcommit = Dialect {
        order: &[Fence::Sfence, Fence::Pcommit, Fence::Sfence],
        ..x86
    };
    assert_eq!(
        words(log, pcommit),
        "store pm+0x0 0x1; clwb pm+0x0; sfence; pcommit; sfence; store pm+0x40 0x1; ack 0"
    );
    let barriers = Dialect {
        flush: None,
        order: &[Fence::Dmb],
        durable: &[Fence::Dsb],
        ..x86
    };
    assert_eq!(words(log, barriers), "store pm+0x0 0x1; dmb; store pm+0x40 0x1; ack 0");
    // What has been fenced since is acknowledged with a wait for it.
    let acked = "fencepost-log 1\n0 store pm+0 1\n0 clflush pm+0\n0 ack 0\n";
    assert_eq!(words(acked, barriers), "store pm+0x0 0x1; dmb; dsb; ack 0");
    assert_eq!(words(acked, x86), "store pm+0x0 0x1; clflush pm+0x0; ack 0");
}
