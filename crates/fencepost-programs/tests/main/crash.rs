//! Crash consistency of every program: every strict prefix, random x86 states, hardware transactions, recovery of
//! recovery. What convicts the deliberate mistakes is in `variants.rs`.

use crate::common::*;
use fencepost_kernel::params::Raw;
use fencepost_kernel::{Dialect, Program};
use fencepost_programs::choices::LogForm;
use fencepost_programs::{Scheme, Variant, Visit, programs, with_program};
use std::collections::BTreeSet;

struct Strict(Dialect, u64);
impl Visit for Strict {
    type Out = Result<usize, String>;
    fn visit<P: Program>(self, p: P) -> Self::Out {
        let run = record(&p, self.0, THREADS, OPS, self.1);
        strict_prefixes(&p, &run).map_err(|(n, v)| format!("after {n} stores: {v:?}"))
    }
}
struct Random(Dialect, LineOrder, usize, u64);
impl Visit for Random {
    type Out = Result<usize, String>;
    fn visit<P: Program>(self, p: P) -> Self::Out {
        let run = record(&p, self.0, THREADS, OPS, self.3);
        let device = self.0.name == "so";
        x86_samples(&p, &run, device, self.1, self.2, self.3).map_err(|(n, v)| format!("state {n}: {v:?}"))
    }
}

#[test]
fn correct_programs_survive_every_strict_prefix() {
    for about in programs() {
        for scheme in about.schemes {
            for (seed, dialect) in [(1, SO), (2, ADR), (3, DELEGATED), (4, HARDWARE)] {
                let s = settings(about.name, *scheme, Variant::Correct, seed);
                let got = with_program(about.name, &s, Strict(dialect, seed)).unwrap();
                let states = got.unwrap_or_else(|e| panic!("{} {} {}: {e}", about.name, scheme.name(), dialect.name));
                assert!(
                    states > 50,
                    "{} {} {}: only {states} states",
                    about.name,
                    scheme.name(),
                    dialect.name
                );
            }
        }
    }
}

/// The default mix has new orders alone.
#[test]
fn all_transactions_of_tpcc_survive_every_strict_prefix() {
    let about = programs().into_iter().find(|p| p.name == "tpcc").unwrap();
    for mix in ["writes", "standard"] {
        for scheme in about.schemes {
            for (seed, dialect) in [(1, SO), (2, ADR), (4, HARDWARE)] {
                let mut s = settings("tpcc", *scheme, Variant::Correct, seed);
                s.params.push(("mix".into(), Raw::Text(mix.into())));
                let got = with_program("tpcc", &s, Strict(dialect, seed)).unwrap();
                got.unwrap_or_else(|e| panic!("{mix} {} {}: {e}", scheme.name(), dialect.name));
            }
        }
    }
}

/// A few operations of one thread.
struct Few(Dialect, u64);
impl Visit for Few {
    type Out = Result<usize, String>;
    fn visit<P: Program>(self, p: P) -> Self::Out {
        let run = record(&p, self.0, 1, 3, self.1);
        x86_samples(&p, &run, true, LineOrder::None, 1, self.1).map_err(|(n, v)| format!("state {n}: {v:?}"))
    }
}

/// Objects from a word to more than two of the largest records, that begin within a line and end in every word of one.
#[test]
fn objects_of_every_length_are_logged_and_flushed_whole() {
    let about = programs().into_iter().find(|p| p.name == "nstore-ycsb").unwrap();
    let undo = |s: &&Scheme| matches!(s.form(), LogForm::Undo(..));
    for words in (1..=9).chain([130]) {
        for scheme in about.schemes.iter().filter(undo) {
            let mut s = settings("nstore-ycsb", *scheme, Variant::Correct, 11);
            let fields = if words > 100 { 10 } else { 1 };
            let sizes = [
                ("keys", 2),
                ("write_percent", 100),
                ("skew_percent", 50),
                ("fields", fields),
            ];
            s.params = sizes.map(|(n, v)| (n.into(), Raw::Int(v))).into();
            let field = Raw::Text(format!("{}B", 8 * words / fields));
            s.params.push(("field".into(), field));
            let got = with_program("nstore-ycsb", &s, Few(SO, 11)).unwrap();
            got.unwrap_or_else(|e| panic!("{words} words, {}: {e}", scheme.name()));
        }
    }
}

#[test]
fn correct_programs_survive_random_x86_states() {
    for about in programs() {
        for scheme in about.schemes {
            for (seed, dialect, order) in [
                (5, SO, LineOrder::None),
                (6, ADR, LineOrder::Fifo),
                (7, ADR, LineOrder::None),
            ] {
                let s = settings(about.name, *scheme, Variant::Correct, seed);
                let got = with_program(about.name, &s, Random(dialect, order, 2, seed)).unwrap();
                got.unwrap_or_else(|e| panic!("{} {} {}: {e}", about.name, scheme.name(), dialect.name));
            }
        }
    }
}

/// Recovery cut short by another failure and begun again ends in the same memory as recovery in one go.
struct Again;
impl Visit for Again {
    type Out = usize;
    fn visit<P: Program>(self, p: P) -> usize {
        let run = record(&p, ADR, THREADS, 5, 8);
        let (mut image, mut tried) = (persistent(&run.initial), 0);
        for (i, e) in run.events.iter().enumerate() {
            let Event::Store { word, value, .. } = e else { continue };
            image.set_word(fencepost_kernel::Addr(*word), *value, None);
            if !i.is_multiple_of(stride(&run)) {
                continue;
            }
            let mut whole = After(image.clone());
            recover(&p, &mut whole, None).unwrap();
            for stop in [1, 2, 3, 5, 9] {
                let mut twice = After(image.clone());
                recover(&p, &mut twice, Some(stop)).unwrap();
                assert!(
                    whole
                        .0
                        .pm_lines()
                        .all(|l| whole.0.line_words(l) == twice.0.line_words(l)),
                    "stop after {stop}"
                );
                tried += 1;
            }
        }
        tried
    }
}

#[test]
fn recovery_may_be_cut_short_and_begun_again() {
    for about in programs() {
        for scheme in about.schemes {
            let s = settings(about.name, *scheme, Variant::Correct, 8);
            assert!(with_program(about.name, &s, Again).unwrap() > 100);
        }
    }
}

/// The audit of a sound final image, and of that image with one changed word.
struct Mutate;
impl Visit for Mutate {
    type Out = (usize, usize);
    fn visit<P: Program>(self, p: P) -> (usize, usize) {
        let run = record(&p, ADR, THREADS, OPS, 9);
        let model = p.model(&run.ops);
        let mut end = crash_point(&run);
        run.events.iter().for_each(|e| progress(&mut end, e));
        assert_eq!(
            (&end.begun, &end.acked),
            (&vec![OPS; 3], &vec![OPS; 3]),
            "order is durable: everything is acknowledged"
        );
        let image = persistent(&run.last);
        judge(&p, &model, &image, &end).unwrap();
        // Words that an operation changed: each is live or freed; corrupt them one by one.
        // Logs are stored past the caches, or, by block, as data is: where hardware logs, data alone is stored.
        let stored = |run: &Run| -> BTreeSet<u64> {
            let words = run.events.iter().filter_map(|e| match e {
                Event::Store { word, nt: false, .. } => Some(*word),
                _ => None,
            });
            words.collect()
        };
        let data = stored(&record(&p, HARDWARE, THREADS, OPS, 9));
        let words: Vec<u64> = stored(&run).intersection(&data).copied().collect();
        let looked_at = || words.iter().step_by(words.len().div_ceil(2_000).max(1));
        let mut caught = 0;
        for w in looked_at() {
            let mut broken = image.clone();
            broken.set_word(
                fencepost_kernel::Addr(*w),
                image.word(fencepost_kernel::Addr(*w)) ^ 0x5a,
                None,
            );
            caught += usize::from(judge(&p, &model, &broken, &end).is_err());
        }
        (caught, looked_at().count())
    }
}

#[test]
fn audits_notice_corrupted_words() {
    for about in programs() {
        // What a write-ahead log holds of the pages is dead in the pages themselves.
        for scheme in about.schemes.iter().filter(|s| **s != Scheme::SqliteWal) {
            let s = settings(about.name, *scheme, Variant::Correct, 9);
            let (caught, words) = with_program(about.name, &s, Mutate).unwrap();
            // What is not noticed must be dead: freed blocks, unused slots of wide nodes, free space of pages, and
            // rows copied aside by hand.
            let share = match (about.name, scheme) {
                _ if *scheme == Scheme::Raw => 5,
                ("sqlite", _) => 4,
                _ => 3,
            };
            assert!(
                caught * share > words,
                "{} {}: {caught} of {words}",
                about.name,
                scheme.name()
            );
        }
    }
}

/// Losing the last acknowledged operation, or showing one that had not begun, is a violation.
struct Bounds;
impl Visit for Bounds {
    type Out = ();
    fn visit<P: Program>(self, p: P) {
        // With this seed neither the first nor the last operation toggles one key twice, which would change nothing.
        let run = record(&p, ADR, THREADS, OPS, 11);
        let model = p.model(&run.ops);
        let mut end = crash_point(&run);
        run.events.iter().for_each(|e| progress(&mut end, e));
        let changed = |o: &&fencepost_kernel::OpRecord| o.outcome.kind != 0;
        let last = run.ops.iter().rev().find(changed).unwrap();
        let mut early = end.clone();
        (early.begun[last.thread as usize], early.acked[last.thread as usize]) = (last.k, last.k);
        judge(&p, &model, &persistent(&run.last), &early).expect_err("an operation that had not begun is visible");
        let first = run.ops.iter().find(changed).unwrap();
        let mut acked = crash_point(&run);
        (acked.begun[first.thread as usize], acked.acked[first.thread as usize]) = (first.k + 1, first.k + 1);
        judge(&p, &model, &persistent(&run.initial), &acked).expect_err(&format!("lost {first:?}"));
        judge(&p, &model, &persistent(&run.initial), &crash_point(&run)).expect("nothing begun, nothing there");
    }
}

#[test]
fn audits_respect_acknowledged_and_begun() {
    for about in programs() {
        for scheme in about.schemes {
            with_program(about.name, &settings(about.name, *scheme, Variant::Correct, 11), Bounds).unwrap();
        }
    }
}
