//! A medium with round numbers, so that expected times can be read off.
#![allow(dead_code)]

use fencepost_kernel::{Bytes, Ps};
use fencepost_machine::memory::MediaSpec;

pub(crate) const CK: u64 = 1000;
pub(crate) const RCD: u64 = 10_000;
pub(crate) const RP: u64 = 12_000;
pub(crate) const CL: u64 = 11_000;
pub(crate) const CWL: u64 = 8000;
pub(crate) const RAS: u64 = 30_000;
pub(crate) const WR: u64 = 15_000;
pub(crate) const WTR: u64 = 7000;
pub(crate) const RTP: u64 = 6000;
pub(crate) const RTW: u64 = 2000;
pub(crate) const RTRS: u64 = 3000;
pub(crate) const CCD: u64 = 5000;
pub(crate) const RRD: u64 = 6000;
pub(crate) const BURST: u64 = 4000;

/// DRAM-like medium with round numbers and no refresh; rows of 16 lines, 8 banks.
pub(crate) fn media() -> MediaSpec {
    MediaSpec {
        banks: 8,
        row_size: Bytes(1024),
        t_ck: Ps(CK),
        t_rcd: Ps(RCD),
        t_rp: Ps(RP),
        t_cl: Ps(CL),
        t_cwl: Ps(CWL),
        t_ras: Ps(RAS),
        t_wr: Ps(WR),
        t_wtr: Ps(WTR),
        t_wtr_l: Ps(WTR),
        t_rtp: Ps(RTP),
        t_rtw: Ps(RTW),
        t_rtrs: Ps(RTRS),
        t_ccd: Ps(CCD),
        t_ccd_l: Ps(CCD),
        t_rrd: Ps(RRD),
        t_rrd_l: Ps(RRD),
        t_faw: Ps(0),
        t_burst: Ps(BURST),
        t_refi: Ps(0),
        ..MediaSpec::default()
    }
}
/// The line in this bank (of all ranks), row and column.
pub(crate) fn at(bank: u64, row: u64, column: u64) -> u64 {
    (row * 8 + bank) * 16 + column
}
