//! What a design stores follows the machine that it is on and the sizes that it is given.

use fencepost_designs::info::MachineShape;
use fencepost_designs::{DesignInfo, all};
use fencepost_kernel::params::Raw;

/// Bits in all; `None` where there is no such design.
fn bits(design: &DesignInfo, values: &[(String, Raw)], shape: MachineShape) -> Option<u64> {
    let items = (design.cost)(values, shape).ok()?;
    Some(items.iter().map(|i| i.bits).sum())
}

/// Those whose storage is all in the memory controllers.
const IN_CONTROLLERS: [&str; 3] = ["global-commit", "per-task-commit", "per-task-commit-dram-cache"];

#[test]
fn the_cost_follows_the_machine() {
    let usual = MachineShape::default();
    let quarter = MachineShape {
        hw_threads: usual.hw_threads / 4,
        cores: usual.cores / 4,
        l1_lines: usual.l1_lines / 4,
        llc_lines: usual.llc_lines / 4,
        ..usual
    };
    let shared = MachineShape {
        hw_threads: 4 * usual.hw_threads,
        ..usual
    };
    let mut same = Vec::new();
    for design in all().iter().filter(|d| !IN_CONTROLLERS.contains(&d.name)) {
        let of = |shape| bits(design, &[], shape);
        if of(usual) != Some(0) && of(usual) == of(quarter) && of(usual) == of(shared) {
            same.push(design.name);
        }
    }
    assert_eq!(same, [""; 0]);
}

/// Numbers that are no storage of the design's own: what is computed with others, policies, what tests set, and queues and buffers
/// that a machine without the design has as well.
const NO_STORAGE: [&str; 13] = [
    "filter_hashes",
    "speculation_degree",
    "sigma",
    "low_utilisation",
    "ask_at",
    "abort_every",
    "abort_seed",
    "first_name",
    "log_buffer",
    "wcb_entries",
    "queue",
    "entries",
    "module_entries",
];
/// Names among these that are storage elsewhere.
const STORAGE_ALL_THE_SAME: [(&str, &str); 4] = [
    ("themis", "wcb_entries"),
    ("delegated", "entries"),
    ("broi", "entries"),
    ("epoch", "entries"),
];

#[test]
fn the_cost_follows_the_sizes_of_the_design() {
    let mut same = Vec::new();
    for design in all() {
        let is_storage = |name| !NO_STORAGE.contains(&name) || STORAGE_ALL_THE_SAME.contains(&(design.name, name));
        // Servers of clients come in two kinds.
        let servers = [None, Some(("server".to_owned(), Raw::Text("broi".to_owned())))];
        let follows = |name: &str, default: i64, server: &Option<(String, Raw)>| {
            let with = |more: Option<(String, Raw)>| {
                let values: Vec<(String, Raw)> = server.iter().cloned().chain(more).collect();
                bits(design, &values, MachineShape::default())
            };
            let set = |n| with(Some((name.to_owned(), Raw::Int(n))));
            let usual = with(None);
            let others = [default + 1, default * 2, default / 2].map(set);
            usual.is_some() && others.into_iter().any(|b| b.is_some() && b != usual)
        };
        for field in (design.params)().iter().filter(|f| f.kind == "a whole number") {
            let Ok(default) = field.default.parse() else { continue };
            if is_storage(field.name) && !servers.iter().any(|s| follows(field.name, default, s)) {
                same.push(format!("{}.{}", design.name, field.name));
            }
        }
    }
    assert_eq!(same, [""; 0]);
}
