//! Sequential consistency: program order and communication have no cycle.

use super::graph::{Graph, Statics};
use super::weave::Weave;
use crate::executions::relation::Rel;
use crate::paths::path::Path;

pub(super) fn statics(path: &Path) -> Statics {
    let w = Weave::new(path);
    let mut order = w.none();
    for (i, row) in order.iter_mut().enumerate().filter(|(i, _)| w.memory >> i & 1 == 1) {
        *row = w.after(i);
    }
    Statics {
        order,
        ..Statics::default()
    }
}

fn global(g: &Graph) -> Rel {
    g.order.or(&g.rf).or(&g.co).or(&g.fr)
}

pub(super) fn allows(g: &Graph) -> bool {
    global(g).acyclic()
}

pub(super) fn axioms(g: &Graph) -> Vec<(&'static str, Rel)> {
    vec![("sc", global(g))]
}
