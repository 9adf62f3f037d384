//! What Power and ARMv7 share: preserved program order and the axioms of Alglave, Maranget and Tautschnig (TOPLAS'14).

use super::graph::{Graph, Rows, Statics};
use super::weave::Weave;
use crate::executions::relation::{Rel, bits};
use crate::paths::path::Path;

/// Everything but fences. Power keeps program order to one location in `cc`, ARMv7 does not.
pub(super) fn statics(path: &Path, cc_po_loc: bool) -> Statics {
    let w = Weave::new(path);
    let mut data = w.none();
    w.needed(&mut data, |n| n.addr, w.memory);
    w.needed(&mut data, |n| n.data, w.writes);
    let po_loc = w.po_loc();
    let mut cc = data.clone();
    if cc_po_loc {
        super::weave::add(&mut cc, &po_loc);
    }
    // A choice between values is a dependence of control.
    w.needed(&mut cc, |n| n.ctrl | n.pick, w.memory);
    w.address_then(&mut cc, w.memory);
    let mut ci = w.none();
    w.needed(&mut ci, |n| n.isync_ctrl | n.isync_pick, w.memory);
    let exclusives = bits(w.memory)
        .filter(|i| path.events[*i].exclusive)
        .fold(0, |s, i| s | 1 << i);
    let mut exclusive: Rows = w.none();
    for i in bits(exclusives) {
        exclusive[i] = w.after(i) & exclusives;
    }
    Statics {
        data,
        cc,
        ci,
        exclusive,
        po_loc,
        ..Statics::default()
    }
}

/// Preserved program order.
pub(crate) fn preserved(g: &Graph) -> Rel {
    let (rfe, fre) = (g.external(&g.rf), g.external(&g.fr));
    let coe = g.external(&g.co);
    let rdw = g.po_loc.and(&fre.then(&rfe));
    let detour = g.po_loc.and(&coe.then(&rfe));
    let mut ci = g.ci.or(&detour);
    let mut ii = g.data.or(&g.internal(&g.rf)).or(&rdw);
    let mut cc = g.cc;
    let mut ic = Rel::empty(g.n);
    loop {
        let mut grew = false;
        let new_ii = ci.or(&ic.then(&ci)).or(&ii.then(&ii));
        grew |= ii.join(&new_ii);
        let new_ic = ii.or(&cc).or(&ic.then(&cc)).or(&ii.then(&ic));
        grew |= ic.join(&new_ic);
        let new_ci = ci.then(&ii).or(&cc.then(&ci));
        grew |= ci.join(&new_ci);
        let new_cc = ci.or(&ci.then(&ic)).or(&cc.then(&cc));
        grew |= cc.join(&new_cc);
        if !grew {
            break;
        }
    }
    ii.between(g.reads, g.reads).or(&ic.between(g.reads, g.writes))
}

/// The axioms: no thin air, propagation, observation, exclusives.
pub(super) fn axioms(g: &Graph) -> Vec<(&'static str, Rel)> {
    let mut out = Vec::with_capacity(4);
    walk(g, |name, rel| {
        out.push((name, *rel));
        true
    });
    out
}

/// Whether all axioms hold.
pub(super) fn allows(g: &Graph) -> bool {
    walk(g, |_, rel| rel.acyclic())
}

fn walk(g: &Graph, mut check: impl FnMut(&'static str, &Rel) -> bool) -> bool {
    let (rfe, fre, coe) = (g.external(&g.rf), g.external(&g.fr), g.external(&g.co));
    let fence = g.strong.or(&g.light);
    let happens_before = preserved(g).or(&fence).or(&rfe);
    if !check("no-thin-air", &happens_before) {
        return false;
    }
    if !fence.is_empty() {
        let hb_star = happens_before.star();
        let base = fence.or(&rfe.then(&fence)).then(&hb_star);
        let mut prop = base.between(g.writes, g.writes);
        if !g.strong.is_empty() {
            let chapo = rfe
                .or(&fre)
                .or(&coe)
                .or(&fre.then(&rfe))
                .or(&coe.then(&rfe))
                .reflexive();
            prop.join(&chapo.then(&base.star()).then(&g.strong).then(&hb_star));
        }
        if !check("propagation", &g.co.or(&prop)) {
            return false;
        }
        // Irreflexive: keep the pairs of an event with itself.
        let seen = fre.then(&prop).then(&hb_star);
        if !check("observation", &seen.and(&Rel::identity(g.n))) {
            return false;
        }
    }
    g.exclusive.is_empty() || check("exclusives", &g.co.or(&g.exclusive))
}
