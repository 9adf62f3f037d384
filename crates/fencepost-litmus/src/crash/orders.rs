//! Persist orders straight from the relations of an execution, for contracts that follow consistency: strict persistency over a
//! model, and RCBSP. What [`super::states`] finds by way of traces must be the same.

use super::layout::Layout;
use crate::executions::execution::{Flow, Solution};
use crate::executions::models::{Graph, Model, preserved};
use crate::executions::relation::{Rel, bits};
use crate::paths::program::{Program, ProgramError};
use std::collections::BTreeSet;

/// The order in which an execution's writes become durable under strict persistency over a model.
pub(super) fn strict(model: Model, g: &Graph) -> Rel {
    let order = match model {
        Model::Sc => g.order.or(&g.rf).or(&g.co).or(&g.fr).plus(),
        Model::Tso => g.order.or(&g.external(&g.rf)).or(&g.co).or(&g.fr).plus(),
        Model::Aarch64 => g.order.or(&g.communication()).plus(),
        Model::Armv7Mca => preserved(g).or(&g.strong).or(&g.communication()).plus(),
        Model::Armv7 | Model::Ppc => return non_mca(g),
    };
    order.or(&g.co).plus().between(g.writes, g.writes)
}

/// PMO = (co | (prop;hb* & W×W))+ of a model that is not multi-copy-atomic, every fence strong.
fn non_mca(g: &Graph) -> Rel {
    let rfe = g.external(&g.rf);
    let fence = g.strong.or(&g.light);
    let hb_star = preserved(g).or(&fence).or(&rfe).star();
    let base = rfe.reflexive().then(&fence).then(&hb_star);
    let com = g.co.or(&g.rf).or(&g.fr);
    let strong = com.star().then(&base.star()).then(&g.strong).then(&hb_star);
    let prop = base.between(g.writes, g.writes).or(&strong);
    g.co.or(&prop.then(&hb_star).between(g.writes, g.writes)).plus()
}

/// Every crash state under strict persistency over a model: closed sets of its persist order.
///
/// # Errors
/// If there are too many candidates.
pub fn crash_states(program: &Program<'_>, layout: &Layout, model: Model) -> Result<BTreeSet<Vec<u64>>, ProgramError> {
    let mut states = BTreeSet::new();
    program.executions(model, |solution| {
        closed_sets(solution, layout, &strict(model, solution.graph), &mut states);
        Flow::Go
    })?;
    Ok(states)
}

fn closed_sets(solution: &Solution<'_>, layout: &Layout, order: &Rel, states: &mut BTreeSet<Vec<u64>>) {
    let durable = |w: &usize| {
        let word = layout.index(solution.event(*w).1.addr);
        word.is_some_and(|w| layout.words[w].persistent)
    };
    let writes: Vec<usize> = bits(solution.graph.writes).filter(durable).collect();
    let before = order.inverse();
    extend(solution, layout, &before, &writes, 0, 0, states);
}

/// Decides the writes one by one, each in or out, and drops sets that are not closed.
fn extend(
    solution: &Solution<'_>,
    layout: &Layout,
    before: &Rel,
    writes: &[usize],
    inside: u64,
    outside: u64,
    states: &mut BTreeSet<Vec<u64>>,
) {
    let Some((w, rest)) = writes.split_first() else {
        let state = layout.persistent().map(|word| {
            let here = bits(inside).filter(|w| solution.event(*w).1.addr == word.at);
            let newest = here.max_by_key(|w| (solution.graph.co.row(*w) & inside == 0, *w));
            newest.map_or(word.initial, |w| solution.event(w).1.value)
        });
        states.insert(state.collect());
        return;
    };
    let after_inside = (0..solution.graph.n).any(|v| inside >> v & 1 == 1 && before.has(v, *w));
    if before.row(*w) & outside == 0 {
        extend(solution, layout, before, rest, inside | 1 << w, outside, states);
    }
    if !after_inside {
        extend(solution, layout, before, rest, inside, outside | 1 << w, states);
    }
}
