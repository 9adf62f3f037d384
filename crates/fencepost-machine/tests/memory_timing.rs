//! Closed-form timing of the memory controller: one test for each rule, expected values from the rule's own formula.

mod memory_util;
use fencepost_kernel::Ps;
use fencepost_machine::memory::*;
use memory_util::*;

/// DRAM-like medium with round numbers, no refresh, one clock of 1 ns; rows of 16 lines, 4 banks.
fn media() -> MediaSpec {
    MediaSpec {
        banks: 4,
        row_size: fencepost_kernel::Bytes(1024),
        t_ck: Ps(1000),
        t_rcd: Ps(10_000),
        t_rp: Ps(12_000),
        t_cl: Ps(11_000),
        t_cwl: Ps(8000),
        t_ras: Ps(30_000),
        t_wr: Ps(15_000),
        t_wtr: Ps(7000),
        t_wtr_l: Ps(7000),
        t_rtp: Ps(6000),
        t_rtw: Ps(2000),
        t_rtrs: Ps(3000),
        t_ccd: Ps(4000),
        t_ccd_l: Ps(4000),
        t_rrd: Ps(5000),
        t_rrd_l: Ps(5000),
        t_faw: Ps(0),
        t_burst: Ps(4000),
        t_refi: Ps(0),
        ..MediaSpec::default()
    }
}
fn at(bank: u64, row: u64, column: u64) -> u64 {
    (row * 4 + bank) * 16 + column
}

#[test]
fn read_miss_hit_and_conflict() {
    let mut h = Harness::new(&bare(), &media());
    // Row closed: ACT at 0, RD at tRCD, data until tCL + tBURST later.
    assert_eq!(h.read_alone(0, at(0, 0, 0)), 10_000 + 11_000 + 4000);
    // Row open: RD at once.
    assert_eq!(h.read_alone(100_000, at(0, 0, 1)), 100_000 + 11_000 + 4000);
    // Another row: PRE at once (tRAS and tRTP long past), ACT, RD.
    assert_eq!(
        h.read_alone(200_000, at(0, 1, 0)),
        200_000 + 12_000 + 10_000 + 11_000 + 4000
    );
    let s = h.c.stats();
    assert_eq!((s.row_misses, s.row_hits, s.row_conflicts), (1, 1, 1));
}
