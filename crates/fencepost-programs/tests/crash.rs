//! Crash consistency of every program: every strict prefix, random x86 states, hardware transactions, recovery of
//! recovery; and the same harness convicting the deliberate mistakes.

mod common;
use common::*;
use fencepost_kernel::params::Raw;
use fencepost_kernel::{Dialect, Program};
use fencepost_programs::{Scheme, Settings, Variant, Visit, programs, with_program};

const THREADS: u32 = 3;
const OPS: u32 = 14;

/// Small parameters, so that operations collide.
fn small(word: &str) -> Vec<(String, Raw)> {
    let ints: &[(&str, i64)] = match word {
        "cq" => &[("preload", 3)],
        "sps" => &[("entries", 12), ("locks", 5), ("swaps", 2)],
        "hash" => &[("buckets", 3), ("keys", 12), ("preload", 4)],
        "rbtree" => &[("keys", 24), ("preload", 8)],
        "bplustree" => &[("keys", 40), ("preload", 16), ("pairs", 4), ("batch", 2)],
        _ => &[],
    };
    ints.iter().map(|(n, v)| (n.to_string(), Raw::Int(*v))).collect()
}
fn settings(word: &str, scheme: Scheme, variant: Variant, seed: u64) -> Settings {
    Settings {
        threads: THREADS,
        ops: OPS,
        seed,
        scheme,
        variant,
        params: small(word),
    }
}

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
                let s = settings(about.word, *scheme, Variant::Correct, seed);
                let got = with_program(about.word, &s, Strict(dialect, seed)).unwrap();
                let states = got.unwrap_or_else(|e| panic!("{} {} {}: {e}", about.word, scheme.word(), dialect.name));
                assert!(
                    states > 50,
                    "{} {} {}: only {states} states",
                    about.word,
                    scheme.word(),
                    dialect.name
                );
            }
        }
    }
}

#[test]
fn correct_programs_survive_random_x86_states() {
    for about in programs() {
        for scheme in about.schemes {
            for (seed, dialect) in [(5, SO), (6, ADR)] {
                for order in [LineOrder::Fifo, LineOrder::None] {
                    let s = settings(about.word, *scheme, Variant::Correct, seed);
                    let got = with_program(about.word, &s, Random(dialect, order, 4, seed)).unwrap();
                    got.unwrap_or_else(|e| panic!("{} {} {}: {e}", about.word, scheme.word(), dialect.name));
                }
            }
        }
    }
}

#[test]
fn matrix() {
    for about in programs() {
        for scheme in about.schemes {
            for variant in &about.variants {
                let mut line = format!("{:12} {:10} {:18}", about.word, scheme.word(), variant.word());
                for dialect in [SO, ADR] {
                    let hit = (1..4).any(|seed| {
                        let s = settings(about.word, *scheme, *variant, seed);
                        with_program(about.word, &s, Strict(dialect, seed)).unwrap().is_err()
                    });
                    line += if hit { " X" } else { " -" };
                    for order in [LineOrder::Fifo, LineOrder::None] {
                        let hit = (1..4).any(|seed| {
                            let s = settings(about.word, *scheme, *variant, seed);
                            with_program(about.word, &s, Random(dialect, order, 6, seed))
                                .unwrap()
                                .is_err()
                        });
                        line += if hit { "X" } else { "-" };
                    }
                }
                println!("{line}");
            }
        }
    }
}
