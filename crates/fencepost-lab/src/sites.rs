//! Instructions of each compute site, from `presets/sites.toml`.

use crate::config::presets::EMBEDDED;
use crate::config::{Source, layer};
use crate::error::BadInput;
use fencepost_kernel::params::Raw;
use fencepost_programs::sites::NAMES;

/// The table, indexed by site. Every site of the programs has an entry, and nothing else has.
pub fn table() -> Result<Vec<u32>, BadInput> {
    let text = EMBEDDED
        .iter()
        .find(|e| e.0 == "presets/sites.toml")
        .map_or("", |e| e.1);
    read("presets/sites.toml", text)
}

fn read(name: &str, text: &str) -> Result<Vec<u32>, BadInput> {
    let layer = layer::parse(&Source::new(name, text))?;
    let mut table = vec![None; NAMES.iter().map(|n| usize::from(n.0.0) + 1).max().unwrap_or(0)];
    for s in &layer.settings {
        let Some((site, _)) = NAMES.iter().find(|n| n.1 == s.key && s.section == "sites") else {
            return Err(BadInput::unknown("site", &s.key, NAMES.iter().map(|n| n.1)).at(s.key_place.clone()));
        };
        let Raw::Int(count) = s.value else {
            return Err(BadInput::new("a site has a number of instructions").at(s.value_place.clone()));
        };
        table[usize::from(site.0)] = u32::try_from(count).ok();
    }
    let missing = NAMES.iter().find(|n| table[usize::from(n.0.0)].is_none());
    match missing {
        Some((_, site)) => Err(BadInput::new(format!("{name} has no valid entry for site `{site}`"))),
        None => Ok(table.into_iter().map(|n| n.unwrap_or(0)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn every_site_has_an_entry() {
        let table = table().unwrap_or_else(|e| panic!("{e}"));
        assert!(NAMES.iter().all(|n| table[usize::from(n.0.0)] > 0));
    }
    #[test]
    fn a_missing_or_unknown_site_is_named() {
        assert!(
            read("s", "[sites]\nALLOC = 3\n")
                .unwrap_err()
                .message
                .contains("no valid entry")
        );
        assert!(
            read("s", "[sites]\nALOC = 3\n")
                .unwrap_err()
                .hint
                .unwrap()
                .contains("`ALLOC`")
        );
    }
}
