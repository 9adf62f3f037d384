//! Phase-change memory of the delegated-ordering paper.

use super::mark::Origin::{Ours, Paper, Simulator, Standard};
use super::mark::{Mark, NO_DESTROY, NO_REFRESH, mark};
use crate::memory::spec::{DurableAt, MediaSpec, WritePolicy};
use fencepost_kernel::Ps;

pub(super) fn pcm() -> MediaSpec {
    let clocks = |n: u64| Ps(1876 * n);
    MediaSpec {
        banks: 16,
        t_ck: clocks(1),
        t_rcd: clocks(7),
        t_rp: clocks(1),
        t_cl: clocks(7),
        t_cwl: clocks(6),
        t_ras: Ps::ZERO,
        t_wr: Ps::ZERO,
        t_wtr: clocks(4),
        t_wtr_l: clocks(4),
        t_rtp: clocks(4),
        t_rtw: clocks(2),
        t_rtrs: clocks(2),
        t_ccd: clocks(4),
        t_ccd_l: clocks(4),
        t_rrd: clocks(4),
        t_rrd_l: clocks(4),
        t_faw: Ps::ZERO,
        t_burst: clocks(4),
        t_refi: Ps::ZERO,
        read_pulse: Ps::from_ns(120),
        write_pulse: Ps::from_ns(150),
        writes: WritePolicy::RowBuffer,
        ..MediaSpec::default()
    }
}
const BUS_1066: &str = "a DDR3-1066 bus, the JEDEC speed grade of 533 MHz";
pub(super) const PCM: &[Mark] = &[
    mark("banks", Ours, "undeclared; swept over 8, 16, 32"),
    mark("t_ck", Paper, "533 MHz"),
    mark("t_rcd", Standard, BUS_1066),
    mark("t_rp", Ours, NO_DESTROY),
    mark("t_cl", Standard, BUS_1066),
    mark("t_cwl", Standard, BUS_1066),
    mark("t_ras", Ours, NO_DESTROY),
    mark("t_wr", Ours, "the write pulse is the recovery"),
    mark("t_wtr", Standard, BUS_1066),
    mark("t_wtr_l", Standard, BUS_1066),
    mark("t_rtp", Standard, BUS_1066),
    mark("t_rtw", Standard, BUS_1066),
    mark("t_rtrs", Ours, "two clocks to change ranks, as for DDR3"),
    mark("t_ccd", Standard, BUS_1066),
    mark("t_ccd_l", Standard, BUS_1066),
    mark("t_rrd", Standard, BUS_1066),
    mark("t_rrd_l", Standard, BUS_1066),
    mark(
        "t_faw",
        Ours,
        "the limit protects DRAM charge pumps; the array read already spaces activates",
    ),
    mark("t_burst", Standard, BUS_1066),
    mark("t_refi", Standard, NO_REFRESH),
    mark(
        "read_pulse",
        Ours,
        "cited only; 120 ns is the published 8 Gb part of ISSCC 2012; swept with the other published pairs",
    ),
    mark(
        "write_pulse",
        Ours,
        "cited only; 150 ns is the published 8 Gb part of ISSCC 2012; swept with the other published pairs",
    ),
    mark(
        "writes",
        Simulator,
        "the DRAM interface of gem5, in which write recovery delays the precharge only; the paper is silent",
    ),
];

pub(super) fn pwq() -> MediaSpec {
    MediaSpec {
        durable_at: DurableAt::Accept,
        ..pcm()
    }
}
pub(super) const PWQ: &[Mark] = &{
    let mut marks = [mark("durable_at", Paper, "durable on entering the controller's write queue"); PCM.len() + 1];
    let mut i = 0;
    while i < PCM.len() {
        marks[i + 1] = PCM[i];
        i += 1;
    }
    marks
};
