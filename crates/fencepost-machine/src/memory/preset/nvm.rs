//! Non-volatile memory as a public simulator models it, and the Themis paper's values for it.

use super::mark::Origin::{Paper, Simulator, Standard};
use super::mark::{Mark, NO_REFRESH, mark};
use crate::memory::spec::{MediaSpec, WritePolicy};
use fencepost_kernel::{Bytes, Ps};

/// The memory that gem5 calls `NVM_2400_1x64` (src/mem/NVMInterface.py, 2020).
pub(super) fn nvm_2400() -> MediaSpec {
    let two_clocks = Ps(1666);
    MediaSpec {
        banks: 16,
        row_size: Bytes(256),
        t_ck: Ps(833),
        t_rcd: Ps::ZERO,
        t_rp: Ps::ZERO,
        t_cl: Ps(14_160),
        t_cwl: Ps(14_160),
        t_ras: Ps::ZERO,
        t_wr: Ps::ZERO,
        t_wtr: two_clocks,
        t_wtr_l: two_clocks,
        t_rtp: Ps::ZERO,
        t_rtw: two_clocks,
        t_rtrs: two_clocks,
        t_ccd: Ps(3332),
        t_ccd_l: Ps(3332),
        t_rrd: Ps::ZERO,
        t_rrd_l: Ps::ZERO,
        t_faw: Ps::ZERO,
        t_burst: Ps(3332),
        t_refi: Ps::ZERO,
        read_pulse: Ps::from_ns(150),
        write_pulse: Ps::from_ns(500),
        writes: WritePolicy::Buffered,
        ..MediaSpec::default()
    }
}
const GEM5: &str = "gem5's NVM_2400_1x64";
const NO_ROWS: &str = "gem5's NVM_2400_1x64 pays the array read alone for another row";
const TWO_CLOCKS: &str = "gem5's NVM_2400_1x64: two clocks for every turn of the bus";
pub(super) const NVM_2400: &[Mark] = &[
    mark("banks", Simulator, GEM5),
    mark("row_size", Simulator, "gem5's NVM_2400_1x64: row buffers of 256 bytes"),
    mark("t_ck", Simulator, "gem5's NVM_2400_1x64: 1200 MHz"),
    mark("t_rcd", Simulator, NO_ROWS),
    mark("t_rp", Simulator, NO_ROWS),
    mark("t_cl", Simulator, "gem5's NVM_2400_1x64: tSEND"),
    mark("t_cwl", Simulator, "gem5's NVM_2400_1x64: tSEND"),
    mark("t_ras", Simulator, NO_ROWS),
    mark("t_wr", Simulator, NO_ROWS),
    mark("t_wtr", Simulator, TWO_CLOCKS),
    mark("t_wtr_l", Simulator, TWO_CLOCKS),
    mark("t_rtp", Simulator, NO_ROWS),
    mark("t_rtw", Simulator, TWO_CLOCKS),
    mark("t_rtrs", Simulator, TWO_CLOCKS),
    mark("t_ccd", Simulator, "gem5's NVM_2400_1x64: bursts back to back"),
    mark("t_ccd_l", Simulator, "gem5's NVM_2400_1x64: no bank groups"),
    mark(
        "t_rrd",
        Simulator,
        "gem5's NVM_2400_1x64: reads of different banks start a clock apart",
    ),
    mark("t_rrd_l", Simulator, "gem5's NVM_2400_1x64: no bank groups"),
    mark("t_faw", Simulator, "gem5's NVM_2400_1x64: no activation window"),
    mark("t_burst", Simulator, "gem5's NVM_2400_1x64: eight beats at 2400 MT/s"),
    mark("t_refi", Standard, NO_REFRESH),
    mark("read_pulse", Simulator, "gem5's NVM_2400_1x64: tREAD"),
    mark(
        "write_pulse",
        Simulator,
        "gem5's NVM_2400_1x64: tWRITE, one after the other in a bank",
    ),
    mark(
        "writes",
        Simulator,
        "gem5's NVM_2400_1x64: 128 pending writes in the module",
    ),
];

pub(super) fn themis_pcm() -> MediaSpec {
    MediaSpec {
        read_pulse: Ps::from_ns(346),
        ..nvm_2400()
    }
}
pub(super) const THEMIS_PCM: &[Mark] = &{
    let mut marks = [NVM_2400[0]; NVM_2400.len()];
    let mut i = 0;
    while i < NVM_2400.len() {
        marks[i] = match NVM_2400[i].field.as_bytes() {
            b"t_ck" => mark("t_ck", Paper, "Table I, 1200 MHz"),
            b"read_pulse" => mark("read_pulse", Paper, "Table I, 346 ns read latency"),
            b"write_pulse" => mark("write_pulse", Paper, "Table I, 500 ns write latency"),
            _ => NVM_2400[i],
        };
        i += 1;
    }
    marks
};
