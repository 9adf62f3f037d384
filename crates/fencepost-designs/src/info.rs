//! What a design declares: the type of its entry in the registry, and what goes into it.
//!
//! Everything is plain data or a plain function, so that whatever holds for every design (the battery of tests, listings, pages,
//! storage costs) is written once over [`DesignInfo`] and needs no list of names.

use crate::page::Page;
use fencepost_contract::{Contract, ContractKind};
pub use fencepost_kernel::Honours;
use fencepost_kernel::params::{Field, ParamError, Params, Raw};
use fencepost_kernel::{Dialect, Logging, Ps};
use fencepost_machine::seam::Design;

/// What a design's dialect and contract depend on besides the design itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Environment {
    /// Whether the memory makes a write durable when its controller accepts it (persistent write queue, ADR).
    pub durable_on_accept: bool,
    /// Whether the cores keep total store order; otherwise they are relaxed as ARMv7 is.
    pub tso: bool,
}
impl Environment {
    /// All four environments.
    pub const ALL: [Environment; 4] = [
        Environment::new(false, false),
        Environment::new(false, true),
        Environment::new(true, false),
        Environment::new(true, true),
    ];
    /// An environment.
    pub const fn new(durable_on_accept: bool, tso: bool) -> Environment {
        Environment { durable_on_accept, tso }
    }
}

/// Sizes of the machine that a design's structures follow.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MachineShape {
    /// Hardware threads.
    pub hw_threads: u8,
    /// Cores; hardware threads are spread evenly, siblings share the private caches.
    pub cores: u8,
    /// Channels of the network, each with a remote persist buffer; 0 without clients.
    pub channels: u8,
    /// Lines in one first-level data cache (for tags that a design adds to every way).
    pub l1_lines: u32,
    /// Lines in the private second levels, all cores together; 0 where there is none.
    pub l2_lines: u32,
    /// Lines in the shared last level.
    pub llc_lines: u32,
    /// Width of a physical address in bits.
    pub address_bits: u8,
    /// One cycle of a core.
    pub cycle: Ps,
    /// Whether writes become durable in the order in which their data leave the controller: not where a module buffers them.
    pub writes_stay_in_order: bool,
}
impl Default for MachineShape {
    /// The machine of the delegated-ordering paper's Table II: 8 single-threaded cores, 64 KiB L1, 8 MiB shared level.
    fn default() -> Self {
        MachineShape {
            hw_threads: 8,
            cores: 8,
            channels: 0,
            l1_lines: 1024,
            l2_lines: 0,
            llc_lines: 131_072,
            address_bits: 48,
            cycle: Ps(500),
            writes_stay_in_order: true,
        }
    }
}

/// Where a design was published.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Paper {
    /// The project's short name of the paper (dpo, themis, broi, loc, fgc); `-` for designs that are nobody's.
    pub short: &'static str,
    /// Title.
    pub title: &'static str,
    /// Venue and year, as far as known.
    pub venue: &'static str,
    /// A BibTeX entry, empty where there is nothing to cite.
    pub bibtex: &'static str,
}

/// One line of a design's storage cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostItem {
    /// The structure, and per what it is counted ("per core", "per L1 line").
    pub what: String,
    /// Bits that the structure needs, from first principles.
    pub bits: u64,
    /// Bits by the paper's own formula, where it states one.
    pub paper_bits: Option<u64>,
    /// How the numbers come about.
    pub note: String,
}

/// Values of parameters by name, as configuration files write them; unnamed parameters keep their defaults.
pub type ParamValues<'a> = &'a [(String, Raw)];

/// Parameter values that a design declares: name and value as text.
pub type Values = &'static [(&'static str, &'static str)];

/// Declared values in the form that [`DesignInfo::build`] takes.
pub fn raw(values: Values) -> Vec<(String, Raw)> {
    let text = |(name, value): &(&str, &str)| ((*name).to_owned(), Raw::Text((*value).to_owned()));
    values.iter().map(text).collect()
}

/// What a design promises beyond the name of its contract.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// Whether persists lag behind fences; `None` takes the contract's own default.
    pub buffered: Option<bool>,
    /// Whether every store to persistent memory becomes durable without being flushed, so that a run that has drained leaves
    /// nothing behind. With most designs a store may stay in the caches for ever.
    pub persists_every_store: bool,
    /// Whether the mechanism lets persists that the contract does not order pass one another, so that a test must see it happen.
    pub reorders: bool,
    /// The instructions that it covers.
    pub honours: Honours,
}

/// What convicts a planted fault.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Conviction {
    /// Conformance: the run becomes durable in an order that the contract forbids.
    Conformance,
    /// Recovery: a crash state of the run does not recover to a prefix of its transactions.
    Recovery,
    /// The machine gets stuck: something waits for what never comes, and the run says who and for what.
    Stuck,
}

/// What must be run to see a planted fault.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Random multi-threaded programs of what the design [honours](Honours), on small caches and a slow medium, until one convicts.
    Random,
    /// One program of the registry on a machine preset, with settings as `--set` takes them.
    Program {
        /// The program.
        program: &'static str,
        /// The machine preset.
        machine: &'static str,
        /// Settings `SECTION.KEY=VALUE`.
        sets: &'static [&'static str],
    },
}

/// A rule of the mechanism that can be broken on purpose, and what must notice.
///
/// To plant it, build the design with [`values`](PlantedFault::values) and run it under [`fault::with`] its name: faults that
/// reproductions plant in releases are values of a `fault` parameter, all others are [`planted!`] in the code. Those that break a
/// rule of a scoreboard are both, so that `xtask rules` can break the mechanism under a row that asks for none.
///
/// [`fault::with`]: fencepost_kernel::fault::with
/// [`planted!`]: fencepost_kernel::planted
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PlantedFault {
    /// `mechanism.what-goes-wrong`; designs that share a mechanism share its faults.
    pub name: &'static str,
    /// The rule that it breaks.
    pub breaks: &'static str,
    /// Parameters that switch it on or make it show.
    pub values: Values,
    /// What notices.
    pub conviction: Conviction,
    /// On which run.
    pub scenario: Scenario,
}
impl PlantedFault {
    /// A fault that conformance of random programs convicts.
    pub const fn order(name: &'static str, breaks: &'static str, values: Values) -> PlantedFault {
        PlantedFault {
            name,
            breaks,
            values,
            conviction: Conviction::Conformance,
            scenario: Scenario::Random,
        }
    }
    /// A fault that recovery from crash states of random transactions convicts.
    pub const fn recovery(name: &'static str, breaks: &'static str, values: Values) -> PlantedFault {
        PlantedFault {
            conviction: Conviction::Recovery,
            ..PlantedFault::order(name, breaks, values)
        }
    }
}

/// One design: its name and its five parts (dialect, mechanism, contract, recovery, cost).
#[derive(Copy, Clone)]
pub struct DesignInfo {
    /// The name on the command line and in configuration files.
    pub name: &'static str,
    /// One sentence for lists.
    pub summary: &'static str,
    /// Source text of the design's module; its leading doc comment is the design's page (see [`DesignInfo::page`]).
    pub source: &'static str,
    /// Where it was published.
    pub paper: Paper,
    /// What software writes on this design.
    pub dialect: fn(Environment) -> Dialect,
    /// The contract that a run is held to.
    pub contract: fn(Environment) -> ContractKind,
    /// The contracts for which a program is written in this design's dialect when only the contract is named.
    pub idiom_of: &'static [ContractKind],
    /// The contract's parameters, and what of it the mechanism covers.
    pub promise: Promise,
    /// Whether the mechanism can keep that contract in this environment. False marks a combination that is run to be
    /// convicted (`so-adr` on a memory that is durable only at the device).
    pub sound: fn(Environment) -> bool,
    /// Every parameter with its default.
    pub params: fn() -> Vec<Field>,
    /// Other values of parameters under which the promise holds as well; the battery tries each.
    pub variants: &'static [Values],
    /// Every queue and buffer of the design at its smallest size (one, where that works).
    pub smallest: Values,
    /// Builds the mechanism.
    pub build: fn(ParamValues<'_>, MachineShape) -> Result<Box<dyn Design>, ParamError>,
    /// Computes the storage that it adds.
    pub cost: fn(ParamValues<'_>, MachineShape) -> Result<Vec<CostItem>, ParamError>,
    /// Faults that can be planted in the mechanism, each with what convicts it.
    pub faults: &'static [PlantedFault],
    /// Name of the logging runtime that software uses on it unless a run says otherwise; `None` leaves that to the program.
    pub log: Option<&'static str>,
}

impl DesignInfo {
    /// The contract that a run in this environment is held to, with its parameters.
    pub fn contract_of(&self, environment: Environment) -> Contract {
        let mut contract = Contract::from((self.contract)(environment));
        contract.params.buffered = self.promise.buffered;
        contract
    }
    /// Whether software on this design leaves out the fence between log and data although the contract orders nothing there: an upper
    /// bound of speed. The hardware keeps its promise; a program that logs may not survive a crash.
    pub fn leaves_log_unordered(&self, environment: Environment) -> bool {
        let dialect = (self.dialect)(environment);
        dialect.logging == Logging::Software
            && !dialect.log_to_data.iter().any(|f| dialect.order.contains(f))
            && [ContractKind::Px86, ContractKind::Px86Pcommit].contains(&(self.contract)(environment))
    }
    /// The page, read from the doc comment of the design's module.
    pub fn page(&self) -> Page {
        Page::of(self.source)
    }
}

/// Applies values to a parameter struct.
pub fn configure<P: Params>(values: ParamValues<'_>) -> Result<P, ParamError> {
    let mut params = P::default();
    for (name, raw) in values {
        params.set(name, raw)?;
    }
    Ok(params)
}

/// For designs without parameters: any value is one of an unknown name.
pub fn no_params(values: ParamValues<'_>) -> Result<(), ParamError> {
    match values.first() {
        None => Ok(()),
        Some((name, _)) => Err(ParamError::Unknown {
            name: name.clone(),
            known: Vec::new(),
        }),
    }
}
