//! Sizes of programs: small structures for explorations.

use crate::config::Resolved;
use crate::error::LabError;
use crate::request::Request;
use crate::simulate::program_of;
use fencepost_programs::programs;

/// The request with the program's small structures, and the settings that make them small; as asked for where the request chooses
/// one of those sizes itself, or the program cannot do that much work on them. A recovery reads the whole structure: tens of thousands
/// of preloaded keys take the time in which a small one is explored whole, and keep the threads apart.
pub fn small_structures(request: &Request) -> Result<(Resolved, Vec<String>), LabError> {
    let as_asked = Resolved::resolve(request)?;
    let about = programs().into_iter().find(|p| p.name == as_asked.program_word());
    let small = about.map_or(&[][..], |p| p.small);
    let chosen = |set: &String| {
        let path = set.split_once('=').map_or("", |(path, _)| path);
        let name = path.strip_prefix("program.").and_then(|p| p.rsplit('.').next());
        name.is_some_and(|name| small.iter().any(|s| s.0 == name))
    };
    if small.is_empty() || request.sets.iter().any(chosen) {
        return Ok((as_asked, Vec::new()));
    }
    let added: Vec<String> = small
        .iter()
        .map(|(name, value)| format!("program.{name}={value}"))
        .collect();
    let smaller = Request {
        sets: [&added[..], &request.sets].concat(),
        ..request.clone()
    };
    match Resolved::resolve(&smaller) {
        Ok(resolved) if program_of(&resolved).is_ok() => Ok((resolved, added)),
        _ => Ok((as_asked, Vec::new())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explorations_take_small_structures_unless_sizes_are_chosen() {
        let request = |sets: &[&str]| Request {
            program: "hashmap".into(),
            design: "so".into(),
            ops: 4,
            sets: sets.iter().map(|s| (*s).to_owned()).collect(),
            ..Request::default()
        };
        let (small, added) = small_structures(&request(&[])).unwrap();
        assert!(added.contains(&"program.preload=3".to_owned()));
        assert_eq!(small.request.sets, added, "replay ids name them");
        for chosen in ["program.preload=7", "program.hashmap.keys=100"] {
            let (asked, added) = small_structures(&request(&[chosen])).unwrap();
            assert!(added.is_empty() && asked.request.sets == [chosen]);
        }
        let (_, added) = small_structures(&request(&["program.batch=2", "core.cores=2"])).unwrap();
        assert!(
            added.contains(&"program.preload=3".to_owned()),
            "neither is a size of the structure"
        );
    }
}
