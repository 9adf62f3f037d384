//! The media that have a name, and where each of their values comes from.
//!
//! Every value that differs from [`MediaSpec::default`] (which is DDR3-1600) carries a mark: stated by the paper that
//! uses the medium, taken from a published device or standard, or ours, with the reason.

use super::spec::{DurableAt, Mapping, MediaSpec, PagePolicy, WritePolicy};
use fencepost_kernel::{Bytes, Ps};

/// Where a value comes from.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The paper states it.
    Paper,
    /// A device standard or a published part states it.
    Standard,
    /// Chosen here, because nothing states it.
    Ours,
}

/// Origin of one value of a preset.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The parameter of [`MediaSpec`].
    pub field: &'static str,
    /// Where its value comes from.
    pub origin: Origin,
    /// The source, or the reason.
    pub note: &'static str,
}

/// A medium with a name.
#[derive(Copy, Clone)]
pub struct MediaPreset {
    /// Its word on the command line.
    pub word: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// Its parameters.
    pub spec: fn() -> MediaSpec,
    /// Origin of every value that differs from the default.
    pub marks: &'static [Mark],
}

impl MediaSpec {
    /// Every named medium, in the order in which they are listed to users.
    pub const PRESETS: &'static [MediaPreset] = &[
        MediaPreset {
            word: "ddr3-1600",
            doc: "DDR3-1600 11-11-11, one rank of eight 4 Gb x8 devices; as persistent memory: battery backed.",
            spec: MediaSpec::default,
            marks: &[],
        },
        MediaPreset {
            word: "ddr4-2400",
            doc: "DDR4-2400 17-17-17, one rank of eight 8 Gb x8 devices.",
            spec: ddr4_2400,
            marks: DDR4_2400,
        },
        MediaPreset {
            word: "pcm",
            doc: "Phase-change memory of the delegated-ordering paper: 533 MHz, 120 ns array read, 150 ns write pulse.",
            spec: pcm,
            marks: PCM,
        },
        MediaPreset {
            word: "pwq",
            doc: "The same phase-change memory behind a durable write queue.",
            spec: pwq,
            marks: PWQ,
        },
        MediaPreset {
            word: "themis-pcm",
            doc: "Phase-change memory of the Themis paper: 1200 MHz, 346 ns read, 500 ns write.",
            spec: themis_pcm,
            marks: THEMIS_PCM,
        },
        MediaPreset {
            word: "broi-nvm",
            doc: "NVRAM DIMM of the BROI paper: 36 ns row hit, 100/300 ns read/write row conflict, 8 banks of 2 KB rows.",
            spec: broi_nvm,
            marks: BROI_NVM,
        },
        MediaPreset {
            word: "loc-nvm",
            doc: "Memory of the loose-ordering paper: 8 banks, every access 168 cycles of 1 GHz.",
            spec: loc_nvm,
            marks: LOC_NVM,
        },
        MediaPreset {
            word: "fgc-pcm",
            doc: "Phase-change memory of the per-task-committing paper: 55/150 ns, 2 channels x 2 ranks x 8 sub-ranks.",
            spec: fgc_pcm,
            marks: FGC_PCM,
        },
    ];
    /// The parameters of a named medium.
    pub fn preset(word: &str) -> Option<MediaSpec> {
        let preset = Self::PRESETS.iter().find(|p| p.word == word)?;
        Some((preset.spec)())
    }
}

use Origin::{Ours, Paper, Standard};
const fn mark(field: &'static str, origin: Origin, note: &'static str) -> Mark {
    Mark { field, origin, note }
}
const NO_REFRESH: &str = "phase-change cells need no refresh";
const NO_DESTROY: &str = "array reads do not destroy the row, so it need not be restored before it is closed";
const JEDEC4: &str = "JEDEC DDR4-2400T, 1 KB page";

fn ddr4_2400() -> MediaSpec {
    let clocks = |n: u64| Ps(833 * n);
    MediaSpec {
        banks: 16,
        bank_groups: 4,
        t_ck: clocks(1),
        t_rcd: clocks(17),
        t_rp: clocks(17),
        t_cl: clocks(17),
        t_cwl: clocks(12),
        t_ras: clocks(39),
        t_wr: clocks(18),
        t_wtr: clocks(3),
        t_wtr_l: clocks(9),
        t_rtp: clocks(9),
        t_rtw: clocks(2),
        t_rtrs: clocks(2),
        t_ccd: clocks(4),
        t_ccd_l: clocks(6),
        t_rrd: clocks(4),
        t_rrd_l: clocks(6),
        t_faw: clocks(26),
        t_burst: clocks(4),
        t_rfc: clocks(420),
        ..MediaSpec::default()
    }
}
const DDR4_2400: &[Mark] = &[
    mark("banks", Standard, JEDEC4),
    mark("bank_groups", Standard, JEDEC4),
    mark("t_ck", Standard, "1200 MHz, in whole picoseconds"),
    mark("t_rcd", Standard, JEDEC4),
    mark("t_rp", Standard, JEDEC4),
    mark("t_cl", Standard, JEDEC4),
    mark("t_cwl", Standard, JEDEC4),
    mark("t_ras", Standard, JEDEC4),
    mark("t_wr", Standard, JEDEC4),
    mark("t_wtr", Standard, JEDEC4),
    mark("t_wtr_l", Standard, JEDEC4),
    mark("t_rtp", Standard, JEDEC4),
    mark("t_rtw", Standard, "two clocks between read and write data"),
    mark("t_rtrs", Ours, "two clocks to change ranks, as for DDR3"),
    mark("t_ccd", Standard, JEDEC4),
    mark("t_ccd_l", Standard, JEDEC4),
    mark("t_rrd", Standard, JEDEC4),
    mark("t_rrd_l", Standard, JEDEC4),
    mark("t_faw", Standard, JEDEC4),
    mark("t_burst", Standard, "eight beats"),
    mark("t_rfc", Standard, "350 ns, 8 Gb devices"),
];

fn pcm() -> MediaSpec {
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
        ..MediaSpec::default()
    }
}
const BUS_1066: &str = "a DDR3-1066 bus, the JEDEC speed grade of 533 MHz";
const PCM: &[Mark] = &[
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
];

fn pwq() -> MediaSpec {
    MediaSpec {
        durable_at: DurableAt::Accept,
        ..pcm()
    }
}
const PWQ: &[Mark] = &{
    let mut marks = [mark("durable_at", Paper, "durable on entering the controller's write queue"); PCM.len() + 1];
    let mut i = 0;
    while i < PCM.len() {
        marks[i + 1] = PCM[i];
        i += 1;
    }
    marks
};

fn themis_pcm() -> MediaSpec {
    let bus = ddr4_2400();
    MediaSpec {
        t_rp: bus.t_ck,
        t_ras: Ps::ZERO,
        t_wr: Ps::ZERO,
        t_faw: Ps::ZERO,
        t_refi: Ps::ZERO,
        read_pulse: Ps::from_ns(346) - bus.t_cl - bus.t_burst,
        write_pulse: Ps::from_ns(500) - bus.t_cwl - bus.t_burst,
        ..bus
    }
}
const BUS_2400: &str = "the paper's memory bus is that of its DDR4-2400";
const THEMIS_PCM: &[Mark] = &[
    mark("banks", Ours, BUS_2400),
    mark("bank_groups", Ours, BUS_2400),
    mark("t_ck", Paper, "1200 MHz"),
    mark("t_rcd", Ours, BUS_2400),
    mark("t_rp", Ours, NO_DESTROY),
    mark("t_cl", Ours, BUS_2400),
    mark("t_cwl", Ours, BUS_2400),
    mark("t_ras", Ours, NO_DESTROY),
    mark("t_wr", Ours, "the write pulse is the recovery"),
    mark("t_wtr", Ours, BUS_2400),
    mark("t_wtr_l", Ours, BUS_2400),
    mark("t_rtp", Ours, BUS_2400),
    mark("t_rtw", Ours, BUS_2400),
    mark("t_rtrs", Ours, BUS_2400),
    mark("t_ccd", Ours, BUS_2400),
    mark("t_ccd_l", Ours, BUS_2400),
    mark("t_rrd", Ours, BUS_2400),
    mark("t_rrd_l", Ours, BUS_2400),
    mark(
        "t_faw",
        Ours,
        "the limit protects DRAM charge pumps; the array read already spaces activates",
    ),
    mark("t_burst", Ours, BUS_2400),
    mark("t_refi", Standard, NO_REFRESH),
    mark("t_rfc", Ours, "unused without refresh"),
    mark(
        "read_pulse",
        Paper,
        "346 ns from activate to the end of the data, so the array read is what bus and burst leave",
    ),
    mark(
        "write_pulse",
        Paper,
        "500 ns from write command to stored, so the pulse is what bus and burst leave",
    ),
];

fn broi_nvm() -> MediaSpec {
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
const BROI_NVM: &[Mark] = &[
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
    mark("t_wr", Ours, "writing the array is paid when the row is closed"),
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
        "300 ns write conflict = 100 ns read conflict + 200 ns to write the dirty row back",
    ),
    mark(
        "writes",
        Ours,
        "only a row-buffer write can hit in 36 ns; the write-through variant is offered beside it",
    ),
];

fn loc_nvm() -> MediaSpec {
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
const LOC_NVM: &[Mark] = &[
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

fn fgc_pcm() -> MediaSpec {
    MediaSpec {
        channels: 16,
        ranks: 2,
        row_size: Bytes(1024),
        t_burst: Ps::from_ns(40),
        t_refi: Ps::ZERO,
        read_pulse: Ps::from_ns(55),
        write_pulse: Ps::from_ns(150),
        ..MediaSpec::default()
    }
}
const SUB_RANKS: &str = "2 channels of 8 sub-ranks, one x8 device each: a sub-rank moves a line alone, so it is modelled as a narrow channel";
const FGC_PCM: &[Mark] = &[
    mark("channels", Paper, SUB_RANKS),
    mark("ranks", Paper, "2 ranks per channel"),
    mark("row_size", Standard, "the 1 KB row of one device"),
    mark("t_burst", Paper, "64 bytes over x8 at 1600 MT/s"),
    mark("t_refi", Standard, NO_REFRESH),
    mark("read_pulse", Paper, "55 ns read latency"),
    mark("write_pulse", Paper, "150 ns write latency"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::params::Params;

    #[test]
    fn every_preset_is_valid_and_every_deviation_from_the_default_is_marked_once() {
        let default = MediaSpec::default();
        for p in MediaSpec::PRESETS {
            let spec = (p.spec)();
            assert_eq!(spec.validate(), Ok(()), "{}", p.word);
            for f in MediaSpec::fields() {
                let differs = spec.get(f.name) != default.get(f.name);
                let marks = p.marks.iter().filter(|m| m.field == f.name).count();
                assert_eq!(marks, usize::from(differs), "{}: {}", p.word, f.name);
            }
            let known: Vec<_> = MediaSpec::fields().iter().map(|f| f.name).collect();
            assert!(p.marks.iter().all(|m| known.contains(&m.field)), "{}", p.word);
        }
        assert_eq!(MediaSpec::preset("ddr5"), None);
    }
}
