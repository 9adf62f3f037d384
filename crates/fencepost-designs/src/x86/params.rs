//! Parameters of the x86 family.

use fencepost_kernel::params::ParamError;
use fencepost_kernel::{Ps, planted};

fencepost_kernel::param_enum! {
    /// What a clwb leaves in the caches.
    pub enum ClwbKeeps {
        /// The line, clean, with write permission.
        Exclusive = "exclusive",
        /// The line, clean, without write permission: the next store asks the bus.
        Shared = "shared",
    }
}
fencepost_kernel::param_enum! {
    /// Planted faults, for tests of the checker.
    pub enum X86Fault {
        /// The mechanism as described.
        None = "none",
        /// Fences do not wait for the hardware thread's own flushes.
        SfenceIgnoresFlushes = "sfence-ignores-flushes",
        /// Fences do not wait for the hardware thread's own non-temporal stores.
        SfenceIgnoresWcb = "sfence-ignores-wcb",
    }
}
impl X86Fault {
    /// The parameter's fault, or the one that is planted for this thread.
    pub(super) fn or_planted(self) -> X86Fault {
        let none = self == X86Fault::None;
        let flushes_ignored = none
            && planted!(
                "x86.sfence-ignores-flushes",
                "sfence waits for the thread's own flushes"
            );
        if flushes_ignored {
            return X86Fault::SfenceIgnoresFlushes;
        }
        let stores_ignored = none
            && planted!(
                "x86.sfence-ignores-wcb",
                "sfence waits for the thread's own non-temporal stores"
            );
        if stores_ignored {
            return X86Fault::SfenceIgnoresWcb;
        }
        self
    }
}
fencepost_kernel::params! {
    /// Parameters of the two paths.
    pub struct X86Params {
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
        fault: X86Fault = X86Fault::None,
    }
}
impl X86Params {
    /// Checks what the types cannot.
    pub fn check(&self) -> Result<(), ParamError> {
        match self.wcb_entries.is_power_of_two() && self.wcb_entries <= 4096 {
            true => Ok(()),
            false => Err(ParamError::Value {
                name: "wcb_entries".into(),
                why: format!("expected a power of two of at most 4096; found {}", self.wcb_entries),
            }),
        }
    }
}
