//! Crash states: an execution, which of its stores are durable and which are lost, and the rule that forbids that.

use super::draw::{Arrow, Node, Picture, letter};
use crate::crash::{Layout, crash, traces};
use crate::executions::models::Broken;
use crate::format::condition::Atom;
use crate::paths::program::{Program, ProgramError};
use fencepost_contract::{Contract, ContractKind, CrashSpace};
use fencepost_kernel::{Image, StoreId, Trace, TraceKind};
use std::collections::BTreeSet;

/// An execution after which the test's crash condition may hold: one that the contract allows to end so, or one with the order that
/// forbids it. `None` if the condition holds in no crash state at all.
///
/// # Errors
/// If the test is too large, or the contract has no meaning for it.
pub fn crash_witness(program: &Program<'_>, kind: ContractKind) -> Result<Option<Picture>, ProgramError> {
    let layout = Layout::new(program);
    let holds = |state: &&Vec<u64>| {
        let value = |atom: &Atom| match atom {
            Atom::Memory(at) => layout.persistent().position(|w| w.at == *at).map_or(0, |i| state[i]),
            Atom::Register(..) => 0,
        };
        program.test.crash.as_ref().is_some_and(|c| c.condition.holds(&value))
    };
    let wanted = |kind| -> Result<BTreeSet<Vec<u64>>, ProgramError> {
        Ok(crash(program, kind)?.states.iter().filter(holds).cloned().collect())
    };
    let allowed = wanted(kind)?;
    let forbidden = allowed.is_empty();
    let states = if forbidden {
        wanted(ContractKind::None)?
    } else {
        allowed
    };
    let mut best: Option<Picture> = None;
    traces(program, &layout, kind, |trace, contract| {
        for state in &states {
            if best.as_ref().is_some_and(|b| forbidden != b.broken.is_none()) {
                return;
            }
            if let Some(picture) = draw(program, &layout, trace, contract, state) {
                best.get_or_insert_with(|| picture.clone());
                if picture.broken.is_some() == forbidden {
                    best = Some(picture);
                }
            }
        }
    })?;
    Ok(best)
}

/// The stores that make a crash state: those to each word up to the one whose value it has. `None` if some word never has its value.
fn durable(layout: &Layout, trace: &Trace, state: &[u64]) -> Option<Vec<bool>> {
    let mut durable = vec![false; trace.stores.len()];
    for (word, value) in layout.persistent().zip(state) {
        let here: Vec<usize> = (0..trace.stores.len())
            .filter(|s| trace.stores[*s].addr == word.addr)
            .collect();
        let last = here.iter().position(|s| trace.stores[*s].value == *value);
        match last {
            Some(last) => here[..=last].iter().for_each(|s| durable[*s] = true),
            None if *value == word.initial => {}
            None => return None,
        }
    }
    Some(durable)
}

/// Why a set of stores is no crash state: a lost store, a durable one, and the rule by which the first comes before the second.
fn broken(layout: &Layout, trace: &Trace, contract: &Contract, durable: &[bool]) -> Option<(StoreId, StoreId, String)> {
    let space = space(layout, trace, contract);
    let node = |s: usize| space.node_of.get(s).copied().flatten();
    let kept: Vec<usize> = (0..durable.len())
        .filter(|s| durable[*s] && node(*s).is_some())
        .collect();
    let lost: Vec<usize> = (0..durable.len())
        .filter(|s| !durable[*s] && node(*s).is_some())
        .collect();
    let id = |s: usize| StoreId::from_index(s);
    for (b, a) in kept.iter().flat_map(|b| lost.iter().map(move |a| (*b, *a))) {
        let (na, nb) = (node(a)?, node(b)?);
        if space.graph.is_before(na, nb) {
            let direct = space.graph.predecessors(nb).iter().find(|p| p.0 == na);
            let rule = direct.map_or("persists first".to_owned(), |p| p.1.to_string());
            return Some((id(a)?, id(b)?, rule));
        }
    }
    // What had to be durable before the youngest durable store was executed.
    let sure = |(_, cut): &(_, fencepost_contract::Cut)| kept.iter().all(|s| node(*s).is_some_and(|n| !cut.is_out(n)));
    let (point, cut) = space.cuts().find(sure)?;
    let a = lost.into_iter().find(|s| node(*s).is_some_and(|n| cut.is_in(n)))?;
    let must = space.must.iter().filter(|m| m.event < point.event);
    let rule = must.map(|m| m.axiom.to_string()).next_back().unwrap_or_default();
    Some((id(a)?, id(*kept.last()?)?, rule))
}

#[expect(clippy::too_many_lines, reason = "nodes, then arrows, then gaps: one picture")]
fn draw(program: &Program<'_>, layout: &Layout, trace: &Trace, contract: &Contract, state: &[u64]) -> Option<Picture> {
    let durable = durable(layout, trace, state)?;
    let broken = broken(layout, trace, contract, &durable);
    let test = program.test;
    let mut picture = Picture {
        title: format!("{} under {}", test.name, contract.kind),
        threads: test.threads.iter().map(|t| t.id).collect(),
        nodes: Vec::new(),
        arrows: Vec::new(),
        gaps: Vec::new(),
        note: format!("recovery finds {}: allowed", values(layout, state)),
        broken: None,
    };
    let name = |addr: fencepost_kernel::Addr| {
        let word = layout.words.iter().find(|w| w.addr == addr);
        word.map_or(String::new(), |w| w.name.clone())
    };
    let mut node_of = vec![None; trace.stores.len()];
    let mut rows = vec![0; test.threads.len()];
    let mut newest: Vec<Option<usize>> = vec![None; test.threads.len()];
    for event in &trace.events {
        let thread = event.thread.map_or(usize::MAX, |t| t.index());
        if thread >= rows.len() {
            continue;
        }
        let written = |store: StoreId| {
            let (info, kept) = (&trace.stores[store.index()], durable[store.index()]);
            let persistent = layout.persistent().any(|w| w.addr == info.addr);
            let fate = match (persistent, kept) {
                (false, _) => "",
                (true, true) => " durable",
                (true, false) => " lost",
            };
            let how = if info.nt { "W nt" } else { "W" };
            (
                format!("{how} {}={}{fate}", name(info.addr), info.value),
                persistent && !kept,
            )
        };
        let value = |from: Option<StoreId>, addr| match from {
            Some(s) => trace.stores[s.index()].value,
            None => layout.words.iter().find(|w| w.addr == addr).map_or(0, |w| w.initial),
        };
        let n = picture.nodes.len();
        let (label, faint, from) = match event.kind {
            TraceKind::Store(store) => {
                node_of[store.index()] = Some(n);
                let (label, faint) = written(store);
                (label, faint, None)
            }
            TraceKind::Load { addr, from } => (format!("R {}={}", name(addr), value(from, addr)), false, from),
            TraceKind::Rmw { addr, from, store } => {
                let mut label = format!("R {}={}", name(addr), value(from, addr));
                let mut faint = false;
                if let Some(store) = store {
                    node_of[store.index()] = Some(n);
                    let (write, lost) = written(store);
                    (label, faint) = (format!("{label}, {write}"), lost);
                }
                (label, faint, from)
            }
            TraceKind::Flush { line, kind } => {
                let words = layout.words.iter().filter(|w| w.addr.line() == line);
                let words: Vec<&str> = words.map(|w| w.name.as_str()).collect();
                (format!("{kind:?} {}", words.join(",")).to_lowercase(), false, None)
            }
            TraceKind::Fence(fence) => (format!("{fence:?}").to_lowercase(), false, None),
            _ => continue,
        };
        picture.nodes.push(Node {
            thread,
            row: rows[thread],
            label: format!("{}: {label}", letter(n)),
            faint,
            durable: None,
        });
        rows[thread] += 1;
        let mut arrow = |from: usize, name: &str| {
            picture.arrows.push(Arrow {
                from,
                to: n,
                name: name.to_owned(),
                cycle: false,
            });
        };
        if let Some(before) = newest[thread].replace(n) {
            arrow(before, "po");
        }
        if let Some(from) = from.and_then(|s| node_of[s.index()]) {
            arrow(from, "rf");
        }
    }
    let persistent = |s: &usize| layout.persistent().any(|w| w.addr == trace.stores[*s].addr);
    for store in (0..trace.stores.len()).filter(persistent) {
        if let Some(n) = node_of[store] {
            picture.nodes[n].durable = Some(durable[store]);
        }
    }
    ordered(
        &mut picture,
        layout,
        (trace, contract),
        &node_of,
        broken.as_ref().map(|b| (b.0, b.1)),
    );
    if let Some((a, b, rule)) = broken
        && let (Some(from), Some(to)) = (node_of[a.index()], node_of[b.index()])
    {
        picture.note = format!(
            "recovery finds {}: forbidden by {}, {} is not durable without {} ({rule})",
            values(layout, state),
            contract.kind,
            letter(to),
            letter(from)
        );
        picture.arrows.push(Arrow {
            from,
            to,
            name: rule,
            cycle: true,
        });
        picture.broken = Some(Broken {
            axiom: contract.kind.name(),
            cycle: vec![from, to],
        });
    }
    Some(picture)
}

/// Draws what the contract orders, but for `forbidden`, and marks where nothing orders a lost store before a durable one of its thread.
fn ordered(
    picture: &mut Picture,
    layout: &Layout,
    (trace, contract): (&Trace, &Contract),
    node_of: &[Option<usize>],
    forbidden: Option<(StoreId, StoreId)>,
) {
    let space = space(layout, trace, contract);
    let stores: Vec<(usize, usize)> = (0..trace.stores.len()).filter_map(|s| Some((s, node_of[s]?))).collect();
    let before = |a: usize, b: usize| match (space.node_of.get(a), space.node_of.get(b)) {
        (Some(Some(a)), Some(Some(b))) => a != b && space.graph.is_before(*a, *b),
        _ => false,
    };
    let reduced = |a: usize, b: usize| before(a, b) && !stores.iter().any(|(c, _)| before(a, *c) && before(*c, b));
    for (a, from) in &stores {
        for (b, to) in &stores {
            if !reduced(*a, *b) || forbidden.is_some_and(|f| (f.0.index(), f.1.index()) == (*a, *b)) {
                continue;
            }
            let (na, nb) = (space.node_of[*a], space.node_of[*b]);
            let steps = nb.map_or(&[][..], |n| space.graph.predecessors(n));
            let direct = steps.iter().find(|p| Some(p.0) == na).map(|p| p.1.to_string());
            picture.arrows.push(Arrow {
                from: *from,
                to: *to,
                name: direct.unwrap_or_else(|| "persists first".into()),
                cycle: false,
            });
        }
    }
    if forbidden.is_some() {
        return;
    }
    let fate = |n: usize| picture.nodes[n].durable;
    let place = |n: usize| (picture.nodes[n].thread, picture.nodes[n].row);
    let mut gaps = Vec::new();
    for (b, to) in stores.iter().filter(|s| fate(s.1) == Some(true)) {
        let older = |a: &&(usize, usize)| place(a.1).0 == place(*to).0 && place(a.1).1 < place(*to).1;
        let open = |a: &&(usize, usize)| fate(a.1) == Some(false) && !before(a.0, *b);
        gaps.extend(stores.iter().filter(older).rfind(open).map(|a| [a.1, *to]));
    }
    picture.gaps = gaps;
}

/// The crash states of an execution, from the test's own initial values.
fn space(layout: &Layout, trace: &Trace, contract: &Contract) -> CrashSpace {
    let mut initial = Image::default();
    for word in layout.persistent() {
        initial.set_word(word.addr, word.initial, None);
    }
    contract.space(trace, &initial)
}

fn values(layout: &Layout, state: &[u64]) -> String {
    let parts = layout.persistent().zip(state);
    parts
        .map(|(w, v)| format!("{}={v}", w.name))
        .collect::<Vec<_>>()
        .join(" ")
}
