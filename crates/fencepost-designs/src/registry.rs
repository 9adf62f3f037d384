//! The registry: every design by its word. Adding a design is its room and one line in [`all`].

use fencepost_contract::{Contract, ContractKind};
use fencepost_kernel::params::{Field, ParamError, Params, Raw};
use fencepost_kernel::{Dialect, Ps};
use fencepost_machine::seam::Design;

/// Every registered design, in the order in which lists and tables print them.
pub fn all() -> &'static [DesignInfo] {
    #[rustfmt::skip] // one design, one line
    static ALL: &[DesignInfo] = &[
        crate::volatile::INFO,
        crate::so::INFO,
        crate::so_adr::INFO,
        crate::delegated::INFO,
        crate::delegated_merge::INFO,
        crate::x86::INFO,
        crate::x86::ideal::INFO,
        crate::themis::INFO,
        crate::themis::llc::INFO,
        crate::loc::s_wal::INFO,
        crate::loc::h_wal::INFO,
        crate::loc::ec_wal::INFO,
        crate::loc::loc_wal::INFO,
        crate::loc::kiln::INFO,
        crate::loc::loc_kiln::INFO,
    ];
    ALL
}

/// The design with this word.
pub fn find(word: &str) -> Option<&'static DesignInfo> {
    all().iter().find(|d| d.word == word)
}

/// What a design's dialect and contract depend on besides the design itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Setting {
    /// Whether the memory makes a write durable when its controller accepts it (persistent write queue, ADR).
    pub durable_on_accept: bool,
    /// Whether the cores keep total store order; otherwise they are relaxed as ARMv7 is.
    pub tso: bool,
}
impl Setting {
    /// All four settings.
    pub const ALL: [Setting; 4] = [
        Setting::new(false, false),
        Setting::new(false, true),
        Setting::new(true, false),
        Setting::new(true, true),
    ];
    /// A setting.
    pub const fn new(durable_on_accept: bool, tso: bool) -> Setting {
        Setting { durable_on_accept, tso }
    }
}

/// Sizes of the machine that a design's structures follow.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MachineShape {
    /// Hardware threads.
    pub harts: u8,
    /// Cores; harts are spread evenly, siblings share the private caches.
    pub cores: u8,
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
}
impl Default for MachineShape {
    /// The machine of the delegated-ordering paper's Table II: 8 single-threaded cores, 64 KiB L1, 8 MiB shared level.
    fn default() -> Self {
        MachineShape {
            harts: 8,
            cores: 8,
            l1_lines: 1024,
            l2_lines: 0,
            llc_lines: 131_072,
            address_bits: 48,
            cycle: Ps(500),
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

/// One line of a design's storage bill.
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

/// Parameter settings by name, as configuration files write them; unnamed parameters keep their defaults.
pub type Settings<'a> = &'a [(String, Raw)];

/// One design: its word and its five faces.
#[derive(Copy, Clone)]
pub struct DesignInfo {
    /// The word on the command line and in configuration files.
    pub word: &'static str,
    /// One sentence for lists.
    pub summary: &'static str,
    /// Source text of the room; its leading doc comment is the design's page (see [`DesignInfo::page`]).
    pub source: &'static str,
    /// Where it was published.
    pub paper: Paper,
    /// What software writes on this design.
    pub dialect: fn(Setting) -> Dialect,
    /// Word of the contract that a run is held to.
    pub contract: fn(Setting) -> &'static str,
    /// Whether the mechanism can keep that contract in this setting. False marks a combination that is run to be
    /// convicted (`so-adr` on a memory that is durable only at the device).
    pub sound: fn(Setting) -> bool,
    /// Every parameter with its default.
    pub params: fn() -> Vec<Field>,
    /// Builds the mechanism.
    pub build: fn(Settings<'_>, MachineShape) -> Result<Box<dyn Design>, ParamError>,
    /// Computes the storage bill.
    pub cost: fn(Settings<'_>, MachineShape) -> Result<Vec<CostItem>, ParamError>,
    /// Whether the contract lets unordered persists pass one another, so that a test must see it happen.
    pub relaxed: bool,
    /// Word of the logging runtime that software uses on it unless a run says otherwise; `None` leaves that to the program.
    pub log: Option<&'static str>,
}

/// A design's page: the leading doc comment of its room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// First line.
    pub title: String,
    /// Headings with their text, in order.
    pub sections: Vec<(String, String)>,
}
/// The headings every page has.
pub const PAGE_HEADINGS: [&str; 7] = [
    "Idea",
    "Paper",
    "Where order is kept",
    "Durable at",
    "Contract",
    "Hardware cost",
    "Deviations",
];

impl DesignInfo {
    /// The contract that a run in this setting is held to.
    ///
    /// # Panics
    /// If the room names a contract that does not exist; a test of this crate makes sure that none does.
    pub fn contract_of(&self, setting: Setting) -> Contract {
        let word = (self.contract)(setting);
        let kind: ContractKind = word.parse().expect("rooms name contracts that exist");
        kind.into()
    }
    /// The page, read from the room's doc comment.
    pub fn page(&self) -> Page {
        let lines = self.source.lines().map_while(|l| l.strip_prefix("//!"));
        let mut page = Page {
            title: String::new(),
            sections: Vec::new(),
        };
        for line in lines.map(|l| l.strip_prefix(' ').unwrap_or(l)) {
            if let Some(heading) = line.strip_prefix("# ") {
                page.sections.push((heading.to_string(), String::new()));
            } else if let Some((_, text)) = page.sections.last_mut() {
                text.push_str(line);
                text.push('\n');
            } else if page.title.is_empty() {
                page.title = line.to_string();
            }
        }
        for (_, text) in &mut page.sections {
            *text = text.trim().to_string();
        }
        page
    }
}

/// Applies settings to a parameter struct.
pub fn configure<P: Params>(settings: Settings<'_>) -> Result<P, ParamError> {
    let mut params = P::default();
    for (name, raw) in settings {
        params.set(name, raw)?;
    }
    Ok(params)
}

/// For designs without parameters: any setting is an unknown name.
pub fn no_params(settings: Settings<'_>) -> Result<(), ParamError> {
    match settings.first() {
        None => Ok(()),
        Some((name, _)) => Err(ParamError::Unknown {
            name: name.clone(),
            known: Vec::new(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn words_are_unique_and_found() {
        let words: BTreeSet<_> = all().iter().map(|d| d.word).collect();
        assert_eq!(words.len(), all().len());
        for d in all() {
            assert_eq!(find(d.word).map(|f| f.summary), Some(d.summary));
        }
        assert!(find("no-such-design").is_none());
    }

    #[test]
    fn every_page_has_every_heading_with_text() {
        for d in all() {
            let page = d.page();
            assert!(
                page.title.contains(&format!("`{}`", d.word)),
                "{}: title {:?}",
                d.word,
                page.title
            );
            let headings: Vec<_> = page.sections.iter().map(|s| s.0.as_str()).collect();
            assert_eq!(headings, PAGE_HEADINGS, "{}", d.word);
            for (heading, text) in &page.sections {
                assert!(text.len() > 5, "{}: `{heading}` is empty", d.word);
            }
        }
    }

    #[test]
    fn every_design_builds_with_defaults_and_refuses_unknown_parameters() {
        for d in all() {
            assert!((d.build)(&[], MachineShape::default()).is_ok(), "{}", d.word);
            let bad = [("no-such-parameter".to_string(), Raw::Int(1))];
            let refused = (d.build)(&bad, MachineShape::default()).err();
            assert!(matches!(refused, Some(ParamError::Unknown { .. })), "{}", d.word);
            for field in (d.params)() {
                let given = [(field.name.to_string(), Raw::Text(field.default.clone()))];
                assert!(
                    (d.build)(&given, MachineShape::default()).is_ok(),
                    "{}: {}",
                    d.word,
                    field.name
                );
            }
        }
    }

    #[test]
    fn dialects_carry_the_words_of_their_designs() {
        for d in all() {
            for setting in Setting::ALL {
                assert_eq!((d.dialect)(setting).name, d.word);
                assert_eq!(d.contract_of(setting).kind.word(), (d.contract)(setting));
            }
        }
    }

    #[test]
    fn every_room_of_this_crate_is_registered() {
        let rooms = include_str!("lib.rs")
            .lines()
            .filter_map(|l| l.strip_prefix("pub mod ")?.strip_suffix(';'))
            .filter(|m| !["registry", "testkit"].contains(m));
        let table = include_str!("registry.rs");
        for room in rooms {
            assert!(
                table.contains(&format!("crate::{room}::")),
                "room `{room}` has no line in the registry"
            );
        }
    }
}
