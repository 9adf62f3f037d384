//! From a request to everything a run needs, with every value and its origin.

use super::layer::{Setting, parse_set};
use super::machine::{MachineConfig, is_room};
use super::section::Origin;
use crate::error::{BadInput, LabError};
use crate::request::Request;
use fencepost_designs::{DesignInfo, MachineShape};
use fencepost_kernel::Dialect;
use fencepost_kernel::params::{Field, ParamError, ParamValue, Raw};
use fencepost_machine::memory::DurableAt;
use fencepost_machine::{CacheSpec, StoreOrder};
use fencepost_programs::{About, Scheme, Variant};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

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
    room_origins: Vec<(String, String, Origin)>,
}

impl Resolved {
    /// Resolves presets, files and settings; the first thing that is wrong is reported with its place.
    pub fn resolve(request: &Request) -> Result<Resolved, LabError> {
        let design = find_design(&request.design)?;
        let about = find_program(&request.program)?;
        let mut machine = MachineConfig::load(&request.machine, request.media.as_deref())?;
        let mut rooms = std::mem::take(&mut machine.others);
        for text in &request.sets {
            let setting = parse_set(text)?;
            if is_room(&setting.section) {
                rooms.push(setting);
            } else {
                machine.apply(&setting)?;
            }
        }
        machine.validate()?;
        let threads = threads(request, &machine)?;
        let mut resolved = Resolved {
            request: Request {
                threads: Some(threads),
                media: Some(machine.media.clone()),
                ..request.clone()
            },
            program: program_settings(request, &about, design, threads)?,
            machine,
            design,
            design_settings: Vec::new(),
            threads,
            about,
            room_origins: Vec::new(),
        };
        for s in &rooms {
            resolved.apply_room(s)?;
        }
        (design.build)(&resolved.design_settings, resolved.shape()).map_err(|e| resolved.refused("design", &e))?;
        resolved.check_program()?;
        Ok(resolved)
    }

    /// Word of the program.
    pub fn program_word(&self) -> &'static str {
        self.about.word
    }
    /// Sizes of the machine that designs follow.
    pub fn shape(&self) -> MachineShape {
        shape(&self.machine)
    }
    /// What dialect and contract depend on.
    pub fn environment(&self) -> fencepost_designs::Environment {
        let spec = &self.machine.spec;
        fencepost_designs::Environment {
            durable_on_accept: spec.pm.controller.durable_at(&spec.pm.media) == DurableAt::Accept,
            tso: spec.core.store_order == StoreOrder::Tso,
        }
    }
    /// What software writes in this run.
    pub fn dialect(&self) -> Dialect {
        (self.design.dialect)(self.environment())
    }
    /// Word of the contract that the run is held to.
    pub fn contract(&self) -> &'static str {
        (self.design.contract)(self.environment())
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
        let room = |o: &&(String, String, Origin)| o.0 == section && o.1 == key;
        let machine = || self.machine.origins.get(&(section.to_owned(), key.to_owned()));
        self.room_origins.iter().rev().find(room).map(|o| &o.2).or_else(machine)
    }

    /// Every section with its keys, kinds of value and values, in order.
    pub fn sections(&self) -> Vec<(String, Vec<(String, String)>)> {
        let r = &self.request;
        let text = |s: &str| s.to_owned();
        let run = vec![
            ("program", r.program.clone()),
            ("variant", self.program.variant.word().to_owned()),
            ("log", self.program.scheme.word().to_owned()),
            ("design", r.design.clone()),
            ("machine", r.machine.clone()),
            ("media", self.machine.media.clone()),
            ("dram", self.machine.dram.clone()),
            ("threads", self.threads.to_string()),
            ("ops", r.ops.to_string()),
            ("warmup", r.warmup.to_string()),
            ("seed", r.seed.to_string()),
            ("ack", text(if r.ack_every { "every" } else { "end" })),
        ];
        let mut out = vec![(text("run"), run.into_iter().map(|(k, v)| (text(k), v)).collect())];
        let list = |v: Vec<(Field, String)>| v.into_iter().map(|(f, v)| (f.name.to_owned(), v)).collect::<Vec<_>>();
        out.push((format!("program.{}", r.program), list(self.program_values())));
        out.push((format!("design.{}", r.design), list(self.design_values())));
        for (name, values) in self.machine.values() {
            out.push((name, values.into_iter().map(|(k, v)| (text(k), v)).collect()));
        }
        out.retain(|s| !s.1.is_empty());
        out
    }

    /// The resolved configuration as TOML; with `origins`, every value says where it came from.
    pub fn to_toml(&self, origins: bool) -> String {
        let mut out = String::new();
        for (section, values) in self.sections() {
            let _ = writeln!(out, "{}[{section}]", if out.is_empty() { "" } else { "\n" });
            for (key, value) in values {
                let _ = write!(out, "{key} = {}", toml_value(&value));
                if origins && section != "run" {
                    let _ = write!(out, " # {}", self.origin_text(&section, &key));
                }
                out.push('\n');
            }
        }
        out
    }

    fn origin_text(&self, section: &str, key: &str) -> String {
        match self.origin(section, key) {
            Some(Origin {
                place,
                note: Some(note),
            }) => format!("{note} ({place})"),
            Some(Origin { place, note: None }) => format!("given ({place})"),
            None => "default of the room".into(),
        }
    }

    /// Digest of the resolved configuration: SHA-256 of its TOML without origins, in hexadecimal.
    pub fn digest(&self) -> String {
        let sum = Sha256::digest(self.to_toml(false).as_bytes());
        sum.iter().fold(String::new(), |mut s, b| {
            let _ = write!(s, "{b:02x}");
            s
        })
    }

    /// Applies a setting of a design or program; those about other rooms only have to name one that exists.
    fn apply_room(&mut self, s: &Setting) -> Result<(), BadInput> {
        let (kind, word) = s
            .section
            .split_once('.')
            .map_or((s.section.as_str(), None), |(k, w)| (k, Some(w)));
        let at_key = |e: BadInput| e.at(s.key_place.clone());
        let (fields, mine, list) = if kind == "design" {
            let info = word.map_or(Ok(self.design), find_design).map_err(at_key)?;
            (
                (info.params)(),
                info.name == self.design.name,
                &mut self.design_settings,
            )
        } else {
            let about = word
                .map_or_else(|| Ok(self.about.clone()), find_program)
                .map_err(at_key)?;
            let mine = about.word == self.about.word;
            (about.fields, mine, &mut self.program.params)
        };
        if !fields.iter().any(|f| f.name == s.key) {
            let names = fields.iter().map(|f| f.name);
            return Err(at_key(BadInput::unknown(
                &format!("key of [{}]", s.section),
                &s.key,
                names,
            )));
        }
        if mine {
            let section = if kind == "design" {
                format!("design.{}", self.design.name)
            } else {
                format!("program.{}", self.about.word)
            };
            list.retain(|(name, _)| *name != s.key);
            list.push((s.key.clone(), s.value.clone()));
            let origin = Origin {
                place: s.value_place.clone(),
                note: s.note.clone(),
            };
            self.room_origins.push((section, s.key.clone(), origin));
        }
        Ok(())
    }

    fn refused(&self, kind: &str, e: &ParamError) -> BadInput {
        let word = if kind == "design" {
            self.design.name
        } else {
            self.about.word
        };
        let (name, message) = match e {
            ParamError::Value { name, why } => (name, format!("`{kind}.{word}.{name}`: {why}")),
            ParamError::Unknown { name, .. } => (name, format!("`{kind}.{word}`: {e}")),
        };
        match self.origin(&format!("{kind}.{word}"), name) {
            Some(origin) => BadInput::new(message).at(origin.place.clone()),
            None => BadInput::new(message),
        }
    }

    fn check_program(&self) -> Result<(), BadInput> {
        use fencepost_programs::ProgramError;
        fencepost_programs::footprint(self.about.word, &self.program)
            .map(|_| ())
            .map_err(|e| match &e {
                ProgramError::Param { source, .. } => self.refused("program", source),
                other => BadInput::new(other.to_string()),
            })
    }
}

/// Sizes of a machine that designs follow.
pub fn shape(machine: &MachineConfig) -> MachineShape {
    let spec = &machine.spec;
    let lines = |c: &CacheSpec| u32::try_from(c.size.0 / 64).unwrap_or(u32::MAX);
    MachineShape {
        harts: spec.harts(),
        cores: spec.core.cores,
        l1_lines: lines(&spec.l1),
        l2_lines: spec
            .l2
            .as_ref()
            .map_or(0, |l2| lines(l2).saturating_mul(spec.core.cores.into())),
        llc_lines: lines(&spec.llc),
        cycle: spec.core.clock.period(),
        ..MachineShape::default()
    }
}

/// The design with this word, or the nearest ones.
pub fn find_design(word: &str) -> Result<&'static DesignInfo, BadInput> {
    let known = || fencepost_designs::all().iter().map(|d| d.name);
    fencepost_designs::find(word).ok_or_else(|| BadInput::unknown("design", word, known()))
}
/// The program with this word, or the nearest ones.
pub fn find_program(word: &str) -> Result<About, BadInput> {
    let all = fencepost_programs::programs();
    let known: Vec<&str> = all.iter().map(|p| p.word).collect();
    let found = all.iter().find(|p| p.word == word).cloned();
    found.ok_or_else(|| BadInput::unknown("program", word, known))
}

fn threads(request: &Request, machine: &MachineConfig) -> Result<u32, BadInput> {
    let harts = u32::from(machine.spec.harts());
    match request.threads.unwrap_or(harts) {
        0 => Err(BadInput::new("a run needs at least one thread")),
        n if n > harts => Err(BadInput::new(format!(
            "{n} threads do not fit on the {harts} hardware threads of `{}`",
            machine.word
        ))
        .hint(format!(
            "ask for at most {harts}, or give it more with --set core.cores=N"
        ))),
        n => Ok(n),
    }
}

fn program_settings(
    request: &Request,
    about: &About,
    design: &DesignInfo,
    threads: u32,
) -> Result<fencepost_programs::Settings, BadInput> {
    let scheme = match &request.log {
        None => {
            let designs = about.schemes.iter().copied().find(|s| Some(s.word()) == design.log);
            let natural = about.schemes.first().copied();
            designs.or(natural).unwrap_or(Scheme::UndoArray)
        }
        Some(word) => word_of(word, "logging runtime", about.schemes.iter().map(|s| s.word()))?,
    };
    let variant = match &request.variant {
        None => Variant::Correct,
        Some(word) => word_of(word, "variant", variants(about, scheme).into_iter())?,
    };
    if request.ops == 0 {
        return Err(BadInput::new("a run needs at least one operation per thread"));
    }
    let ops = request
        .ops
        .checked_add(request.warmup)
        .ok_or_else(|| BadInput::new("too many operations"))?;
    Ok(fencepost_programs::Settings {
        threads,
        ops,
        seed: request.seed,
        scheme,
        variant,
        params: Vec::new(),
    })
}

/// Words of the variants that a program has under a logging scheme.
fn variants(about: &About, scheme: Scheme) -> Vec<&'static str> {
    let of_scheme = about.variants.iter().filter(|v| v.0 == scheme);
    of_scheme.flat_map(|v| v.1.iter().map(|x| x.word())).collect()
}

fn word_of<'a, T: ParamValue>(word: &str, what: &str, known: impl Iterator<Item = &'a str>) -> Result<T, BadInput> {
    let known: Vec<&str> = known.collect();
    let parsed = known
        .contains(&word)
        .then(|| T::from_raw(&Raw::Text(word.to_owned())).ok())
        .flatten();
    parsed.ok_or_else(|| BadInput::unknown(what, word, known))
}

fn values(fields: Vec<Field>, set: &[(String, Raw)]) -> Vec<(Field, String)> {
    let value = |f: &Field| match set.iter().rev().find(|s| s.0 == f.name) {
        Some((_, raw)) => raw_text(raw),
        None => f.default.clone(),
    };
    fields.into_iter().map(|f| (f.clone(), value(&f))).collect()
}

fn raw_text(raw: &Raw) -> String {
    match raw {
        Raw::Int(i) => i.to_string(),
        Raw::Float(f) => f.to_string(),
        Raw::Bool(b) => b.to_string(),
        Raw::Text(t) => t.clone(),
    }
}

/// A value as TOML: numbers and booleans bare, all else quoted.
fn toml_value(text: &str) -> String {
    if text.parse::<i64>().is_ok() || text == "true" || text == "false" {
        return text.to_owned();
    }
    toml_edit::Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
