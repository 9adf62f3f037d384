//! Total store order: a load may overtake earlier stores of its thread, nothing else is reordered. Non-temporal stores are
//! ordered with other stores by fences only, and by their location.

use super::graph::{Graph, Statics};
use super::weave::Weave;
use crate::executions::relation::{Rel, bits};
use crate::format::op::Barrier;
use crate::paths::path::Path;

pub(super) fn statics(path: &Path) -> Statics {
    let w = Weave::new(path);
    let nt = bits(w.writes).filter(|i| path.events[*i].nt).fold(0, |s, i| s | 1 << i);
    let mut order = w.none();
    for i in bits(w.reads) {
        order[i] = w.after(i);
    }
    let po_loc = if nt == 0 { w.none() } else { w.po_loc() };
    for i in bits(w.writes) {
        let later = w.after(i) & w.writes;
        order[i] = if nt >> i & 1 == 1 { 0 } else { later & !nt } | later & po_loc[i];
    }
    let all = w.memory;
    w.fences(&mut order, |barrier| match barrier {
        Barrier::Full | Barrier::FullSync => Some((all, all)),
        Barrier::Sfence | Barrier::Store | Barrier::StoreSync => Some((w.writes, w.writes)),
        _ => None,
    });
    Statics {
        order,
        ..Statics::default()
    }
}

fn global(g: &Graph) -> Rel {
    let mut rel = g.external(&g.rf);
    rel.join(&g.order);
    rel.join(&g.co);
    rel.join(&g.fr);
    rel
}

pub(super) fn allows(g: &Graph) -> bool {
    global(g).acyclic()
}

pub(super) fn axioms(g: &Graph) -> Vec<(&'static str, Rel)> {
    vec![("tso", global(g))]
}
