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

struct FirstOp(Dialect);
impl Visit for FirstOp {
    type Out = Cost;
    fn visit<P: Program>(self, p: P) -> Cost {
        let mut c = Cost::default();
        for e in record(&p, self.0, 1, 1, 1).events {
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
        c
    }
}
fn cost(word: &str, scheme: Scheme, dialect: Dialect, params: &[(&str, Raw)]) -> Cost {
    let params = params.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
    let s = Settings {
        threads: 1,
        ops: 1,
        seed: 1,
        scheme,
        variant: Variant::Correct,
        params,
    };
    with_program(word, &s, FirstOp(dialect)).unwrap()
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
    programs.filter(|p| p.schemes.iter().any(|s| *s != Scheme::Raw))
}

/// Coupled logging: an entry and a barrier prior to every store of the transaction, new blocks included; then data and commit.
/// Grouped logging has no more barriers than that, and leaves new blocks out.
#[test]
fn coupled_logging_logs_every_store() {
    for about in logged() {
        let coupled = cost(about.word, Scheme::UndoArray, ADR, &[]);
        let changes = coupled.stores > 0;
        assert_eq!(
            coupled.sfences,
            coupled.stores + 2 * usize::from(changes),
            "{}",
            about.word
        );
        let grouped = cost(
            about.word,
            Scheme::UndoArray,
            ADR,
            &[("coupling", Raw::Text("grouped".into()))],
        );
        assert_eq!(grouped.stores, coupled.stores, "{}", about.word);
        assert!(
            grouped.sfences <= coupled.sfences && grouped.nt_stores <= coupled.nt_stores,
            "{}",
            about.word
        );
        assert!(
            changes,
            "{}: the first operation with this seed changes nothing",
            about.word
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
    // The first node of an empty tree: node, root pointer, record, mark; painting the fresh node black needs no record, but its line is
    // remembered again, because another came between.
    let first = cost("rbtree", Scheme::UndoArray, SO, &[("preload", Raw::Int(0))]);
    assert_eq!((first.pcommits, first.flushes), (3, 2 + 1 + 1 + 1));
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

#[test]
fn hardware_and_volatile_runs_log_and_flush_nothing() {
    for about in logged() {
        for scheme in about.schemes {
            let hardware = cost(about.word, *scheme, HARDWARE, &[]);
            let volatile = cost(about.word, *scheme, VOLATILE, &[]);
            // The operation's transaction, and the empty one with which a thread ends.
            assert_eq!(hardware, Cost { tx: 4, ..volatile }, "{} {}", about.word, scheme.word());
            assert_eq!(
                volatile,
                Cost {
                    stores: volatile.stores,
                    ..Cost::default()
                }
            );
            let undo = cost(about.word, about.schemes[0], VOLATILE, &[]);
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
    for about in fencepost_programs::programs() {
        for scheme in about.schemes {
            for dialect in [SO, ADR, VOLATILE, HARDWARE] {
                let s = Settings {
                    threads: 2,
                    ops: 40,
                    ..settings(about.word, *scheme, Variant::Correct, 3)
                };
                met.extend(with_program(about.word, &s, Sites(dialect)).unwrap());
            }
        }
    }
    // The index is for programs of other files.
    let own = |id: &u16| ![sites::INDEX_PROBE.0, sites::ROW.0].contains(id);
    let all: Vec<u16> = (0..sites::NAMES.len() as u16).filter(own).collect();
    assert_eq!(met.into_iter().collect::<Vec<_>>(), all);
}
