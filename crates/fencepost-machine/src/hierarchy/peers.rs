//! What a granted request does to the copies of other cores.

use super::held::Words;
use super::lines::Entry;
use super::outside::Outside;
use super::private::Departure;
use super::state::Hierarchy;
use super::tags::State;
use crate::seam::{Cause, Exit, Gate, Level, Snoop, Way, Why};
use fencepost_kernel::decision;
use fencepost_kernel::planted;
use fencepost_kernel::{CoreId, LineAddr};

/// What other cores gave up.
#[derive(Default)]
pub(super) struct Taken {
    pub supplied: bool,
    pub shared: bool,
    pub dirty: bool,
    pub meta: u32,
    /// Bytes of the copy that answers.
    pub words: Option<Box<Words>>,
}

impl Hierarchy {
    /// Whether some other cache may not give the line up yet, and whose, if it is a private one that only has to let it leave.
    #[inline]
    pub(super) fn peers_refuse(
        &mut self,
        out: &mut impl Outside,
        (core, line, at): (CoreId, LineAddr, Entry),
        kind: Snoop,
    ) -> Option<(Cause, Option<CoreId>)> {
        match self.hooks.holds {
            true => self.peers_hold_back(out, (core, line, at), kind),
            false => None,
        }
    }
    #[inline(never)] // few designs hold lines back
    fn peers_hold_back(
        &mut self,
        out: &mut impl Outside,
        (core, line, at): (CoreId, LineAddr, Entry),
        kind: Snoop,
    ) -> Option<(Cause, Option<CoreId>)> {
        let waiting = if self.parked_somewhere(line) { self.parked } else { 0 };
        for p in CoreId::all_in(waiting | self.bus.lines.holders_mask(at)) {
            let own = p == core;
            let waiting = &self.cores[p.index()].write_back;
            let blocks = |d: &Departure| d.way.line == line && !(own && kind == Snoop::Upgrade && !d.notify.is_empty());
            let held_up = waiting.iter().any(blocks)
                && !planted!(
                    "hierarchy.waiting-victim-overlooked",
                    "nothing is read past a line that waits to leave"
                );
            if held_up {
                return Some((Cause::OrderPending, Some(p)));
            }
            if own || !self.bus.lines.may_hold(at, p) {
                continue;
            }
            if let Some((_, true, meta)) = self.private_state(p, line) {
                let way = Way {
                    line,
                    dirty: true,
                    meta,
                    frozen: false,
                };
                let why = if kind.invalidates() {
                    Why::TakenBy(core)
                } else {
                    Why::Downgraded(core)
                };
                if let Gate::Wait(cause) = out.may_leave(self, Level::L1(p), &way, why) {
                    return Some((cause, Some(p)));
                }
            }
        }
        self.llc
            .write_back
            .iter()
            .any(|d| d.way.line == line)
            .then_some((Cause::OrderPending, None))
    }

    /// Takes the line from every core but the one that asks (or makes it shared there).
    #[inline]
    pub(super) fn move_peers(
        &mut self,
        out: &mut impl Outside,
        (core, line, at): (CoreId, LineAddr, Entry),
        invalidate: bool,
    ) -> Taken {
        debug_assert!(self.all_holders_are_noted(line));
        let mut taken = Taken::default();
        for p in self.bus.lines.holders(at).filter(|p| *p != core) {
            let why = match invalidate {
                true => Why::TakenBy(core),
                false => Why::Downgraded(core),
            };
            self.move_peer(out, p, (line, at), why, &mut taken);
        }
        taken
    }

    /// A core that may hold the line loses it, or its permission to write.
    fn move_peer(
        &mut self,
        out: &mut impl Outside,
        p: CoreId,
        (line, at): (LineAddr, Entry),
        why: Why,
        taken: &mut Taken,
    ) {
        let peer = &self.cores[p.index()];
        let ways = peer.ways(line);
        let Some((state, dirty, meta)) = peer.state(ways) else {
            return self.bus.lines.drop_holder(at, p);
        };
        let invalidate = matches!(why, Why::TakenBy(_));
        let lost = invalidate
            && planted!(
                "hierarchy.invalidation-lost",
                "a store takes the line from every other core"
            );
        if lost {
            return;
        }
        if decision!("hierarchy.owner-answers", state.writable()) {
            taken.supplied = true;
            if self.keeps_bytes() {
                taken.words = self.private_words(p, line).map(Box::new);
            }
        }
        let (keep_dirty, meta) = match dirty && (self.hooks.leaving || self.keeps_bytes()) {
            true => self.dirt_leaves_peer(out, p, (line, meta), why),
            false => (dirty, meta),
        };
        let copies = self.cores[p.index()].copies(ways);
        if invalidate {
            self.counters.invalidations += 1;
            copies.for_each(|(tags, way)| tags.drop_way(way));
            self.bus.lines.drop_holder(at, p);
            taken.dirty |= keep_dirty;
            taken.meta = taken.meta.max(if dirty { meta } else { 0 });
            return;
        }
        taken.shared = true;
        for (tags, way) in copies {
            let gives_up_permission = !planted!(
                "hierarchy.downgrade-keeps-permission",
                "a core whose line another one reads asks before it writes again"
            );
            if gives_up_permission {
                tags.set_state(way, State::Shared);
            }
            tags.set_dirty(way, false);
            tags.set_meta(way, 0);
        }
        if keep_dirty {
            let words = self.words(Level::L1(p), line);
            let dirty = !planted!(
                "hierarchy.dirt-lost-on-downgrade",
                "a dirty line that becomes shared stays dirty in the shared cache"
            );
            self.insert_llc(out, line, (dirty, meta), words);
        }
    }

    /// The dirty bytes of a core's copy leave it, as the design says: whether they stay dirty, and with which mark.
    #[inline(never)] // few designs have a say, and it is large
    fn dirt_leaves_peer(
        &mut self,
        out: &mut impl Outside,
        p: CoreId,
        (line, meta): (LineAddr, u32),
        why: Why,
    ) -> (bool, u32) {
        self.agree(p, line);
        if !self.hooks.leaving {
            return (true, meta);
        }
        let way = Way {
            line,
            dirty: true,
            meta,
            frozen: false,
        };
        let data = self.leaving_data(out, Level::L1(p), line);
        match out.leaving(self, Level::L1(p), &way, &data, why) {
            Exit::Drop => {
                self.pass_down(p, line);
                (false, meta)
            }
            Exit::DownUnmarked => (true, 0),
            Exit::Down => (true, meta),
        }
    }
}
