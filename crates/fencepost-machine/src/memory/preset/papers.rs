//! Media of the BROI, the loose-ordering and the per-task-committing papers.

use super::mark::Origin::{Ours, Paper, Simulator, Standard};
use super::mark::{Mark, NO_DESTROY, NO_REFRESH, mark};
use crate::memory::spec::{Mapping, MediaSpec, PagePolicy, WritePolicy};
use fencepost_kernel::{Bytes, Ps};

pub(super) fn broi_nvm() -> MediaSpec {
    MediaSpec {
        row_size: Bytes(2048),
        mapping: Mapping::RowBufferStride,
        t_rcd: Ps(51_250),
        t_rp: Ps(12_500),
        t_cl: Ps(31_000),
        t_cwl: Ps(31_000),
        t_ras: Ps::ZERO,
        t_wr: Ps::ZERO,
        t_rtp: Ps(36_000),
        t_ccd_bank: Ps(36_000),
        t_faw: Ps::ZERO,
        t_refi: Ps::ZERO,
        write_pulse: Ps::from_ns(200),
        writes: WritePolicy::RowBuffer,
        ..MediaSpec::default()
    }
}
const HIT_36: &str = "36 ns row-buffer hit: 31 ns and a 5 ns burst";
pub(super) const BROI_NVM: &[Mark] = &[
    mark("row_size", Paper, "2 KB rows"),
    mark("mapping", Paper, "row-buffer-sized groups stride over the banks"),
    mark(
        "t_rcd",
        Paper,
        "100 ns read conflict = precharge 12.5 + activate 51.25 + hit 36, on whole clocks",
    ),
    mark(
        "t_rp",
        Ours,
        "any split of the 64 ns between precharge and activate gives the same conflict",
    ),
    mark("t_cl", Paper, HIT_36),
    mark("t_cwl", Paper, HIT_36),
    mark("t_ras", Ours, NO_DESTROY),
    mark("t_wr", Ours, "the write pulse is the recovery"),
    mark("t_rtp", Ours, "a bank serves one access at a time"),
    mark(
        "t_ccd_bank",
        Ours,
        "a bank serves one access at a time, so hits to it are 36 ns apart",
    ),
    mark("t_faw", Ours, "the limit protects DRAM charge pumps"),
    mark("t_refi", Standard, NO_REFRESH),
    mark(
        "write_pulse",
        Paper,
        "300 ns write conflict = 100 ns read conflict + 200 ns until a row just written may close",
    ),
    mark(
        "writes",
        Ours,
        "only a row-buffer write can hit in 36 ns; the write-through variant is offered beside it",
    ),
];

pub(super) fn loc_nvm() -> MediaSpec {
    MediaSpec {
        mapping: Mapping::RowColumnBank,
        page: PagePolicy::Closed,
        t_ck: Ps::from_ns(1),
        t_rcd: Ps::from_ns(147),
        t_rp: Ps::ZERO,
        t_cl: Ps::from_ns(16),
        t_cwl: Ps::from_ns(16),
        t_ras: Ps::from_ns(168),
        t_wr: Ps::ZERO,
        t_wtr: Ps::ZERO,
        t_wtr_l: Ps::ZERO,
        t_rtp: Ps::ZERO,
        t_rtw: Ps::ZERO,
        t_rtrs: Ps::ZERO,
        t_rrd: Ps::ZERO,
        t_rrd_l: Ps::ZERO,
        t_faw: Ps::ZERO,
        t_refi: Ps::ZERO,
        ..MediaSpec::default()
    }
}
const FLAT_168: &str =
    "168 cycles per access: how they divide is ours, the sum and the bank's occupancy are the paper's";
const NO_BUS: &str = "the paper states one latency and no bus timing";
pub(super) const LOC_NVM: &[Mark] = &[
    mark(
        "mapping",
        Ours,
        "lines interleave over the eight banks, so that a log pipelines",
    ),
    mark(
        "page",
        Ours,
        "one latency for every access means that no row stays open",
    ),
    mark("t_ck", Paper, "1 GHz"),
    mark("t_rcd", Paper, FLAT_168),
    mark("t_rp", Paper, FLAT_168),
    mark("t_cl", Paper, FLAT_168),
    mark("t_cwl", Paper, FLAT_168),
    mark("t_ras", Paper, FLAT_168),
    mark("t_wr", Ours, NO_BUS),
    mark("t_wtr", Ours, NO_BUS),
    mark("t_wtr_l", Ours, NO_BUS),
    mark("t_rtp", Ours, NO_BUS),
    mark("t_rtw", Ours, NO_BUS),
    mark("t_rtrs", Ours, NO_BUS),
    mark("t_rrd", Ours, NO_BUS),
    mark("t_rrd_l", Ours, NO_BUS),
    mark("t_faw", Ours, NO_BUS),
    mark("t_refi", Standard, NO_REFRESH),
];

pub(super) fn fgc_pcm() -> MediaSpec {
    MediaSpec {
        channels: 16,
        ranks: 2,
        row_size: Bytes(1024),
        t_burst: Ps::from_ns(40),
        t_refi: Ps::ZERO,
        read_pulse: Ps::from_ns(55),
        write_pulse: Ps::from_ns(150),
        writes: WritePolicy::RowBuffer,
        ..MediaSpec::default()
    }
}
const SUB_RANKS: &str = "2 channels of 8 sub-ranks, one x8 device each: a sub-rank moves a line alone, so it is modelled as a narrow channel";
pub(super) const FGC_PCM: &[Mark] = &[
    mark("channels", Paper, SUB_RANKS),
    mark("ranks", Paper, "2 ranks per channel"),
    mark("row_size", Standard, "the 1 KB row of one device"),
    mark("t_burst", Paper, "64 bytes over x8 at 1600 MT/s"),
    mark("t_refi", Standard, NO_REFRESH),
    mark("read_pulse", Paper, "55 ns read latency"),
    mark("write_pulse", Paper, "150 ns write latency"),
    mark(
        "writes",
        Simulator,
        "DRAMSim2, in which write recovery delays the precharge only; the paper is silent",
    ),
];
