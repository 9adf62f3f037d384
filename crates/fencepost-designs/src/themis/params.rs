//! Parameters of Themis.

use crate::info::{ParamValues, configure};
use crate::x86::{ClwbKeeps, X86Fault, X86Params};
use fencepost_kernel::Ps;
use fencepost_kernel::params::ParamError;

fencepost_kernel::param_enum! {
    /// Planted faults, for tests of the checker.
    pub enum ThemisFault {
        /// The mechanism as described.
        None = "none",
        /// A store to a line that has a tag does not renew it.
        RestoreKeepsTag = "restore-keeps-tag",
        /// When the pointers run out, waiting write-backs are released at once, not after the drain.
        OverflowForgetsWbb = "overflow-forgets-wbb",
        /// Lines that other cores ask for do not wait.
        TransferSkipsWbb = "transfer-skips-wbb",
    }
}
fencepost_kernel::params! {
    /// Parameters of Themis.
    pub struct ThemisParams {
        /// Width of the write-combining buffer's pointers and of the tags (paper: 6).
        pointer_bits: u8 = 6,
        /// Entries of a core's write-combining buffer, a power of two (paper: 16).
        wcb_entries: u16 = 16,
        /// From sending an entry to its acceptance at the controller (paper: 20 ns).
        ack_latency: Ps = Ps::from_ns(20),
        /// From there to the acknowledgement at the core (ours: as long as the way there).
        ack_return: Ps = Ps::from_ns(20),
        /// Time one line takes on the path: an entry stays this long, and two are sent this far apart (ours).
        drain_gap: Ps = Ps::from_ns(4),
        /// Least time an entry stays before it is sent; slows the buffer down to show what order relies on it (ours).
        drain_delay: Ps = Ps::ZERO,
        /// What a clwb leaves in the caches (the paper does not say).
        clwb_keeps: ClwbKeeps = ClwbKeeps::Exclusive,
        /// Whether an access to a line waits while a flush of it is under way (the paper does not say; processors differ).
        flush_holds: bool = false,
        /// Planted fault, for tests of the checker only.
        fault: ThemisFault = ThemisFault::None,
    }
}
impl ThemisParams {
    /// The part that the baseline has too.
    pub(super) fn paths(&self) -> X86Params {
        X86Params {
            wcb_entries: self.wcb_entries,
            ack_latency: self.ack_latency,
            ack_return: self.ack_return,
            drain_gap: self.drain_gap,
            drain_delay: self.drain_delay,
            clwb_keeps: self.clwb_keeps,
            flush_holds: self.flush_holds,
            fault: X86Fault::None,
        }
    }
    pub(super) fn index_bits(&self) -> u8 {
        self.wcb_entries.trailing_zeros() as u8
    }
}

/// Widest pointer: a tag shares the design's 32 bits of a line with 16 bits of reset number.
const POINTER_BITS_MAX: u8 = 15;

/// Parameters from values; refuses what no pointer can have.
pub(crate) fn configured(values: ParamValues<'_>) -> Result<ThemisParams, ParamError> {
    let params: ThemisParams = configure(values)?;
    params.paths().check()?;
    let least = params.index_bits().max(1);
    if !(least..=POINTER_BITS_MAX).contains(&params.pointer_bits) {
        return Err(ParamError::Value {
            name: "pointer_bits".into(),
            why: format!(
                "expected {least} (the index of {} entries) to {POINTER_BITS_MAX}; found {}",
                params.wcb_entries, params.pointer_bits
            ),
        });
    }
    Ok(params)
}
