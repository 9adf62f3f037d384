//! Delegated and synchronous ordering on the machine, beside what their paper states.

use super::harness::{Setup, Statement, programs};
use fencepost_designs::{DesignInfo, all};
use fencepost_kernel::{Addr, At, Fence, Flush, Mem, Stream, Val};
use fencepost_machine::{SimMem, ThreadBody};

fn body(f: impl FnOnce(&mut SimMem<'_>) + 'static) -> ThreadBody {
    Box::new(f)
}
fn pm(line: u64) -> At<u32> {
    At::new(Addr::pm(64 * line))
}

/// A store never performs into a full buffer, however small that is.
#[test]
fn no_store_performs_into_a_full_persist_buffer() {
    for (word, seed) in ["delegated", "delegated-merge"]
        .into_iter()
        .flat_map(|w| (0..40).map(move |s| (w, s)))
    {
        let s = Setup::new(word).with("entries", ["1", "2", "8"][seed as usize % 3]);
        let r = s.run(&programs(seed, 3, 50, 5));
        assert_eq!(r.design_count("overflows"), Some(0), "{word}, seed {seed}");
    }
}

/// Several `clflush` of one hardware thread are under way at a time where cores do not keep program order. With a `sfence` behind
/// them, whatever they cover is durable before what follows.
#[test]
fn overlapping_synchronous_flushes_each_flush_their_line() {
    let flushes = |d: &&DesignInfo| d.promise.honours.flushes.contains(&Flush::Clflush);
    let sound = |d: &&DesignInfo| (d.sound)(Setup::new(d.name).durable_on_accept(true).tso(false).environment());
    let words = all().iter().filter(flushes).filter(sound).map(|d| d.name);
    for (word, seed) in words.flat_map(|w| (0..200).map(move |s| (w, s))) {
        let s = Setup::new(word).durable_on_accept(true).tso(false);
        let thread = |t: u64| {
            let mut dice = Stream::new(seed * 3 + t, "synchronous-flushes");
            body(move |m| {
                for k in 0..30 {
                    let line = dice.below(5);
                    match dice.below(8) {
                        0..=2 => m.store(pm(line), Val::lit(t << 32 | (k + 1))),
                        3..=6 => m.flush(pm(line), Flush::Clflush),
                        _ => m.fence(Fence::Sfence),
                    }
                }
            })
        };
        let r = s.run_bodies((0..3).map(thread).collect());
        s.judge(&r).unwrap_or_else(|e| panic!("{word}, seed {seed}: {e}"));
    }
}

/// The paper's point: the same ordered work takes longer when execution waits for it.
#[test]
fn ordering_does_not_stall_delegated_execution() {
    let time = |design: &str| {
        let s = Setup::new(design);
        let program = (0..60).flat_map(|i| [Statement::Persist(Addr::pm(64 * (i % 5))), Statement::Order]);
        s.run(&[program.collect()]).time
    };
    assert!(
        time("so") > time("delegated") * 2,
        "{} against {}",
        time("so"),
        time("delegated")
    );
}
