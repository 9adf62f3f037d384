//! `s-wal`: a software write-ahead log with strict phases.
//!
//! # Idea
//! Software keeps a redo log by cache block: it stores the new version of each block that it updates to a log and flushes it, once,
//! writes a commit record, copies the blocks home, and truncates the log; each phase is durable before the next begins. Log and
//! data are both cached, two copies of everything.
//!
//! # Paper
//! Lu et al., Loose-Ordering Consistency, ICCD 2014, sections II-B and V-B: the baseline of the paper, after ARIES. The programs'
//! scheme is `redo-block`, by II-B: "WAL writes the new version of each updated data block to the log area".
//!
//! # Where order is kept
//! In the core: flushes and `mfence` (section I), and, because the memory of the paper is durable only at the device,
//! a drain of the controller (`pcommit`) between two of them. The mechanism is that of `so`.
//!
//! # Durable at
//! The device; on a memory that is durable on acceptance the fence alone.
//!
//! # Contract
//! `px86-pcommit` on a device-durable memory, `px86` on one that is durable on acceptance.
//!
//! # Hardware cost
//! As `so`: two counters per hardware thread. The paper counts none.
//!
//! # Deviations
//! The paper does not say how software learns that a flushed line is durable; ours is the drain. Flushes keep their lines, as `clwb`
//! does: V-B has log and data "independently cached in CPU cache". `s-wal-clflush` is the same with the instruction that section I names,
//! which invalidates. Of a block, the log holds the bytes that were stored: other threads may own the rest.

use super::family::LOC;
use crate::info::{DesignInfo, Environment, Promise, configure};
use crate::so::{So, SoParams};
use fencepost_contract::ContractKind;
use fencepost_kernel::params::Params;
use fencepost_kernel::{Dialect, Fence, Flush, Logging};

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "s-wal",
    summary: "software write-ahead log: redo by cache block, four strict phases",
    source: include_str!("s_wal.rs"),
    paper: LOC,
    dialect,
    contract: |s| {
        if s.durable_on_accept {
            ContractKind::Px86
        } else {
            ContractKind::Px86Pcommit
        }
    },
    idiom_of: &[],
    promise: Promise {
        buffered: None,
        persists_every_store: false,
        reorders: true,
        honours: crate::so::HONOURS,
    },
    sound: |_| true,
    params: SoParams::fields,
    variants: crate::so::INFO.variants,
    smallest: &[],
    build: |values, shape| Ok(Box::new(So::new(configure(values)?, shape))),
    cost: crate::so::cost,
    faults: crate::so::FAULTS,
    log: Some("redo-block"),
};

fn dialect(environment: Environment) -> Dialect {
    let barrier: &[Fence] = match environment.durable_on_accept {
        true => &[Fence::Mfence],
        false => &[Fence::Mfence, Fence::Pcommit, Fence::Mfence],
    };
    let locks = crate::volatile::lock_fences(environment);
    Dialect {
        name: "s-wal",
        logging: Logging::Software,
        flush: Some(Flush::Clwb),
        order: barrier,
        log_to_data: barrier,
        durable: barrier,
        lock_acquire: locks,
        unlock_release: locks,
        order_is_durable: true,
        ..Dialect::PLAIN
    }
}
