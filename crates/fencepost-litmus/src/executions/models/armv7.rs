//! ARMv7: `arm.cat` of herding cats, and its multi-copy-atomic variant.

use super::graph::{Graph, Statics};
use super::power;
use super::weave::Weave;
use crate::executions::relation::{Rel, bits, low};
use crate::format::op::Barrier;
use crate::paths::path::Path;

/// All fences are strong. Acquires and releases, which ARMv7 has not, order as fences would, on their one side.
pub(super) fn statics(path: &Path) -> Statics {
    let w = Weave::new(path);
    let (reads, writes, all) = (w.reads, w.writes, w.memory);
    let mut strong = w.none();
    w.fences(&mut strong, |barrier| match barrier {
        Barrier::Full | Barrier::FullSync | Barrier::Light => Some((all, all)),
        Barrier::Store | Barrier::StoreSync | Barrier::Sfence | Barrier::Eieio => Some((writes, writes)),
        Barrier::Load | Barrier::LoadSync | Barrier::Lfence => Some((reads, all)),
        _ => None,
    });
    for i in bits(all) {
        let order = path.events[i].order;
        if order.acquire || order.acquire_pc {
            strong[i] |= w.after(i);
        }
        if order.release {
            bits(low(i) & all).for_each(|j| strong[j] |= 1 << i);
        }
    }
    Statics {
        strong,
        ..power::statics(path, false)
    }
}

pub(super) fn allows(g: &Graph) -> bool {
    power::allows(g)
}

pub(super) fn axioms(g: &Graph) -> Vec<(&'static str, Rel)> {
    power::axioms(g)
}

/// Where a store reaches all other threads at once, one order of all accesses is enough.
fn global(g: &Graph) -> Rel {
    power::preserved(g).or(&g.strong).or(&g.communication())
}

pub(super) fn allows_mca(g: &Graph) -> bool {
    global(g).acyclic()
}

pub(super) fn axioms_mca(g: &Graph) -> Vec<(&'static str, Rel)> {
    vec![("order", global(g))]
}
