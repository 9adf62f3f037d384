//! DDR4-2400.

use super::mark::Origin::{Ours, Standard};
use super::mark::{Mark, mark};
use crate::memory::spec::MediaSpec;
use fencepost_kernel::Ps;

const JEDEC4: &str = "JEDEC DDR4-2400T, 1 KB page";

pub(super) fn ddr4_2400() -> MediaSpec {
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
pub(super) const DDR4_2400: &[Mark] = &[
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
