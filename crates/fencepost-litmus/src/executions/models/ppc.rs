//! Power: `ppc.cat` of herding cats.

use super::graph::{Graph, Statics};
use super::power;
use super::weave::Weave;
use crate::format::op::Barrier;
use crate::paths::path::Path;

pub(super) fn statics(path: &Path) -> Statics {
    let w = Weave::new(path);
    let (reads, writes, all) = (w.reads, w.writes, w.memory);
    let (mut strong, mut light) = (w.none(), w.none());
    w.fences(&mut strong, |barrier| match barrier {
        Barrier::Full | Barrier::FullSync => Some((all, all)),
        _ => None,
    });
    w.fences(&mut light, |barrier| match barrier {
        Barrier::Light => Some((all, writes)),
        Barrier::Eieio | Barrier::Store | Barrier::StoreSync | Barrier::Sfence => Some((writes, writes)),
        Barrier::Load | Barrier::LoadSync | Barrier::Lfence => Some((reads, all)),
        _ => None,
    });
    w.fences(&mut light, |barrier| match barrier {
        Barrier::Light => Some((reads, all)),
        _ => None,
    });
    Statics {
        strong,
        light,
        ..power::statics(path, true)
    }
}

pub(super) fn allows(g: &Graph) -> bool {
    power::allows(g)
}

pub(super) fn axioms(g: &Graph) -> Vec<(&'static str, crate::executions::relation::Rel)> {
    power::axioms(g)
}
