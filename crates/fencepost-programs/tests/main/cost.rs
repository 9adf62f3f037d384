//! Barriers and flushes per transaction: the table of the transaction runtime's page, as closed forms.

use crate::common::*;
use fencepost_kernel::params::Raw;
use fencepost_kernel::{Dialect, Fence, Program};
use fencepost_programs::{Scheme, Settings, Variant, Visit, sites, with_program};

/// What one operation emitted.
#[derive(Debug, PartialEq, Default, Clone, Copy)]
struct Cost {
    pcommits: usize,
    sfences: usize,
    dmbs: usize,
    flushes: usize,
    nt_stores: usize,
    stores: usize,
    tx: usize,
}

/// The first operations of one thread: what they emitted, and how many of them changed something.
struct First(Dialect, u32);
impl Visit for First {
    type Out = (Cost, usize);
    fn visit<P: Program>(self, p: P) -> Self::Out {
        let mut c = Cost::default();
        let run = record(&p, self.0, 1, self.1, 1);
        for e in run.events {
            match e {
                Event::Fence {
                    kind: Fence::Pcommit, ..
                } => c.pcommits += 1,
                Event::Fence {
                    kind: Fence::Sfence, ..
                } => c.sfences += 1,
                Event::Fence { .. } => c.dmbs += 1,
                Event::Flush { .. } => c.flushes += 1,
                Event::Store { nt: true, .. } => c.nt_stores += 1,
                Event::Store { .. } => c.stores += 1,
                Event::TxBegin | Event::TxCommit => c.tx += 1,
                Event::Begin { .. } | Event::Ack { .. } => {}
            }
        }
        (c, run.ops.iter().filter(|o| o.outcome.kind != 0).count())
    }
}
fn cost(program: &str, scheme: Scheme, dialect: Dialect, params: &[(&str, Raw)]) -> Cost {
    costs(program, scheme, dialect, params, 1).0
}
fn costs(program: &str, scheme: Scheme, dialect: Dialect, params: &[(&str, Raw)], ops: u32) -> (Cost, usize) {
    let params = params.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
    let s = Settings {
        log_stagger: 0,
        threads: 1,
        ops,
        seed: 1,
        scheme,
        variant: Variant::Correct,
        params,
        honours: None,
    };
    with_program(program, &s, First(dialect, ops)).unwrap()
}
/// Several operations at small sizes.
fn small(
    about: &fencepost_programs::About,
    scheme: Scheme,
    dialect: Dialect,
    coupling: &str,
    ops: u32,
) -> (Cost, usize) {
    let sizes = about.small_params();
    let mut params: Vec<(&str, Raw)> = sizes.iter().map(|(n, v)| (n.as_str(), v.clone())).collect();
    params.push(("coupling", Raw::Text(coupling.into())));
    costs(about.name, scheme, dialect, &params, ops)
}
fn entry(bytes: u64) -> (&'static str, Raw) {
    ("entry", Raw::Text(format!("{bytes}B")))
}

#[test]
fn a_swap_of_64_byte_entries() {
    // Grouped undo: three barriers (records; data; commit). Two records of 96 B fill three lines; two data lines; one mark.
    let so = cost("sps", Scheme::UndoArray, SO, &[]);
    assert_eq!((so.pcommits, so.sfences, so.flushes), (3, 6, 3 + 2 + 1));
    // 16 data words; 2 records of address, 8 words, sequence and check; the mark.
    assert_eq!(so.stores, 16 + 2 * 10 + 1);
    // Delegated: the same barriers as dmb, plus one in each lock and unlock (two locks); no flush.
    let delegated = cost("sps", Scheme::UndoArray, DELEGATED, &[]);
    assert_eq!(
        (delegated.dmbs, delegated.flushes, delegated.stores),
        (3 + 4, 0, so.stores)
    );
    // Coupled logging: each of the 16 stores has a 3-word record and its barrier; data and commit follow.
    let adr = cost("sps", Scheme::UndoArray, ADR, &[]);
    assert_eq!(
        (adr.sfences, adr.nt_stores, adr.stores, adr.flushes),
        (16 + 2, 16 * 3 + 1, 16, 2)
    );
    // The list splices each node in: one barrier and one store more per record, and a link in each instead of the check.
    let list = cost("sps", Scheme::UndoList, ADR, &[]);
    assert_eq!((list.sfences, list.nt_stores), (2 * 16 + 2, 16 * (3 + 1) + 1));
    // A library's entry has a word of type, thread and size besides, in a list a check too; an entry stored to twice is logged once.
    let library = cost("sps", Scheme::LibraryArray, ADR, &[]);
    assert_eq!(
        (library.sfences, library.nt_stores, library.stores, library.flushes),
        (16 + 2, 16 * 4 + 1, 16, 2)
    );
    let library = cost("sps", Scheme::LibraryList, ADR, &[]);
    assert_eq!((library.sfences, library.nt_stores), (2 * 16 + 2, 16 * (5 + 1) + 1));
    let grouped = cost("sps", Scheme::LibraryArray, SO, &[]);
    assert_eq!((grouped.pcommits, grouped.stores), (3, 16 + 2 * 11 + 1));
    // Redo: four barriers whatever the size; 16 records of one unit fill 8 lines, two marks.
    let redo = cost("sps", Scheme::Redo, SO, &[]);
    assert_eq!(
        (redo.pcommits, redo.flushes, redo.stores),
        (4, 8 + 1 + 2 + 1, 16 * 3 + 1 + 16 + 1)
    );
    // By block: two copies of eight words and a line that names them, with two words each; the rest as above.
    let blocks = cost("sps", Scheme::RedoBlock, SO, &[]);
    assert_eq!(
        (blocks.pcommits, blocks.flushes, blocks.stores),
        (4, 3 + 1 + 2 + 1, 16 + 4 + 1 + 16 + 1)
    );
    // iDO: record; stores; commit. The record is head, 18 inputs, check: 160 B in three lines.
    let ido = cost("sps", Scheme::Ido, SO, &[]);
    assert_eq!((ido.pcommits, ido.flushes, ido.stores), (3, 3 + 2 + 1, 20 + 16 + 1));
}

#[test]
fn a_swap_of_8_byte_entries() {
    // Two one-unit records share a line; the entries lie on two lines, as seed 1 draws them.
    let so = cost("sps", Scheme::UndoArray, SO, &[entry(8)]);
    assert_eq!((so.pcommits, so.flushes, so.stores), (3, 1 + 2 + 1, 2 + 2 * 3 + 1));
}

/// Programs that are written on the transaction runtime: those that have a logged form.
fn logged() -> impl Iterator<Item = fencepost_programs::About> {
    let programs = fencepost_programs::programs().into_iter();
    programs.filter(|p| p.schemes.contains(&Scheme::UndoArray))
}

/// Coupled logging: an entry and a barrier prior to every store of the transaction, new blocks included; then data and commit.
/// Grouped logging has no more barriers than that, and leaves new blocks out.
#[test]
fn coupled_logging_logs_every_store() {
    for about in logged() {
        let (coupled, changes) = small(&about, Scheme::UndoArray, ADR, "auto", 6);
        assert_eq!(coupled.sfences, coupled.stores + 2 * changes, "{}", about.name);
        let (grouped, _) = small(&about, Scheme::UndoArray, ADR, "grouped", 6);
        assert_eq!(grouped.stores, coupled.stores, "{}", about.name);
        // Some announce nodes, headers and tuples whole, of which they change a part.
        let whole = matches!(about.name, "btree" | "memcached" | "nstore-tpcc");
        let records = whole || grouped.nt_stores <= coupled.nt_stores;
        assert!(grouped.sfences <= coupled.sfences && records, "{}", about.name);
        assert!(
            changes > 0,
            "{}: no operation with this seed changes anything",
            about.name
        );
    }
}

#[test]
fn barriers_do_not_grow_with_grouped_swaps() {
    for swaps in [1, 2, 8] {
        let so = cost("sps", Scheme::UndoArray, SO, &[("swaps", Raw::Int(swaps))]);
        assert_eq!(so.pcommits, 3);
        let adr = cost("sps", Scheme::UndoArray, ADR, &[("swaps", Raw::Int(swaps))]);
        assert_eq!(adr.sfences as i64, 16 * swaps + 2);
    }
}

#[test]
fn undo_logged_queue_and_table() {
    // Insert: both records on one line; node, predecessor's link and tail pointer; mark. Delete: record, head, mark.
    let insert = cost("cq", Scheme::UndoArray, SO, &[("insert_percent", Raw::Int(100))]);
    assert_eq!((insert.pcommits, insert.flushes), (3, 1 + 3 + 1));
    let delete = cost("cq", Scheme::UndoArray, SO, &[("insert_percent", Raw::Int(0))]);
    assert_eq!((delete.pcommits, delete.flushes), (3, 1 + 1 + 1));
    // A new item's two lines, the link, its record, the mark.
    let put = cost("hash", Scheme::UndoArray, SO, &[("preload", Raw::Int(0))]);
    assert_eq!((put.pcommits, put.flushes), (3, 2 + 1 + 1 + 1));
    let cut = cost(
        "hash",
        Scheme::UndoArray,
        SO,
        &[("preload", Raw::Int(1)), ("keys", Raw::Int(1))],
    );
    assert_eq!((cut.pcommits, cut.flushes), (3, 1 + 1 + 1));
    // Three records fill two lines; three data lines; the mark.
    let record = cost("commitstore", Scheme::UndoArray, SO, &[]);
    assert_eq!((record.pcommits, record.flushes), (3, 2 + 3 + 1));
    // The first node of an empty tree: node, root pointer, record, mark; painting the fresh node black needs no record and no flush more.
    let first = cost("rbtree", Scheme::UndoArray, SO, &[("preload", Raw::Int(0))]);
    assert_eq!((first.pcommits, first.flushes), (3, 1 + 1 + 1 + 1));
}

#[test]
fn hand_ordered_forms() {
    let insert = cost("cq", Scheme::Raw, ADR, &[("insert_percent", Raw::Int(100))]);
    assert_eq!((insert.flushes, insert.sfences, insert.nt_stores), (3, 2, 0));
    let delete = cost("cq", Scheme::Raw, ADR, &[("insert_percent", Raw::Int(0))]);
    assert_eq!((delete.flushes, delete.sfences, delete.stores), (1, 1, 1));
    // An item is two lines; one link.
    let put = cost("hash", Scheme::Raw, ADR, &[("preload", Raw::Int(0))]);
    assert_eq!((put.flushes, put.sfences, put.stores), (3, 2, 1 + 7 + 1 + 1));
    // One key toggled, present before the run: only the predecessor's link changes.
    let cut = cost(
        "hash",
        Scheme::Raw,
        ADR,
        &[("preload", Raw::Int(1)), ("keys", Raw::Int(1))],
    );
    assert_eq!((cut.flushes, cut.sfences, cut.stores), (1, 1, 1));
    let record = cost("commitstore", Scheme::Raw, ADR, &[]);
    assert_eq!((record.flushes, record.sfences, record.stores), (3, 2, 3));
}

/// The papers' transactions: the location is one store; an order changes its district, two indexes, and per line a stock row.
#[test]
fn transactions_of_the_oltp_programs() {
    let few = ("subscribers", Raw::Int(20));
    let location = cost("tatp", Scheme::UndoArray, ADR, std::slice::from_ref(&few));
    assert_eq!((location.stores, location.nt_stores, location.sfences), (1, 3 + 1, 3));
    // The lineage's form: a row of two lines aside behind its address; flag; row; flag.
    let backup = cost("tatp", Scheme::Raw, ADR, &[few]);
    assert_eq!(
        (backup.sfences, backup.flushes, backup.stores),
        (4, 3 + 1 + 1 + 1, 18 + 1 + 1 + 1)
    );
    let lines = |n| {
        let sizes = [
            ("items", 50),
            ("customers", 5),
            ("orders", 2),
            ("min_lines", n),
            ("max_lines", n),
        ];
        sizes.map(|(name, v)| (name, Raw::Int(v)))
    };
    for n in [5, 10] {
        let order = cost("tpcc", Scheme::UndoArray, ADR, &lines(n));
        // District, two rows and indexes; quantity, ytd, order_cnt and eight words of each line, all of the home warehouse.
        assert_eq!(order.stores, 1 + 5 + 2 + 2 + 11 * n as usize);
        let backup = cost("tpcc", Scheme::Raw, ADR, &lines(n));
        assert_eq!((backup.sfences, backup.nt_stores), (4, 0));
    }
    let update = |stores, scheme| cost("pc", scheme, ADR, &[("stores", Raw::Int(stores))]);
    assert_eq!(
        (
            update(8, Scheme::UndoArray).stores,
            update(8, Scheme::UndoArray).sfences
        ),
        (8, 8 + 2)
    );
    assert_eq!((update(1, Scheme::Raw).sfences, update(2, Scheme::Raw).sfences), (1, 4));
    // An insertion into an empty list: each word of the value is one more store with its own record and barrier.
    let insert = |words| {
        let params = [("preload", Raw::Int(0)), ("words", Raw::Int(words))];
        let c = cost("ll", Scheme::UndoArray, ADR, &params);
        (c.stores, c.sfences)
    };
    assert_eq!(insert(6), (insert(1).0 + 5, insert(1).1 + 5));
}

#[test]
fn hardware_and_volatile_runs_log_and_flush_nothing() {
    for about in logged() {
        for scheme in about.schemes {
            let (hardware, _) = small(&about, *scheme, HARDWARE, "auto", 2);
            let (volatile, _) = small(&about, *scheme, VOLATILE, "auto", 2);
            // The operations' transactions (of two requests that are merged, the merge), and the empty one with which each run of a thread ends.
            let tx = if about.name == "echo" { hardware.tx } else { 8 };
            assert!(tx >= 4, "{}", about.name);
            assert_eq!(hardware, Cost { tx, ..volatile }, "{} {}", about.name, scheme.name());
            assert_eq!(
                volatile,
                Cost {
                    stores: volatile.stores,
                    ..Cost::default()
                }
            );
            let (undo, _) = small(&about, about.schemes[0], VOLATILE, "auto", 2);
            assert_eq!(volatile, undo, "the scheme does not matter where software does not log");
        }
    }
}

struct Sites(Dialect);
impl Visit for Sites {
    type Out = Vec<u16>;
    fn visit<P: Program>(self, p: P) -> Vec<u16> {
        record(&p, self.0, 2, 40, 3).computes.into_keys().collect()
    }
}

#[test]
fn every_site_is_met_by_some_program() {
    let mut met = std::collections::BTreeSet::new();
    for about in with_front() {
        let mut s = Settings {
            threads: 2,
            ops: 40,
            ..settings(about.name, about.schemes[0], Variant::Correct, 3)
        };
        s.params.extend(front());
        met.extend(with_program(about.name, &s, Sites(VOLATILE)).unwrap());
    }
    for about in fencepost_programs::programs() {
        for scheme in about.schemes {
            for dialect in [SO, ADR, VOLATILE, HARDWARE] {
                let s = Settings {
                    threads: 2,
                    ops: 40,
                    ..settings(about.name, *scheme, Variant::Correct, 3)
                };
                met.extend(with_program(about.name, &s, Sites(dialect)).unwrap());
            }
        }
    }
    let all: Vec<u16> = (0..sites::NAMES.len() as u16).collect();
    assert_eq!(met.into_iter().collect::<Vec<_>>(), all);
}
