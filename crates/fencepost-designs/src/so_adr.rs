//! `so-adr`: flush and fence only, on the assumption that an accepted write is durable.
//!
//! # Idea
//! With a controller queue inside the persistence domain (asynchronous DRAM refresh, persistent write queue), `clwb; sfence`
//! orders and makes durable. This is synchronous ordering without `pcommit`, and what x86 software writes today.
//!
//! # Paper
//! The PWQ memory of Kolli et al., MICRO 2016 (section II-B), and the baseline of Themis.
//!
//! # Where order is kept
//! In the core: `sfence` waits until the controller has accepted the hardware thread's own flushes.
//!
//! # Durable at
//! Acceptance by the controller, if the memory is built that way. The dialect does not change when it is not.
//!
//! # Contract
//! `px86`. On a memory that is durable only at the device this is a promise the mechanism cannot keep: `clwb; sfence` orders
//! nothing there. The combination exists to be convicted.
//!
//! # Hardware cost
//! As `so`: counters of outstanding flushes. The energy to empty the queue after a power failure is the memory's.
//!
//! # Deviations
//! As `so`: every fence waits for the hardware thread's own flushes, and `clflush` is synchronous.

use crate::info::{DesignInfo, Environment, Honours, Promise, configure};
use crate::so::{DPO, So, SoFault, SoParams, cost};
use crate::volatile::lock_fences;
use fencepost_contract::ContractKind;
use fencepost_kernel::params::Params as _;
use fencepost_kernel::{Dialect, Fence, Flush, Logging};

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "so-adr",
    summary: "clwb and sfence only: assumes that the controller's queue is durable",
    source: include_str!("so_adr.rs"),
    paper: DPO,
    dialect,
    contract: |_| ContractKind::Px86,
    idiom_of: &[
        ContractKind::None,
        ContractKind::Px86,
        ContractKind::StrictTso,
        ContractKind::StrictSc,
        ContractKind::Eadr,
    ],
    promise: Promise {
        buffered: None,
        persists_every_store: false,
        reorders: true,
        honours: Honours::X86,
    },
    sound: |s| s.durable_on_accept,
    params: AdrParams::fields,
    variants: &[],
    smallest: &[],
    build: |values, shape| {
        let AdrParams { fault } = configure(values)?;
        let params = SoParams {
            fault,
            ..SoParams::default()
        };
        Ok(Box::new(So::new(params, shape)))
    },
    cost: |values, shape| {
        let _: AdrParams = configure(values)?;
        cost(&[], shape)
    },
    faults: &[crate::so::SFENCE_IGNORES_FLUSHES],
    log: None,
};

fencepost_kernel::params! {
    /// Parameters of flush-and-fence ordering.
    pub struct AdrParams {
        /// Planted fault, for tests of the checker only.
        fault: SoFault = SoFault::None,
    }
}

fn dialect(environment: Environment) -> Dialect {
    let barrier: &[Fence] = &[Fence::Sfence];
    Dialect {
        name: "so-adr",
        logging: Logging::Software,
        flush: Some(Flush::Clwb),
        order: barrier,
        log_to_data: barrier,
        durable: barrier,
        lock_acquire: lock_fences(environment),
        unlock_release: lock_fences(environment),
        order_is_durable: true,
        ..Dialect::PLAIN
    }
}
