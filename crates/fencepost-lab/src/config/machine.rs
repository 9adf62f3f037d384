//! The sections that make up a machine, and where each of their values came from.

use super::layer::Setting;
use super::presets::{self, Kind};
use super::section::{Origin, Section, apply};
use crate::error::{BadInput, LabError};
use fencepost_kernel::params::Raw;
use fencepost_kernel::{Bytes, params};
use fencepost_machine::memory;
use fencepost_machine::{CacheSpec, MachineSpec};
use std::collections::BTreeMap;

params! {
    /// What belongs to no component.
    pub struct General {
        /// Bytes reserved for a hardware log, at the top of persistent memory.
        log_area: Bytes = Bytes(32 << 20),
    }
}

/// Where every value came from, by section and key.
pub type Origins = BTreeMap<(String, String), Origin>;

/// A machine under construction.
#[derive(Clone, Debug)]
pub struct MachineConfig {
    /// Preset or file of the machine.
    pub word: String,
    /// Preset or file of its persistent memory.
    pub media: String,
    /// Preset or file of its volatile memory.
    pub dram: String,
    /// The machine.
    pub spec: MachineSpec,
    /// Instruction cache: kept because the papers state it; without effect.
    pub l1i: CacheSpec,
    /// Origins of the values that are not defaults.
    pub origins: Origins,
    /// Settings of designs and programs that the machine's file makes (sections `design.WORD`, `program.WORD`).
    pub others: Vec<Setting>,
}

/// Section names in the order in which they are printed; `l2` only where a machine has one.
pub const SECTIONS: [&str; 12] = [
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
];

impl MachineConfig {
    /// Loads a machine preset and the presets of its memories; `media` replaces the persistent one.
    pub fn load(word: &str, media: Option<&str>) -> Result<MachineConfig, LabError> {
        let layers = presets::layers(Kind::Machine, word)?;
        let settings = || layers.iter().flat_map(|l| &l.settings);
        let memory = |key: &str, default: &str| {
            let found = settings().rfind(|s| s.section == "memory" && s.key == key);
            match found.map(|s| (&s.value, s)) {
                Some((Raw::Text(t), _)) => Ok(t.clone()),
                Some((_, s)) => {
                    Err(BadInput::new(format!("`memory.{key}` must name a medium")).at(s.value_place.clone()))
                }
                None => Ok(default.to_owned()),
            }
        };
        let mut config = MachineConfig {
            word: word.to_owned(),
            media: media.map_or_else(|| memory("pm", "pcm"), |m| Ok(m.to_owned()))?,
            dram: memory("dram", "ddr3-1600")?,
            spec: MachineSpec::default(),
            l1i: CacheSpec::default(),
            origins: Origins::new(),
            others: Vec::new(),
        };
        if settings().any(|s| s.section == "l2") {
            config.spec.l2 = Some(CacheSpec::default());
        }
        let (others, machine): (Vec<&Setting>, Vec<&Setting>) = settings().partition(|s| is_room(&s.section));
        config.others = others.into_iter().cloned().collect();
        for s in machine.into_iter().filter(|s| s.section != "memory") {
            config.apply(s)?;
        }
        if let Some(s) = settings().find(|s| s.section == "memory" && !["pm", "dram"].contains(&s.key.as_str())) {
            return Err(BadInput::unknown("key of [memory]", &s.key, ["dram", "pm"])
                .at(s.key_place.clone())
                .into());
        }
        config.apply_medium("dram", &config.dram.clone())?;
        config.apply_medium("pm", &config.media.clone())?;
        Ok(config)
    }

    /// Applies one setting to a section of the machine.
    pub fn apply(&mut self, s: &Setting) -> Result<(), BadInput> {
        let mut general = General {
            log_area: self.spec.log_area,
        };
        apply(&mut sections(&mut self.spec, &mut self.l1i, &mut general), s).map_err(|e| self.also_rooms(s, e))?;
        self.spec.log_area = general.log_area;
        let origin = Origin {
            place: s.value_place.clone(),
            note: s.note.clone(),
        };
        self.origins.insert((s.section.clone(), s.key.clone()), origin);
        Ok(())
    }

    /// Designs and programs have sections too; a misspelt one should be told so.
    fn also_rooms(&self, s: &Setting, e: BadInput) -> BadInput {
        let sections = self.values();
        if s.section.is_empty() || sections.iter().any(|x| x.0 == s.section) {
            return e;
        }
        let known = sections
            .iter()
            .map(|x| x.0.as_str())
            .chain(["memory", "design", "program"]);
        BadInput::unknown("section", &s.section, known).at(s.key_place.clone())
    }

    /// A medium's file has sections `media` and, where it needs them, `controller`.
    fn apply_medium(&mut self, memory: &str, word: &str) -> Result<(), LabError> {
        for layer in presets::layers(Kind::Media, word)? {
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

    /// Checks that the machine can be built; an impossible size is reported where it was set.
    pub fn validate(&self) -> Result<(), BadInput> {
        self.spec.validate().map_err(|e| self.impossible(e.path, &e.why))?;
        for (name, m) in [("dram", &self.spec.dram), ("pm", &self.spec.pm)] {
            let whole = |part: &str, e: &memory::SpecError| {
                let field = memory_field(e);
                self.impossible(&format!("{name}.{part}.{field}"), &e.to_string())
            };
            m.media.validate().map_err(|e| whole("media", &e))?;
            m.controller.validate().map_err(|e| whole("controller", &e))?;
        }
        Ok(())
    }

    fn impossible(&self, path: &str, why: &str) -> BadInput {
        let e = BadInput::new(format!("impossible size: {path}: {why}"));
        let key = path.rsplit_once('.').map(|(s, k)| (s.to_owned(), k.to_owned()));
        match key.and_then(|k| self.origins.get(&k)) {
            Some(origin) => e.at(origin.place.clone()),
            None => e,
        }
    }

    /// Every section with its parameters' names and values, in order.
    pub fn values(&self) -> Vec<(String, Vec<(&'static str, String)>)> {
        let mut copy = self.clone();
        let mut general = General {
            log_area: copy.spec.log_area,
        };
        let list = sections(&mut copy.spec, &mut copy.l1i, &mut general);
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

/// Whether a section is about a design or a program instead of the machine.
pub fn is_room(section: &str) -> bool {
    let head = section.split('.').next().unwrap_or("");
    head == "design" || head == "program"
}

fn memory_field(e: &memory::SpecError) -> &'static str {
    match e {
        memory::SpecError::PowerOfTwo { field, .. } | memory::SpecError::Range { field, .. } => field,
    }
}

fn sections<'a>(
    spec: &'a mut MachineSpec,
    l1i: &'a mut CacheSpec,
    general: &'a mut General,
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
    list
}

/// Every section with its declared parameters, for the reference pages.
pub fn reference() -> Vec<(&'static str, Vec<fencepost_kernel::params::Field>)> {
    let mut spec = MachineSpec {
        l2: Some(CacheSpec::default()),
        ..MachineSpec::default()
    };
    let (mut l1i, mut general) = (CacheSpec::default(), General::default());
    sections(&mut spec, &mut l1i, &mut general)
        .into_iter()
        .map(|(n, s)| (n, s.fields()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse_set;

    #[test]
    fn every_value_of_every_preset_says_where_it_comes_from() {
        for word in presets::names(Kind::Machine) {
            let c = MachineConfig::load(word, None).unwrap_or_else(|e| panic!("{e}"));
            c.validate().unwrap_or_else(|e| panic!("{word}: {e}"));
            for (section, values) in c.values() {
                for (key, _) in values {
                    let origin = c.origins.get(&(section.clone(), key.to_owned()));
                    let note = origin.and_then(|o| o.note.as_deref()).unwrap_or("");
                    let marked = ["paper: ", "standard: ", "ours: ", "no effect: "]
                        .iter()
                        .any(|m| note.starts_with(m));
                    assert!(marked, "{word}: {section}.{key} has no mark: {note:?}");
                }
            }
        }
    }
    #[test]
    fn every_medium_stands_on_every_machine() {
        for machine in presets::names(Kind::Machine) {
            for medium in presets::names(Kind::Media) {
                MachineConfig::load(machine, Some(medium))
                    .unwrap()
                    .validate()
                    .unwrap_or_else(|e| panic!("{medium}: {e}"));
            }
        }
    }
    #[test]
    fn the_papers_values_are_in_the_presets() {
        let c = MachineConfig::load("dpo", Some("pwq")).unwrap();
        assert_eq!(
            (c.spec.core.cores, c.spec.core.rob, c.spec.llc.size),
            (8, 40, Bytes(8 << 20))
        );
        assert_eq!(
            c.spec.pm.controller.durable_at(&c.spec.pm.media),
            memory::DurableAt::Accept
        );
        assert!(c.spec.l2.is_none());
        let c = MachineConfig::load("fgc", None).unwrap();
        assert_eq!(c.spec.l2.as_ref().map(|l| l.ways), Some(8));
        assert_eq!(c.spec.pm.media.write_pulse, fencepost_kernel::Ps::from_ns(150));
    }
    #[test]
    fn impossible_sizes_are_reported_where_they_were_set() {
        for (set, place) in [
            ("l1.ways=0", "--set:1:9"),
            ("l1.size=48KiB", "--set:1:9"),
            ("pm.controller.write_queue=0", "--set:1:27"),
            ("pm.media.banks=12", "--set:1:16"),
        ] {
            let mut c = MachineConfig::load("dpo", None).unwrap();
            c.apply(&parse_set(set).unwrap()).unwrap();
            let e = c.validate().unwrap_err();
            assert_eq!(
                e.place.as_ref().map(ToString::to_string).as_deref(),
                Some(place),
                "{set}: {e}"
            );
        }
        let mut c = MachineConfig::load("dpo", None).unwrap();
        assert!(
            c.apply(&parse_set("l2.ways=4").unwrap()).is_err(),
            "this machine has no second level"
        );
    }
}
