//! What Themis adds is missing in the baseline: there a temporal store overtakes a non-temporal one.

use super::harness::{Setup, body, judge, pm};
use fencepost_contract::ContractKind;
use fencepost_kernel::{Mem, Stream, Val};
use fencepost_machine::ThreadBody;

/// Non-temporal and temporal stores of one thread to a few lines; small caches evict what is temporal.
fn thread(seed: u64) -> ThreadBody {
    let mut dice = Stream::new(seed, "baseline");
    body(move |m| {
        for k in 1..40 {
            let line = dice.below(12);
            match dice.below(3) {
                0 => m.nt_store(pm(line), Val::lit(k)),
                _ => m.store(pm(line), Val::lit(k)),
            }
        }
    })
}

#[test]
fn baseline_hardware_reorders_non_temporal_before_temporal() {
    let breaks = |design: &str, seed| {
        let s = Setup::new(design).with("drain_delay", "700ns");
        judge(&s.run(vec![thread(seed)]), ContractKind::Themis).is_err()
    };
    for design in ["x86-adr", "x86-ideal"] {
        assert!((0..200).any(|seed| breaks(design, seed)), "{design}");
    }
    assert!((0..200).all(|seed| !breaks("themis", seed)));
}
