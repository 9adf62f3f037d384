//! The sections that make up a machine.

use super::section::Section;
use fencepost_kernel::{Bytes, params};
use fencepost_machine::{CacheSpec, MachineSpec};
use fencepost_programs::clients::ClientParams;

params! {
    /// What belongs to no component.
    pub struct General {
        /// Bytes reserved for a hardware log, at the top of persistent memory.
        log_area: Bytes = Bytes(32 << 20),
        /// How much later than a multiple of 4 KiB after the thread's before it each thread's software log begins: whole lines.
        #[range(Bytes(0)..=Bytes(1 << 20))]
        log_stagger: Bytes = Bytes(0),
        /// Which way software's log words take: the one that the design's idioms name, or through the caches, flushed as data is.
        log_path: SoftwareLog = SoftwareLog::Design,
        /// What drives the threads: the program as it runs, or a trace of its accesses, recorded once and replayed without waiting for
        /// locks. Of more than one thread such a run has no verdict.
        driven_by: DrivenBy = DrivenBy::Execution,
        /// Processes that run side by side, each with its share of the threads and memory of its own; more than one where traces drive
        /// them.
        #[range(1..=64)]
        processes: u8 = 1,
        /// A thread makes every so-manieth commit of its program only, and flushes then what it has persisted since. With more than 1 a run
        /// has no verdict.
        #[range(1..=10_000)]
        commit_every: u32 = 1,
    }
}

fencepost_kernel::param_enum! {
    /// Which way software's log words take.
    pub enum SoftwareLog {
        /// As the design's idioms have it.
        Design = "design",
        /// Through the caches, flushed as data is: for designs whose log goes past them and is ordered by fences alone.
        Caches = "caches",
    }
}

fencepost_kernel::param_enum! {
    /// What drives the threads of a run.
    pub enum DrivenBy {
        /// The program, as its accesses perform and its locks are taken.
        Execution = "execution",
        /// A trace: a thread's accesses as recorded, whatever others do.
        Trace = "trace",
    }
}

/// Section names in the order in which they are printed; `l2` only where a machine has one.
pub const SECTIONS: [&str; 14] = [
    "machine",
    "core",
    "l1",
    "l1i",
    "l2",
    "llc",
    "bus",
    "dram.controller",
    "dram.media",
    "pm.controller",
    "pm.media",
    "pm.module",
    "network",
    "client",
];

/// Whether a section is about a design or a program instead of the machine.
pub(super) fn of_design_or_program(section: &str) -> bool {
    let head = section.split('.').next().unwrap_or("");
    head == "design" || head == "program"
}

/// The sections of a machine, by name.
pub(super) fn sections<'a>(
    spec: &'a mut MachineSpec,
    l1i: &'a mut CacheSpec,
    general: &'a mut General,
    client: &'a mut ClientParams,
) -> Vec<(&'static str, &'a mut dyn Section)> {
    let mut list: Vec<(&'static str, &'a mut dyn Section)> = vec![
        ("machine", general),
        ("core", &mut spec.core),
        ("l1", &mut spec.l1),
        ("l1i", l1i),
    ];
    if let Some(l2) = &mut spec.l2 {
        list.push(("l2", l2));
    }
    list.push(("llc", &mut spec.llc));
    list.push(("bus", &mut spec.bus));
    list.push(("dram.controller", &mut spec.dram.controller));
    list.push(("dram.media", &mut spec.dram.media));
    list.push(("pm.controller", &mut spec.pm.controller));
    list.push(("pm.media", &mut spec.pm.media));
    list.push(("pm.module", &mut spec.pm.module));
    list.push(("network", &mut spec.network));
    list.push(("client", client));
    list
}

/// Every section with its declared parameters, for the reference pages.
pub fn reference() -> Vec<(&'static str, Vec<fencepost_kernel::params::Field>)> {
    let mut spec = MachineSpec {
        l2: Some(CacheSpec::default()),
        ..MachineSpec::default()
    };
    let (mut l1i, mut general) = (CacheSpec::default(), General::default());
    sections(&mut spec, &mut l1i, &mut general, &mut ClientParams::default())
        .into_iter()
        .map(|(n, s)| (n, s.fields()))
        .collect()
}
