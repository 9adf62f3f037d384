//! A machine: presets, files and settings put together, with the origin of every value.

use super::layer::Setting;
use super::parts::{General, of_design_or_program, sections};
use super::paths;
use super::presets::{self, Kind};
use super::section::{Origin, Section, apply};
use crate::error::{BadInput, LabError};
use fencepost_kernel::params::Raw;
use fencepost_machine::memory;
use fencepost_machine::{CacheSpec, MachineSpec};
use fencepost_programs::clients::ClientParams;
use std::collections::BTreeMap;

/// Where every value came from, by section and key.
pub type Origins = BTreeMap<(String, String), Origin>;

/// A machine under construction.
#[derive(Clone, Debug)]
pub struct MachineConfig {
    /// Preset or file of the machine.
    pub name: String,
    /// Preset or file of its persistent memory.
    pub media: String,
    /// Preset or file of its volatile memory.
    pub dram: String,
    /// The machine.
    pub spec: MachineSpec,
    /// Instruction cache: kept because the papers state it; without effect.
    pub l1i: CacheSpec,
    /// What clients do that persist on this machine over a network, where it has any.
    pub client: ClientParams,
    /// What belongs to no component.
    pub general: General,
    /// Origins of the values that are not defaults.
    pub origins: Origins,
    /// Settings of designs and programs that the machine's file makes (sections `design.NAME`, `program.NAME`).
    pub others: Vec<Setting>,
    /// Settings of the machine in the order in which they were applied.
    applied: Vec<Setting>,
}

/// Keys of `[run]`, which `config show` prints. A file with that section describes the machine of that run.
const RUN: [&str; 13] = [
    "program", "variant", "log", "design", "machine", "media", "dram", "threads", "ops", "warmup", "cycles", "seed",
    "ack",
];

impl MachineConfig {
    /// Loads a machine preset and the presets of its memories; `media` replaces the persistent one.
    ///
    /// What stands later wins. A medium stands before the other values of the file that names it, and the one of the
    /// command line after all files.
    pub fn load(name: &str, media: Option<&str>) -> Result<MachineConfig, LabError> {
        let layers = presets::layers(Kind::Machine, name)?;
        let mut config = MachineConfig {
            name: name.to_owned(),
            media: String::new(),
            dram: String::new(),
            spec: MachineSpec::default(),
            l1i: CacheSpec::default(),
            client: ClientParams::default(),
            general: General::default(),
            origins: Origins::new(),
            others: Vec::new(),
            applied: Vec::new(),
        };
        if layers.iter().flat_map(|l| &l.settings).any(|s| s.section == "l2") {
            config.spec.l2 = Some(CacheSpec::default());
        }
        config.apply_medium("dram", "ddr3-1600")?;
        config.apply_medium("pm", media.unwrap_or("pcm"))?;
        for layer in &layers {
            for s in &layer.settings {
                config.name_medium(s, media.is_some())?;
            }
            for s in &layer.settings {
                match s.section.as_str() {
                    "memory" | "run" => {}
                    section if of_design_or_program(section) => config.others.push(s.clone()),
                    _ => config.apply(s)?,
                }
            }
        }
        if let Some(medium) = media {
            config.apply_medium("pm", medium)?;
        }
        Ok(config)
    }

    /// Applies the medium that `[memory]` or `[run]` names; `fixed`: the persistent one is the command line's.
    fn name_medium(&mut self, s: &Setting, fixed: bool) -> Result<(), LabError> {
        let unknown = |known: &[&str]| {
            let section = format!("key of [{}]", s.section);
            let e = BadInput::unknown(&section, &s.key, known.iter().copied());
            Err(e.at(s.key_place.clone()).into())
        };
        let memory = match (s.section.as_str(), s.key.as_str()) {
            ("memory", "pm") | ("run", "media") => "pm",
            ("memory" | "run", "dram") => "dram",
            ("memory", _) => return unknown(&["dram", "pm"]),
            ("run", key) if !RUN.contains(&key) => return unknown(&RUN),
            _ => return Ok(()),
        };
        let Raw::Text(medium) = &s.value else {
            let e = BadInput::new(format!("`{}.{}` must name a medium", s.section, s.key));
            return Err(e.at(s.value_place.clone()).into());
        };
        if memory == "pm" && fixed {
            return Ok(());
        }
        let medium = presets::relative(&s.value_place.source.name, medium);
        self.apply_medium(memory, &medium).map_err(|e| match e {
            LabError::Input(b) if b.place.is_none() => b.at(s.value_place.clone()).into(),
            e => e,
        })
    }

    /// Applies one setting to a section of the machine.
    pub fn apply(&mut self, s: &Setting) -> Result<(), BadInput> {
        match s.section.as_str() {
            "" => return Err(paths::without_section(s)),
            "memory" | "run" => return Err(paths::only_in_files(s)),
            _ => {}
        }
        let mut general = self.general();
        apply(
            &mut sections(&mut self.spec, &mut self.l1i, &mut general, &mut self.client),
            s,
        )
        .map_err(|e| self.unknown_section(s).unwrap_or(e))?;
        self.spec.log_area = general.log_area;
        self.general = general;
        let origin = Origin {
            place: s.value_place.clone(),
            note: s.note.clone(),
        };
        self.origins.insert((s.section.clone(), s.key.clone()), origin);
        self.applied.push(s.clone());
        Ok(())
    }

    /// What to say of a section that this machine does not have. Designs and programs have sections too.
    fn unknown_section(&self, s: &Setting) -> Option<BadInput> {
        let sections = self.values();
        if sections.iter().any(|x| x.0 == s.section) {
            return None;
        }
        let own = sections.iter().map(|x| x.0.as_str());
        Some(paths::unknown_section(s, own.chain(["design", "program"])))
    }

    /// A medium's file has sections `media` and, where it needs them, `controller`. It replaces the one before.
    fn apply_medium(&mut self, memory: &str, name: &str) -> Result<(), LabError> {
        let (spec, medium) = match memory {
            "dram" => (&mut self.spec.dram, &mut self.dram),
            _ => (&mut self.spec.pm, &mut self.media),
        };
        (spec.media, *medium) = (memory::MediaSpec::default(), name.to_owned());
        let replaced = format!("{memory}.media");
        self.origins.retain(|(section, _), _| *section != replaced);
        self.applied.retain(|s| s.section != replaced);
        for layer in presets::layers(Kind::Media, name)? {
            for s in &layer.settings {
                if !["media", "controller"].contains(&s.section.as_str()) {
                    let e = BadInput::unknown("section of a medium", &s.section, ["media", "controller"]);
                    return Err(e.at(s.key_place.clone()).into());
                }
                let section = format!("{memory}.{}", s.section);
                self.apply(&Setting { section, ..s.clone() })?;
            }
        }
        Ok(())
    }

    /// Checks that the machine can be built; an impossible value is reported where it was set.
    ///
    /// Where two values contradict each other, that is the last one without which the machine could be built.
    pub fn validate(&self) -> Result<(), BadInput> {
        let Err((path, why)) = possible(&self.spec) else {
            return Ok(());
        };
        let blamed = (0..self.applied.len()).rev().find(|i| self.possible_without(*i));
        let Some(s) = blamed.map(|i| &self.applied[i]) else {
            let e = BadInput::new(format!("impossible value: {path}: {why}"));
            let key = path.rsplit_once('.').map(|(s, k)| (s.to_owned(), k.to_owned()));
            return Err(match key.and_then(|k| self.origins.get(&k)) {
                Some(origin) => e.at(origin.place.clone()),
                None => e,
            });
        };
        let set = format!("{}.{}", s.section, s.key);
        let e = match set == path {
            true => BadInput::new(format!("impossible value: {path}: {why}")),
            false => BadInput::new(format!("impossible value: {set} contradicts {path}: {why}")),
        };
        Err(e.at(s.value_place.clone()))
    }

    /// Whether the machine could be built without the `i`-th of the settings.
    fn possible_without(&self, i: usize) -> bool {
        let mut bare = MachineConfig {
            spec: MachineSpec {
                l2: self.spec.l2.as_ref().map(|_| CacheSpec::default()),
                ..MachineSpec::default()
            },
            l1i: CacheSpec::default(),
            client: ClientParams::default(),
            general: General::default(),
            origins: Origins::new(),
            others: Vec::new(),
            applied: Vec::new(),
            ..self.clone()
        };
        let rest = self.applied.iter().enumerate().filter(|(j, _)| *j != i);
        rest.map(|(_, s)| s).all(|s| bare.apply(s).is_ok()) && possible(&bare.spec).is_ok()
    }

    fn general(&self) -> General {
        let log_area = self.spec.log_area;
        General {
            log_area,
            ..self.general.clone()
        }
    }

    /// Every section with its parameters' names and values, in order.
    pub fn values(&self) -> Vec<(String, Vec<(&'static str, String)>)> {
        let mut copy = self.clone();
        let mut general = self.general();
        let list = sections(&mut copy.spec, &mut copy.l1i, &mut general, &mut copy.client);
        let value = |s: &dyn Section, name: &'static str| (name, s.get(name).unwrap_or_default());
        (list.iter())
            .map(|(name, s)| {
                (
                    (*name).to_owned(),
                    s.fields().iter().map(|f| value(&**s, f.name)).collect(),
                )
            })
            .collect()
    }
}

/// Whether a machine can be built, or the path of the value that is wrong and why.
fn possible(spec: &MachineSpec) -> Result<(), (String, String)> {
    spec.validate().map_err(|e| (e.path.to_owned(), e.why))?;
    for (name, m) in [("dram", &spec.dram), ("pm", &spec.pm)] {
        let wrong = |part: &str, e: &memory::SpecError| (format!("{name}.{part}.{}", memory_field(e)), e.to_string());
        m.media.validate().map_err(|e| wrong("media", &e))?;
        m.controller.validate().map_err(|e| wrong("controller", &e))?;
    }
    Ok(())
}

fn memory_field(e: &memory::SpecError) -> &'static str {
    match e {
        memory::SpecError::PowerOfTwo { field, .. } | memory::SpecError::Range { field, .. } => field,
    }
}

#[cfg(test)]
mod tests;
