//! What programs take of both memories: all of it is named, nothing lies beyond, and it grows with what it is for.

use crate::common::*;
use fencepost_kernel::params::Raw;
use fencepost_kernel::units::PM_BASE;
use fencepost_kernel::{Footprint, Program, Span};
use fencepost_programs::{Settings, Variant, Visit, footprint, programs, with_program};

/// Whether spans in this order lie apart, and all in front of `end`.
fn apart(spans: &[Span], end: u64) -> bool {
    let mut all: Vec<(u64, u64)> = spans.iter().map(|s| (s.at.0, s.at.0 + s.len)).collect();
    all.sort_unstable();
    all.windows(2).all(|w| w[0].1 <= w[1].0) && all.iter().all(|s| s.0 >= PM_BASE && s.1 <= end)
}

/// Programs that leave a part of their memory to the default queue: arrays that a map grows into, entries and rows beside a pool, pages
/// behind those in use, a log that nothing writes.
const IN_PART: [&str; 10] = [
    "hashmap",
    "tpcc",
    "sqlite",
    "echo",
    "nstore-tpcc",
    "random",
    "pmfs",
    "nfs",
    "exim",
    "mysql",
];

/// What is wrong with what a program says of its memory; all of it is to be named.
struct Parts {
    all_named: bool,
}
impl Visit for Parts {
    type Out = Vec<String>;
    fn visit<P: Program>(self, p: P) -> Vec<String> {
        let run = record(&p, ADR, THREADS, OPS, 3);
        let Footprint { dram, pm } = p.footprint();
        let end = PM_BASE + pm.0;
        let mut wrong = Vec::new();
        let mut check = |right: bool, what: &str| {
            if !right {
                wrong.push(what.to_owned());
            }
        };
        let inside = |at: u64| if at < PM_BASE { at < dram.0 } else { at < end };
        check(run.loaded.iter().all(|l| inside(l.0 * 64 + 63)), "a load beyond");
        check(apart(&p.resident(), end), "resident data");
        for thread in 0..THREADS {
            let ranges = p.ranges(thread);
            check(apart(&ranges, end), "ranges");
            for e in &run.events {
                if let Event::Store { thread: by, word, .. } = e {
                    check(inside(*word), "a store beyond");
                    let bound = |s: &Span| (s.at.0..s.at.0 + s.len).contains(word);
                    let foreign = *by != thread || !self.all_named;
                    check(foreign || ranges.iter().any(bound), "a store to no range");
                }
            }
        }
        // What lies between the ranges of all threads is no more than pages are long to which parts are aligned.
        let mut all: Vec<Span> = (0..THREADS).flat_map(|t| p.ranges(t)).collect();
        all.sort_by_key(|s| (s.at, s.len));
        let mut next = PM_BASE;
        for s in &all {
            check(!self.all_named || s.at.0 < next + 4096 + 64, "a part that nobody names");
            next = next.max(s.at.0 + s.len);
        }
        check(!self.all_named || end < next + 64, "a part behind all");
        wrong.sort_unstable();
        wrong.dedup();
        wrong
    }
}

/// Every load and every store is of memory that the program has; what is resident lies apart, and so do the ranges that a thread binds;
/// a thread stores to no persistent word that it has not bound, and there is none that no thread binds, but in a few programs.
#[test]
fn what_a_program_touches_it_has_and_has_named() {
    let mut all = Vec::new();
    for about in programs() {
        for scheme in [about.schemes[0], about.schemes[about.schemes.len() - 1]] {
            let s = settings(about.name, scheme, Variant::Correct, 3);
            let all_named = !IN_PART.contains(&about.name);
            let wrong = with_program(about.name, &s, Parts { all_named }).unwrap();
            all.extend(
                wrong
                    .into_iter()
                    .map(|w| format!("{} {}: {w}", about.name, scheme.name())),
            );
        }
    }
    assert!(all.is_empty(), "{all:#?}");
}

/// Parameters by name.
type Named = Vec<(&'static str, Raw)>;

/// Bytes of persistent and of volatile memory.
fn bytes(program: &str, ops: u32, params: &[(&str, Raw)]) -> (i64, i64) {
    let s = Settings {
        threads: 2,
        ops,
        params: params.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect(),
        ..Settings::default()
    };
    let f = footprint(program, &s).expect("it can be built");
    (f.pm.0 as i64, f.dram.0 as i64)
}
fn size(bytes: u64) -> Raw {
    Raw::Text(format!("{bytes}B"))
}

/// Of so many more operations of each of two threads, each takes these bytes of its thread's pool at most: none of volatile memory.
#[test]
fn pools_grow_with_the_operations() {
    const MORE: i64 = 640;
    let text = |t: &str| Raw::Text(t.to_owned());
    // A version is the one before, its identity and the value; an entry two words of chain and key, two of versions, the rest of the key.
    let echo = |key: i64, value: i64| (16 + value + 63) / 64 * 64 + (32 + key - 8 + 63) / 64 * 64;
    let cases: &[(&str, Named, i64)] = &[
        ("cq", vec![], 64),
        ("cq", vec![("shape", text("ring"))], 0),
        ("hash", vec![], 128),
        ("rbtree", vec![], 64),
        // Of 15 pairs and 16 children a node has 376 bytes on six lines; 20,000 keys are at most five levels of nodes half full.
        ("btree", vec![], 5 * 384),
        // Of 63 pairs 8 + 63 * 16 + 64 * 8 bytes: 24 lines; 2 * 32^2 - 1 keys are three levels, one fewer two.
        (
            "btree",
            vec![
                ("pairs", Raw::Int(63)),
                ("keys", Raw::Int(2047)),
                ("preload", Raw::Int(0)),
            ],
            3 * 1536,
        ),
        (
            "btree",
            vec![
                ("pairs", Raw::Int(63)),
                ("keys", Raw::Int(2046)),
                ("preload", Raw::Int(0)),
            ],
            2 * 1536,
        ),
        // An object and an entry.
        ("redis", vec![], 2 * 64),
        // An item is a line and the largest value.
        ("memcached", vec![], 64 + 512),
        ("memcached", vec![("largest", size(72))], 64 + 128),
        ("echo", vec![], echo(128, 1024)),
        ("echo", vec![("key", size(8)), ("value", size(8))], echo(8, 8)),
        ("echo", vec![("key", size(48)), ("value", size(200))], echo(48, 200)),
        // A slot has three lines.
        ("commitstore", vec![], 3 * 64),
        // A block each of value and node or entry.
        ("ctree", vec![("preload", Raw::Int(0))], 2 * 128),
        (
            "ctree",
            vec![("preload", Raw::Int(0)), ("batch", Raw::Int(3)), ("value", size(256))],
            3 * 2 * 256,
        ),
    ];
    for (program, params, each) in cases {
        let (few, many) = (bytes(program, 640, params), bytes(program, 640 + MORE as u32, params));
        assert_eq!(
            (many.0 - few.0, many.1 - few.1),
            (2 * MORE * each, 0),
            "{program} {params:?}"
        );
    }
}

/// What stands before the run, tables and locks take so much more where there are more of them.
#[test]
fn tables_grow_with_what_they_hold() {
    let int = Raw::Int;
    // A program; a parameter, from one value to another; more bytes of persistent and of volatile memory.
    let cases: &[(&str, &str, Raw, Raw, i64, i64)] = &[
        ("cq", "preload", int(64), int(128), 64 * 64, 0),
        ("hash", "preload", int(64), int(128), 64 * 128, 0),
        // A word a bucket.
        ("hash", "buckets", int(1024), int(2048), 1024 * 8, 0),
        ("hash", "locks", int(64), int(128), 0, 64 * 64),
        ("hash", "locks", int(65), int(128), 0, 0),
        ("rbtree", "preload", int(64), int(128), 64 * 64, 0),
        // A root pointer and a lock each, on lines.
        ("rbtree", "trees", int(64), int(128), 64 * 64, 64 * 64),
        // Entry and object.
        ("redis", "preload", int(64), int(128), 64 * 2 * 64, 0),
        ("redis", "buckets", int(1025), int(2049), 2048 * 8, 0),
        ("redis", "locks", int(64), int(128), 0, 64 * 64),
        ("memcached", "preload", int(64), int(128), 64 * (64 + 512), 0),
        // A list and a lock each.
        ("memcached", "shards", int(65), int(129), 128 * 64, 128 * 64),
        ("memcached", "buckets", int(1025), int(2049), 2048 * 8, 0),
        ("memcached", "entries", int(64), int(128), 0, 0),
        ("echo", "preload", int(64), int(128), 64 * (1088 + 192), 0),
        ("echo", "buckets", int(1025), int(2049), 2048 * 8, 0),
        ("echo", "locks", int(64), int(128), 0, 64 * 64),
        ("ctree", "preload", int(64), int(128), 64 * 2 * 128, 0),
    ];
    for (program, name, from, to, pm, dram) in cases {
        let of = |v: &Raw| bytes(program, 64, &[(*name, v.clone())]);
        let (less, more) = (of(from), of(to));
        assert_eq!(
            (more.0 - less.0, more.1 - less.1),
            (*pm, *dram),
            "{program} {name} {to:?}"
        );
    }
    // A lock a bucket, up to as many as there are stripes, a line each.
    for program in ["hash", "redis", "echo"] {
        let of = |buckets| bytes(program, 64, &[("locks", int(256)), ("buckets", int(buckets))]).1;
        assert_eq!((of(128) - of(64), of(1024) - of(256)), (64 * 64, 0), "{program}");
    }
    // Two threads' clients keep key, identity and value of each request of a batch. Logs are as small as they may be.
    let echo = |batch, value| bytes("echo", 64, &[("batch", int(batch)), ("value", size(value))]).1;
    assert_eq!(echo(8, 112) - echo(4, 112), 2 * 4 * (16 + 112));
    assert_eq!(echo(4, 240) - echo(4, 112), 2 * 4 * 128);
    // A circular buffer has a line a slot, as many slots as the next power of two, and a word that is shared.
    let ring = |slots| {
        bytes(
            "cq",
            64,
            &[
                ("shape", Raw::Text("ring".into())),
                ("preload", int(0)),
                ("slots", int(slots)),
            ],
        )
    };
    assert_eq!((ring(129).0 - ring(128).0, ring(129).1 - ring(128).1), (128 * 64, 0));
    assert_eq!(ring(200), ring(256));
}

/// Bytes of a thread's log.
struct LogBytes;
impl Visit for LogBytes {
    type Out = u64;
    fn visit<P: Program>(self, p: P) -> u64 {
        p.ranges(0)[0].len
    }
}

/// A log has two lines, and a line for each word that the largest transaction stores, on whole pages.
#[test]
fn logs_hold_the_largest_transaction() {
    let int = Raw::Int;
    let cases: &[(&str, Named, u64)] = &[
        // Item and value, and 48 words of lists and links.
        ("memcached", vec![("largest", size(1024))], 1024 / 8 + 48),
        // Entry and version, whole, a link and two words of an entry for each put.
        ("echo", vec![], 8 * (152 / 8 + 1040 / 8 + 3)),
        (
            "echo",
            vec![("batch", int(64)), ("key", size(512)), ("value", size(4096))],
            64 * (536 / 8 + 4112 / 8 + 3),
        ),
        // A node of seven words and an entry of three, beside the value, for each key.
        (
            "ctree",
            vec![("preload", int(0)), ("batch", int(16)), ("value", size(1024))],
            16 * (7 + 3 + 128),
        ),
        // Entry, bucket and count, beside the value, for each key; or, to grow, every bucket and two words of every entry.
        (
            "hashmap",
            vec![
                ("preload", int(0)),
                ("batch", int(16)),
                ("value", size(4096)),
                ("keys", int(16)),
            ],
            16 * (5 + 1 + 1 + 512),
        ),
        (
            "hashmap",
            vec![("preload", int(3000)), ("buckets", int(1000)), ("keys", int(1))],
            4000 + 2 * 3001 + 8,
        ),
        // Three nodes on each level, and a new one on top.
        ("btree", vec![], 6 * 3 * 384 / 8),
        ("rbtree", vec![], 1024),
        // Twice six words for each pair of a node and each key.
        (
            "bplustree",
            vec![("batch", int(8)), ("pairs", int(250))],
            8 * 6 * 250 * 2,
        ),
    ];
    for (program, params, stores) in cases {
        let s = Settings {
            threads: 2,
            ops: 64,
            params: params.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect(),
            ..Settings::default()
        };
        let log = with_program(program, &s, LogBytes).unwrap();
        assert_eq!(
            log,
            (2 * 64 + stores * 64).next_multiple_of(4096),
            "{program} {params:?}"
        );
    }
}
