//! `adr-dram-cache`: asynchronous DRAM refresh over a hybrid memory with a volatile DRAM cache.
//!
//! # Idea
//! With ADR an accepted write counts as durable: stored energy empties the controller's queue when power fails. In a hybrid memory it
//! empties it into a DRAM cache, which loses its content. Software that trusts ADR there loses what was acknowledged; this design
//! exists to show it.
//!
//! # Paper
//! Per-task (fine-grained) memory committing, sections I and II-B (figure 2c).
//!
//! # Where order is kept
//! In the core: `mfence` waits until the controller has accepted the thread's own `clflush`es.
//!
//! # Durable at
//! The medium, after the cache has displaced a line; software takes acceptance by the controller for it.
//!
//! # Contract
//! `px86`, which it cannot keep on any memory.
//!
//! # Hardware cost
//! The energy to empty the controller's queue; no storage is counted.
//!
//! # Deviations
//! The cache keeps written lines only, displaces the oldest, and adds no time to reads.

use super::flushes::Flushes;
use super::params::CacheParams;
use super::{FGC, HONOURS};
use crate::info::{DesignInfo, MachineShape, Promise, configure};
use crate::volatile::lock_fences;
use fencepost_contract::ContractKind;
use fencepost_kernel::params::Params as _;
use fencepost_kernel::{Dialect, Fence, Flush, HwThread, LineAddr, LineData, Logging};
use fencepost_machine::memory::ModuleSpec;
use fencepost_machine::seam::{ControllerParts, Cx, Design, Gate, Hooks, Instr, Write, WriteId};

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "adr-dram-cache",
    summary: "clflush only, trusting ADR although a volatile DRAM cache lies below the controller",
    source: include_str!("adr_dram_cache.rs"),
    paper: FGC,
    dialect: |environment| {
        let barrier: &[Fence] = &[Fence::Mfence];
        Dialect {
            name: "adr-dram-cache",
            logging: Logging::Software,
            flush: Some(Flush::Clflush),
            order: barrier,
            log_to_data: barrier,
            durable: barrier,
            lock_acquire: lock_fences(environment),
            unlock_release: lock_fences(environment),
            order_is_durable: true,
            ..Dialect::PLAIN
        }
    },
    contract: |_| ContractKind::Px86,
    idiom_of: &[],
    promise: Promise {
        buffered: None,
        persists_every_store: false,
        reorders: true,
        honours: HONOURS,
    },
    sound: |_| false,
    params: CacheParams::fields,
    variants: &[],
    smallest: &[("dram_cache", "64B"), ("module_entries", "1")],
    build: |values, shape| Ok(Box::new(Adr::new(configure(values)?, shape))),
    cost: |values, _| {
        let _: CacheParams = configure(values)?;
        Ok(Vec::new())
    },
    faults: &[],
    log: None,
};

/// Flushes and fences over a module with a cache.
#[derive(Clone, Debug)]
struct Adr {
    params: CacheParams,
    flushes: Flushes,
}
impl Adr {
    fn new(params: CacheParams, shape: MachineShape) -> Adr {
        let flushes = Flushes::new(shape.hw_threads);
        Adr { params, flushes }
    }
}

impl Design for Adr {
    fn hooks(&self) -> Hooks {
        Hooks {
            writes: true,
            ..Hooks::default()
        }
    }
    fn controller(&self, machine: &ModuleSpec) -> ControllerParts {
        let entries = match machine.entries {
            0 => self.params.module_entries,
            n => n,
        };
        let module = ModuleSpec {
            entries,
            dram_cache: self.params.dram_cache,
            ..machine.clone()
        };
        ControllerParts::of(&module)
    }
    fn instr(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, instr: Instr) -> Gate {
        match instr {
            Instr::Flush(line, flush) => self.flushes.flush(cx, hw_thread, line, flush),
            Instr::Fence(fence) if fence.properties().orders_stores => self.flushes.fence(hw_thread),
            Instr::Locked => self.flushes.fence(hw_thread),
            Instr::Fence(_) => Gate::Go,
        }
    }
    fn nt_store(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, data: &LineData, _: u8) -> Gate {
        self.flushes.nt_store(cx, hw_thread, line, data)
    }
    fn cleaned(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, tag: u64, _: Option<&LineData>) {
        self.flushes.cleaned(cx, hw_thread, tag);
    }
    fn queue_freed(&mut self, cx: &mut dyn Cx, _: u8) {
        self.flushes.queue_freed(cx);
    }
    fn accepted(&mut self, cx: &mut dyn Cx, _: WriteId, write: &Write) {
        self.flushes.accepted(cx, write);
    }
    fn drain(&mut self, _: &mut dyn Cx) -> bool {
        self.flushes.idle()
    }
}
