//! Programs that do the application's work around their transactions: what they persist is what they persist without it, it comes from
//! the request, and it survives what it survives without it.

use crate::common::*;
use fencepost_kernel::{Dialect, Program};
use fencepost_programs::{Scheme, Settings, Variant, Visit, with_program};

/// Records a run.
struct Record(Dialect);
impl Visit for Record {
    type Out = Run;
    fn visit<P: Program>(self, p: P) -> Run {
        record(&p, self.0, THREADS, OPS, 3)
    }
}

fn with(program: &str, scheme: Scheme, seed: u64) -> Settings {
    let mut s = settings(program, scheme, Variant::Correct, seed);
    s.params.extend(front());
    s
}

/// The eight programs of the suite that are transactions of applications, and no other.
#[test]
fn the_suites_transactions_have_a_front() {
    let mut names: Vec<&str> = with_front().iter().map(|p| p.name).collect();
    names.sort_unstable();
    let mut eight = fencepost_programs::WHISPER[..8].to_vec();
    eight.sort_unstable();
    assert_eq!(names, eight);
}

/// Values go through the client's buffer and come out as they were: every persistent store, flush, fence and acknowledgement is the same,
/// and only volatile work is added.
#[test]
fn what_persists_does_not_depend_on_the_front() {
    for about in with_front() {
        for scheme in about.schemes {
            let s = settings(about.name, *scheme, Variant::Correct, 3);
            let without = with_program(about.name, &s, Record(ADR)).unwrap();
            let with = with_program(about.name, &with(about.name, *scheme, 3), Record(ADR)).unwrap();
            let name = format!("{} {}", about.name, scheme.name());
            assert!(without.events == with.events, "{name}");
            assert!(with.volatile_stores > without.volatile_stores, "{name}");
        }
    }
}

/// Strict prefixes of a run with the front, and random states of x86.
struct Survive(Dialect);
impl Visit for Survive {
    type Out = Result<usize, String>;
    fn visit<P: Program>(self, p: P) -> Self::Out {
        let run = record(&p, self.0, THREADS, OPS, 5);
        let at = |(n, v): (usize, fencepost_kernel::Violation)| format!("after {n}: {v:?}");
        let prefixes = strict_prefixes(&p, &run).map_err(at)?;
        let device = self.0.name == "so";
        let states = x86_samples(&p, &run, device, LineOrder::None, 2, 5).map_err(at)?;
        Ok(prefixes.min(states))
    }
}

#[test]
fn programs_survive_with_their_fronts() {
    for about in with_front() {
        for scheme in about.schemes {
            for dialect in [SO, ADR, COMMIT] {
                let got = with_program(about.name, &with(about.name, *scheme, 5), Survive(dialect)).unwrap();
                let name = format!("{} {} {}", about.name, scheme.name(), dialect.name);
                assert!(got.unwrap_or_else(|e| panic!("{name}: {e}")) > 50, "{name}");
            }
        }
    }
}

/// A front that is there costs accesses that follow the request: a larger value costs more of them.
#[test]
fn volatile_work_follows_the_size_of_values() {
    let sizes = [
        ("echo", "value", "64B", "128B"),
        ("memcached", "largest", "64B", "128B"),
        ("nstore-ycsb", "field", "64B", "128B"),
        ("ctree", "value", "64B", "128B"),
        ("hashmap", "value", "64B", "128B"),
    ];
    for (program, parameter, small, large) in sizes {
        let volatile = |size: &str| {
            let mut s = with(program, Scheme::Redo, 3);
            let raw = |v: &str| fencepost_kernel::params::Raw::Text(v.into());
            if program == "memcached" {
                s.params.push(("smallest".into(), raw(size)));
            }
            s.params.push((parameter.into(), raw(size)));
            with_program(program, &s, Record(ADR)).unwrap().volatile_stores
        };
        let (small, large) = (volatile(small), volatile(large));
        assert!(large >= small + 64 / 8, "{program}: {small}, {large}");
    }
}
