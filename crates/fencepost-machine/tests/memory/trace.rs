//! Bare request streams: closed-form cycle counts.

use fencepost_kernel::{Bytes, LineAddr, Ps, Stream};
use fencepost_machine::memory::*;

fn ddr3() -> MediaSpec {
    MediaSpec {
        t_refi: Ps(0),
        ..MediaSpec::preset("ddr3-1600").unwrap()
    }
}
fn run(media: &MediaSpec, requests: impl IntoIterator<Item = (TraceOp, u64)>) -> TraceResult {
    let requests = requests.into_iter().map(|(op, line)| (op, LineAddr(line)));
    run_trace(&trace_controller(), media, requests).unwrap()
}
fn reads(lines: impl IntoIterator<Item = u64>) -> impl Iterator<Item = (TraceOp, u64)> {
    lines.into_iter().map(|l| (TraceOp::Read, l))
}

#[test]
fn a_sequential_stream_runs_at_the_speed_of_the_bus() {
    // tRCD, then a column command every four clocks without a gap (rows are opened ahead), then tCL and a burst.
    let n = 8192;
    let r = run(&ddr3(), reads(0..n));
    assert_eq!(r.cycles, 11 + 4 * (n - 1) + 11 + 4);
    // One activate for each row of 128 lines.
    assert_eq!((r.requests, r.reads, r.writes, r.row_hits), (n, n, 0, n - n / 128));
    // Writes alike, but from the write queue: tCWL is 8 clocks.
    let w = run(&ddr3(), (0..n).map(|l| (TraceOp::Write, l)));
    assert_eq!(
        (w.cycles, w.writes, w.row_hits),
        (11 + 4 * (n - 1) + 8 + 4, n, n - n / 128)
    );
}

#[test]
fn refresh_takes_its_share() {
    let n = 400_000;
    let without = run(&ddr3(), reads(0..n)).cycles;
    let with = run(&MediaSpec::default(), reads(0..n)).cycles;
    // A rank rests tRFC of every tREFI, and precharges and opens its row again: 28 to 40 clocks more.
    let refreshes = with * 1250 / 7_800_000;
    let lost = with - without;
    assert!(
        (208 * refreshes..(208 + 45) * (refreshes + 1)).contains(&lost),
        "{lost} clocks, {refreshes} refreshes"
    );
}

#[test]
fn rows_of_one_bank_alternate_at_trc() {
    // 28 + 11 clocks from activate to activate; the last read ends tRCD, tCL and a burst after its activate.
    let one_bank = 8 * 128;
    let n = 64;
    let r = run(&ddr3(), reads((0..n).map(|i| i * one_bank)));
    assert_eq!((r.cycles, r.row_hits), ((n - 1) * 39 + 11 + 11 + 4, 0));
}

#[test]
fn activates_of_many_banks_are_limited_by_the_four_activate_window() {
    // One line of each row, over all banks: four activates per tFAW (24 clocks, beyond 4 tRRD = 20); 8 banks take
    // 48 clocks, more than tRC.
    let n = 512;
    let r = run(&ddr3(), reads((0..n).map(|i| i * 128)));
    let groups = n / 4 - 1;
    assert_eq!(r.cycles, groups * 24 + 3 * 5 + 11 + 11 + 4);
    // Without the window: tRRD. A bank comes round after 40 clocks, just beyond tRC.
    let free = MediaSpec { t_faw: Ps(0), ..ddr3() };
    let r = run(&free, reads((0..n).map(|i| i * 128)));
    assert_eq!(r.cycles, (n - 1) * 5 + 11 + 11 + 4);
}

#[test]
fn every_medium_serves_a_mixed_random_stream_and_does_so_twice_alike() {
    for p in MediaSpec::PRESETS {
        let stream = || {
            let mut rng = Stream::new(7, "trace");
            (0..5000).map(move |_| {
                let op = if rng.chance(1, 3) {
                    TraceOp::Write
                } else {
                    TraceOp::Read
                };
                (op, rng.below(1 << 16))
            })
        };
        let (a, b) = (run(&(p.spec)(), stream()), run(&(p.spec)(), stream()));
        assert_eq!(a, b, "{}", p.name);
        assert_eq!((a.requests, a.reads + a.writes), (5000, 5000), "{}", p.name);
        assert!(a.cycles > 0 && a.row_hits < 5000);
    }
}

#[test]
fn a_bad_medium_is_refused() {
    let bad = MediaSpec {
        row_size: Bytes(100),
        ..ddr3()
    };
    assert!(run_trace(&trace_controller(), &bad, []).is_err());
}
