//! From a request to everything a run needs, with every value and its origin.

use super::clients;
use super::driven;
use super::find::{find_design, find_program};
use super::layer::{Setting, parse_set};
use super::machine::MachineConfig;
use super::parts::{SoftwareLog, of_design_or_program};
use super::program::program_settings;
use super::section::Origin;
use crate::error::{BadInput, LabError};
use crate::request::Request;
use fencepost_contract::ContractKind;
use fencepost_designs::{DesignInfo, MachineShape};
use fencepost_kernel::params::{Field, ParamError, Raw};
use fencepost_kernel::{Dialect, LogPath, Transactions};
use fencepost_machine::memory::{DurableAt, WritePolicy};
use fencepost_machine::seam::Design;
use fencepost_machine::{CacheSpec, MachineSpec, StoreOrder};
use fencepost_programs::About;

/// A run, completely specified and known to be possible.
#[derive(Clone)]
pub struct Resolved {
    /// The request, with its defaults filled in.
    pub request: Request,
    /// The machine with its memories.
    pub machine: MachineConfig,
    /// The design.
    pub design: &'static DesignInfo,
    /// Parameters of the design that were set.
    pub design_settings: Vec<(String, Raw)>,
    /// How the program is built.
    pub program: fencepost_programs::Settings,
    /// Software threads.
    pub threads: u32,
    about: About,
    own_origins: Vec<(String, String, Origin)>,
    unused: Vec<String>,
}

impl Resolved {
    /// Resolves presets, files and settings; the first thing that is wrong is reported with its place.
    pub fn resolve(request: &Request) -> Result<Resolved, LabError> {
        Resolved::with_design(request, find_design(&request.design)?)
    }
    /// As [`resolve`](Resolved::resolve), for a design that need not be registered.
    pub fn with_design(request: &Request, design: &'static DesignInfo) -> Result<Resolved, LabError> {
        Ok(Resolved::with_mechanism(request, design)?.0)
    }
    /// As [`resolve`](Resolved::resolve), with the mechanism that was built to see whether it can be.
    pub fn built(request: &Request) -> Result<(Resolved, Box<dyn Design>), LabError> {
        Resolved::with_mechanism(request, find_design(&request.design)?)
    }
    fn with_mechanism(request: &Request, design: &'static DesignInfo) -> Result<(Resolved, Box<dyn Design>), LabError> {
        let about = clients::program_of(&request.program, design)?;
        let mut machine = MachineConfig::load(&request.machine, request.media.as_deref())?;
        let mut others = std::mem::take(&mut machine.others);
        let in_files = others.len();
        for text in &request.sets {
            let setting = parse_set(text)?;
            if of_design_or_program(&setting.section) {
                others.push(setting);
            } else {
                machine.apply(&setting)?;
            }
        }
        clients::connect(&mut machine, request, design)?;
        machine.validate()?;
        clients::answered_in_time(&machine)?;
        let threads = clients::threads(request, &machine, design)?;
        driven::possible(&machine, &about, threads)?;
        let mut resolved = Resolved {
            request: Request {
                threads: Some(threads),
                media: Some(machine.media.clone()),
                ..request.clone()
            },
            program: program_settings(request, &about, design, &machine, threads)?,
            machine,
            design,
            design_settings: Vec::new(),
            threads,
            about,
            own_origins: Vec::new(),
            unused: Vec::new(),
        };
        let mut foreign = Foreign::default();
        for (i, s) in others.iter().enumerate() {
            if !resolved.apply_own(s, &mut foreign)? && i >= in_files {
                resolved.unused.push(format!("{}.{}", s.section, s.key));
            }
        }
        foreign.check(&resolved)?;
        let built = (design.build)(&resolved.design_settings, resolved.shape());
        let mut built = built.map_err(|e| resolved.refused("design", &e))?;
        if resolved.machine.spec.network.clients > 0 && built.network_port().is_none() {
            return Err(resolved.no_port().into());
        }
        resolved.log_is_ordered()?;
        resolved.knows_module_cache(built.ranges().is_some())?;
        resolved.check_program()?;
        Ok((resolved, built))
    }

    /// Name of the program.
    pub fn program_word(&self) -> &'static str {
        self.about.name
    }
    /// Name of the memory that the program begins with: runs of equal names begin with the same one, which the first of them makes.
    pub fn first_memory(&self) -> String {
        format!("{} {:?}", self.about.name, self.program.of_setup())
    }
    /// Sizes of the machine that designs follow.
    pub fn shape(&self) -> MachineShape {
        shape(&self.machine)
    }
    /// What the clients of this run do, if it has any.
    pub fn clients(&self) -> Option<Transactions> {
        let local = (!self.is_replication()).then_some((self.about.name, &self.program));
        clients::transactions(&self.machine, local, self.request.seed)
    }
    /// Whether the program is what clients do: no program runs on the server.
    pub fn is_replication(&self) -> bool {
        clients::is_replication(self.design, self.about.name)
    }
    /// Whether threads replay traces.
    pub fn traced(&self) -> bool {
        driven::traced(&self.machine)
    }
    /// Processes that share the threads out.
    pub fn processes(&self) -> u32 {
        self.machine.general.processes.into()
    }
    /// Why the run has no verdict, if it has none.
    pub fn no_verdict(&self) -> Option<&'static str> {
        driven::no_verdict(&self.machine.general, self.threads)
    }
    /// Refuses to judge a run that has no verdict.
    ///
    /// # Errors
    /// It has none.
    pub fn judged(&self) -> Result<(), BadInput> {
        let refused =
            |why| Err(BadInput::new(why).hint("leave out machine.driven_by, machine.commit_every, or the check"));
        self.no_verdict().map_or(Ok(()), refused)
    }
    /// What dialect and contract depend on.
    pub fn environment(&self) -> fencepost_designs::Environment {
        let spec = &self.machine.spec;
        fencepost_designs::Environment {
            durable_on_accept: spec.pm.controller.durable_at(&spec.pm.media) == DurableAt::Accept
                && !spec.pm.module.is_volatile(),
            tso: spec.core.store_order == StoreOrder::Tso,
        }
    }
    /// What software writes in this run.
    pub fn dialect(&self) -> Dialect {
        let dialect = self.program.scheme.dialect((self.design.dialect)(self.environment()));
        match self.machine.general.log_path {
            SoftwareLog::Design => dialect,
            SoftwareLog::Caches => Dialect {
                log_path: LogPath::Temporal,
                ..dialect
            },
        }
    }
    /// Refuses logs in the caches where the design orders those past them by itself.
    fn log_is_ordered(&self) -> Result<(), BadInput> {
        let past = (self.design.dialect)(self.environment()).log_path == LogPath::NonTemporal;
        if self.machine.general.log_path == SoftwareLog::Design || !past || self.contract() == ContractKind::Px86.name()
        {
            return Ok(());
        }
        let why = format!(
            "`{}` orders data behind log words that go past the caches, and has no fence for those that do not",
            self.design.name
        );
        let e = BadInput::new(why).hint("leave machine.log_path out; `x86-adr` and `x86-ideal` take it");
        Err(match self.origin("machine", "log_path") {
            Some(origin) => e.at(origin.place.clone()),
            None => e,
        })
    }
    /// Refuses a volatile cache behind the memory module where the design waits for what it writes to be stored: lines stay in the cache.
    fn knows_module_cache(&self, commits_ranges: bool) -> Result<(), BadInput> {
        let promises = self.sound() && self.contract() != ContractKind::None.name();
        if !self.machine.spec.pm.module.is_volatile() || commits_ranges || !promises {
            return Ok(());
        }
        let why = format!(
            "`{}` waits until the medium has stored what it writes, and a module with a volatile cache leaves that in the cache",
            self.design.name
        );
        let hint = "leave pm.module.dram_cache out, or take `per-task-commit`, which passes the cache by";
        let e = BadInput::new(why).hint(hint);
        Err(match self.origin("pm.module", "dram_cache") {
            Some(origin) => e.at(origin.place.clone()),
            None => e,
        })
    }
    /// Name of the contract that the run is held to.
    pub fn contract(&self) -> &'static str {
        (self.design.contract)(self.environment()).name()
    }
    /// Whether the design can keep its promise on this machine.
    pub fn sound(&self) -> bool {
        (self.design.sound)(self.environment())
    }
    /// Every parameter of the design with its value here.
    pub fn design_values(&self) -> Vec<(Field, String)> {
        values((self.design.params)(), &self.design_settings)
    }
    /// Every parameter of the program with its value here.
    pub fn program_values(&self) -> Vec<(Field, String)> {
        values(self.about.fields.clone(), &self.program.params)
    }
    /// Where a value came from; `None` for defaults of designs and programs.
    pub fn origin(&self, section: &str, key: &str) -> Option<&Origin> {
        let own = |o: &&(String, String, Origin)| o.0 == section && o.1 == key;
        let machine = || self.machine.origins.get(&(section.to_owned(), key.to_owned()));
        self.own_origins.iter().rev().find(own).map(|o| &o.2).or_else(machine)
    }

    /// Settings of the command line that have no effect: they are about a design or a program that does not run.
    pub fn unused(&self) -> &[String] {
        &self.unused
    }

    /// Applies a setting of the design or program that runs, and says whether it is one; others are collected.
    fn apply_own(&mut self, s: &Setting, foreign: &mut Foreign) -> Result<bool, BadInput> {
        let (kind, name) = match s.section.split_once('.') {
            Some((kind, name)) => (kind, Some(name)),
            None => (s.section.as_str(), None),
        };
        let at_key = |e: BadInput| e.at(s.key_place.clone());
        let (fields, of, own) = if kind == "design" {
            let info = name.map_or(Ok(self.design), find_design).map_err(at_key)?;
            ((info.params)(), info.name, self.design.name)
        } else {
            let about = name.map_or_else(|| Ok(self.about.clone()), find_program);
            let about = about.map_err(at_key)?;
            (about.fields, about.name, self.about.name)
        };
        if !fields.iter().any(|f| f.name == s.key) {
            let names = fields.iter().map(|f| f.name);
            let what = format!("key of [{}]", s.section);
            return Err(at_key(BadInput::unknown(&what, &s.key, names)));
        }
        if of != own {
            foreign.0.push((kind.to_owned(), of, s.clone()));
            return Ok(false);
        }
        let list = match kind {
            "design" => &mut self.design_settings,
            _ => &mut self.program.params,
        };
        list.retain(|(name, _)| *name != s.key);
        list.push((s.key.clone(), s.value.clone()));
        let origin = Origin {
            place: s.value_place.clone(),
            note: s.note.clone(),
        };
        self.own_origins.push((format!("{kind}.{own}"), s.key.clone(), origin));
        Ok(true)
    }

    fn refused(&self, kind: &str, e: &ParamError) -> BadInput {
        let of = match kind {
            "design" => self.design.name,
            _ => self.about.name,
        };
        let (name, message) = match e {
            ParamError::Value { name, why } => (name, format!("`{kind}.{of}.{name}`: {why}")),
            ParamError::Unknown { name, .. } => (name, format!("`{kind}.{of}`: {e}")),
        };
        // A default that is refused contradicts what was set last.
        let section = format!("{kind}.{of}");
        let last = || self.own_origins.iter().rev().find(|o| o.0 == section).map(|o| &o.2);
        match self.origin(&section, name).or_else(last) {
            Some(origin) => BadInput::new(message).at(origin.place.clone()),
            None => BadInput::new(message),
        }
    }

    /// Clients, and a design that no network reaches.
    fn no_port(&self) -> BadInput {
        let remote = "run a design that takes writes from a network: `list designs` names them";
        let e = BadInput::new(format!("`{}` takes no writes from a network", self.design.name)).hint(remote);
        match self.origin("network", "clients") {
            Some(origin) => e.at(origin.place.clone()),
            None => e,
        }
    }

    fn check_program(&self) -> Result<(), BadInput> {
        use fencepost_programs::ProgramError;
        if self.is_replication() {
            return Ok(());
        }
        fencepost_programs::footprint(self.about.name, &self.program)
            .map(|_| ())
            .map_err(|e| match &e {
                ProgramError::Param { source, .. } => self.refused("program", source),
                other => self.contradiction(&other.to_string()),
            })
    }

    /// Values of the program contradict each other: the last one set among those that the message names is to blame.
    fn contradiction(&self, message: &str) -> BadInput {
        let e = BadInput::new(message);
        let named = |key: &str| {
            message
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .any(|w| w == key)
        };
        let section = format!("program.{}", self.about.name);
        let set = self.own_origins.iter().rev().find(|o| o.0 == section && named(&o.1));
        match set {
            Some((_, _, origin)) => e.at(origin.place.clone()),
            None => e,
        }
    }
}

/// Settings of designs and programs that do not run: kind, name, setting. Their values are checked all the same.
#[derive(Default)]
struct Foreign(Vec<(String, &'static str, Setting)>);
impl Foreign {
    fn check(&self, resolved: &Resolved) -> Result<(), BadInput> {
        for (kind, of, s) in &self.0 {
            let values = vec![(s.key.clone(), s.value.clone())];
            let refused = match kind.as_str() {
                "design" => find_design(of)
                    .ok()
                    .and_then(|d| (d.build)(&values, resolved.shape()).err()),
                _ => {
                    let settings = fencepost_programs::Settings {
                        params: values,
                        ..fencepost_programs::Settings::default()
                    };
                    match fencepost_programs::footprint(of, &settings) {
                        Err(fencepost_programs::ProgramError::Param { source, .. }) => Some(source),
                        _ => None,
                    }
                }
            };
            if let Some(ParamError::Value { name, why }) = refused {
                let e = BadInput::new(format!("`{kind}.{of}.{name}`: {why}"));
                return Err(e.at(s.value_place.clone()));
            }
        }
        Ok(())
    }
}

/// Sizes of a machine that designs follow.
pub(super) fn shape(machine: &MachineConfig) -> MachineShape {
    shape_of(&machine.spec)
}
/// Sizes of a machine that designs follow, without the configuration around it.
pub fn shape_of(spec: &MachineSpec) -> MachineShape {
    let lines = |c: &CacheSpec| u32::try_from(c.size.0 / 64).unwrap_or(u32::MAX);
    MachineShape {
        hw_threads: spec.hw_threads(),
        cores: spec.core.cores,
        channels: spec.network.ports(),
        l1_lines: lines(&spec.l1),
        l2_lines: spec
            .l2
            .as_ref()
            .map_or(0, |l2| lines(l2).saturating_mul(spec.core.cores.into())),
        llc_lines: lines(&spec.llc),
        cycle: spec.core.clock.period(),
        writes_stay_in_order: spec.pm.media.writes != WritePolicy::Buffered,
        ..MachineShape::default()
    }
}

fn values(fields: Vec<Field>, set: &[(String, Raw)]) -> Vec<(Field, String)> {
    let value = |f: &Field| match set.iter().rev().find(|s| s.0 == f.name) {
        Some((_, raw)) => raw_text(raw),
        None => f.default.clone(),
    };
    fields.into_iter().map(|f| (f.clone(), value(&f))).collect()
}

pub(crate) fn raw_text(raw: &Raw) -> String {
    match raw {
        Raw::Int(i) => i.to_string(),
        Raw::Float(f) => f.to_string(),
        Raw::Bool(b) => b.to_string(),
        Raw::Text(t) => t.clone(),
    }
}

#[cfg(test)]
mod tests;
