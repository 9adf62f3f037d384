//! Tests made from cycles of relations, as diy makes them: program order with each fence and flush, dependences, and communication
//! between threads.

mod cycle;
mod edge;
mod emit;
mod plan;

pub use cycle::{Cycle, Edge};
pub use edge::{Com, Direction, Link, persist_links, visible_links};
pub use emit::{emit, name};

use crate::crash::crash;
use crate::format::parse::parse;
use crate::format::test::Arch;
use crate::paths::program::Program;
use fencepost_contract::ContractKind;

/// Which cycles become tests.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// Edges at most.
    pub edges: usize,
    /// Threads at most.
    pub threads: usize,
}

/// Tests of an instruction set, each with its name: every skeleton, its program order plain, then strengthened with each link
/// wherever that fits and elsewhere nothing or the strongest fence.
pub fn suite(arch: Arch, size: Size) -> Vec<(String, String)> {
    let links = visible_links(arch);
    let strongest = links[1];
    let mut out: Vec<(String, String)> = Vec::new();
    for skeleton in Cycle::skeletons(size.edges, size.threads, false) {
        for (link, otherwise) in links.iter().flat_map(|l| [(*l, Link::Po), (*l, strongest)]) {
            add(&skeleton.uniform(link, otherwise), arch, &mut out);
        }
    }
    out
}

/// The crash tests of the suite: every skeleton of up to `edges` edges in which recovery takes part, on x86.
pub fn crash_suite(edges: usize, threads: usize) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for skeleton in Cycle::skeletons(edges, threads, true) {
        for link in persist_links() {
            add(&skeleton.uniform(*link, Link::Po), Arch::X86, &mut out);
        }
    }
    out
}

fn add(cycle: &Cycle, arch: Arch, out: &mut Vec<(String, String)>) {
    let Some(text) = emit(cycle, arch) else { return };
    let name = name(cycle);
    if !out.iter().any(|(n, _)| *n == name) {
        out.push((name, text));
    }
}

/// The smallest x86 tests that tell two contracts apart: their crash condition may hold under `allows` and never under `forbids`.
pub fn between(allows: ContractKind, forbids: ContractKind, count: usize) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for threads in 1..=2 {
        for skeleton in Cycle::skeletons(6, threads, true) {
            // Of tests that differ in their links only, two are enough.
            let mut here = 0;
            for cycle in skeleton.filled(persist_links()) {
                if found.len() == count {
                    return found;
                }
                if here == 2 {
                    break;
                }
                let Some(text) = emit(&cycle, Arch::X86) else { continue };
                let name = name(&cycle);
                if tells_apart(&text, allows, forbids) && !found.iter().any(|(n, _)| *n == name) {
                    found.push((name, text));
                    here += 1;
                }
            }
        }
    }
    found
}

fn tells_apart(text: &str, allows: ContractKind, forbids: ContractKind) -> bool {
    let Ok(test) = parse(text) else { return false };
    let Ok(program) = Program::new(&test) else { return false };
    let seen = |kind| crash(&program, kind).is_ok_and(|c| c.positive > 0);
    seen(allows) && !seen(forbids)
}
