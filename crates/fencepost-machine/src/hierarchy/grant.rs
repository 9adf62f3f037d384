//! Bus grants: the atomic order point. All coherence state moves here; data follows at the fill.

use super::lines::Behind;
use super::outside::Outside;
use super::peers::Taken;
use super::private::{Departure, FillState};
use super::state::{Hierarchy, Refused, Step};
use super::tags::State;
use crate::seam::{Cause, Level, Snoop, SnoopAnswer};
use fencepost_kernel::planted;
use fencepost_kernel::{CoreId, HwThread, LineAddr};

/// Where a granted request's data comes from.
enum Source {
    Nowhere,
    Peer,
    Llc,
    Memory,
}

/// What a request of a core asks of the others, by whether it wants to store and whether the core holds the line.
pub(super) fn asks_for(exclusive: bool, held: bool) -> Snoop {
    match (exclusive, held) {
        (false, _) => Snoop::Read,
        (true, true) => Snoop::Upgrade,
        (true, false) => Snoop::ReadExclusive,
    }
}

impl Hierarchy {
    /// Handles a request at its grant.
    pub(crate) fn grant(&mut self, out: &mut impl Outside, core: CoreId, miss: u8) {
        let me = Behind::Miss(core, miss);
        let m = &self.cores[core.index()].misses[miss];
        let (line, at, exclusive, drop_copies) = (m.line, m.at, m.exclusive, m.drop_copies);
        let by = m.waiters[0].hw_thread();
        if self.bus.lines.wait(at, me) {
            return;
        }
        let own = match self.bus.lines.may_hold(at, core) {
            true => self.private_state(core, line),
            false => None,
        };
        if !drop_copies && self.answered_privately(out, core, miss, own) {
            return;
        }
        if self.write_path_full() {
            self.charge_miss(core, miss, Cause::WriteQueueFull);
            self.bus.throttled.push_back(me);
            return;
        }
        let kind = asks_for(exclusive, own.is_some());
        let refused = match drop_copies {
            true => self.holders_refuse(out, line).map(|cause| (cause, None)),
            false => self.peers_refuse(out, (core, line, at), kind),
        };
        if let Some((cause, by)) = refused {
            self.charge_miss(core, miss, cause);
            self.bus.refused.push(Refused { who: me, cause, by });
            return;
        }
        let mut supplied = false;
        if self.hooks.snoops {
            match out.snooped(self, by, line, kind) {
                SnoopAnswer::Pass => {}
                SnoopAnswer::Supply => supplied = true,
                SnoopAnswer::Wait(cause) => {
                    self.charge_miss(core, miss, cause);
                    self.bus.refused.push(Refused {
                        who: me,
                        cause,
                        by: None,
                    });
                    return;
                }
            }
        }
        self.counters.bus_grants += 1;
        if drop_copies {
            self.expel(out, line);
        }
        let own_words = own.and_then(|_| self.private_words(core, line));
        let taken = self.move_peers(out, (core, line, at), kind.invalidates());
        let (fill, in_llc) = self.fill_state(line, exclusive, &taken);
        let fill = FillState {
            dirty: fill.dirty || own.is_some_and(|o| o.1),
            held: own.is_some(),
            ..fill
        };
        let unanswered = planted!(
            "hierarchy.snoop-unanswered",
            "the owner of a line answers requests for it"
        );
        let source = match kind {
            _ if drop_copies => Source::Nowhere,
            Snoop::Upgrade => Source::Nowhere,
            _ if supplied || taken.supplied && !unanswered => Source::Peer,
            _ if in_llc => Source::Llc,
            _ => Source::Memory,
        };
        let words = match source {
            Source::Nowhere => own_words,
            Source::Peer if supplied => self.keeps_bytes().then(|| out.line_data(line).words),
            Source::Peer => taken.words.map(|words| *words),
            Source::Llc => self.words(Level::Llc, line),
            Source::Memory => None,
        };
        self.set_miss_words(core, miss, words);
        let m = &mut self.cores[core.index()].misses[miss];
        m.granted = true;
        m.fill = (!drop_copies).then_some(fill);
        self.bus.lines.set_busy(at);
        self.schedule_data(out, core, miss, by, line, source);
    }

    fn schedule_data(
        &mut self,
        out: &mut impl Outside,
        core: CoreId,
        miss: u8,
        by: HwThread,
        line: LineAddr,
        source: Source,
    ) {
        let (now, bus) = (out.now(), &self.spec.bus);
        let at = match source {
            Source::Nowhere => now + bus.snoop,
            Source::Peer => now + bus.snoop + bus.transfer,
            Source::Llc => now + self.spec.llc.latency,
            Source::Memory => {
                self.counters.llc_misses += 1;
                self.below_caches(out, core, miss, by, line);
                return;
            }
        };
        out.schedule(at, Step::Fill(core, miss));
    }

    /// A hit in the private second level, or a line caught in the core's own write-back buffer.
    fn answered_privately(
        &mut self,
        out: &mut impl Outside,
        core: CoreId,
        miss: u8,
        own: Option<(State, bool, u32)>,
    ) -> bool {
        let c = &mut self.cores[core.index()];
        if own.is_none() && c.write_back.is_empty() {
            return false;
        }
        let m = &c.misses[miss];
        let (line, at, exclusive) = (m.line, m.at, m.exclusive);
        let mut words = self.private_words(core, line);
        let keeps = self.keeps_bytes();
        let c = &mut self.cores[core.index()];
        // A victim on its way to the second level is newer than what lies there.
        let waits = |d: &Departure| d.way.line == line && d.is_victim();
        let caught = c.write_back.iter().position(waits);
        let caught = caught.map(|i| self.unpark(core, i));
        let leaves_room = caught.is_some();
        let fill = match (caught, own) {
            (Some(d), _) => {
                words = keeps.then_some(d.data.words);
                Some(FillState {
                    state: State::Modified,
                    dirty: true,
                    meta: d.way.meta,
                    held: true,
                })
            }
            (None, Some((state, _, meta))) if !exclusive || state.writable() => Some(FillState {
                state,
                dirty: false,
                meta,
                held: true,
            }),
            _ => None,
        };
        let Some(fill) = fill else { return false };
        self.set_miss_words(core, miss, words);
        let m = &mut self.cores[core.index()].misses[miss];
        m.granted = true;
        m.fill = Some(fill);
        self.bus.lines.set_busy(at);
        let now = out.now();
        out.schedule(now, Step::Fill(core, miss));
        if leaves_room {
            // For fills that found the write-back buffer full, unless this one takes it.
            let stuck = self.take_stuck_fills(core);
            stuck.into_iter().for_each(|m| out.schedule(now, Step::Fill(core, m)));
        }
        true
    }

    /// What the requester will hold; dirtiness in the shared cache moves to an exclusive requester.
    fn fill_state(&mut self, line: LineAddr, exclusive: bool, taken: &Taken) -> (FillState, bool) {
        let llc = &mut self.llc.tags;
        let way = llc.find(line);
        let (llc_dirty, llc_meta) = way.map_or((false, 0), |w| (llc.dirty(w), llc.meta(w)));
        if let Some(w) = way {
            llc.touch(w);
        }
        if !exclusive {
            // A dirty copy below that the design has marked must not be overwritten without a bus request.
            let alone = !(taken.shared || llc_dirty && llc_meta != 0)
                || planted!(
                    "hierarchy.exclusive-beside-sharers",
                    "a line is exclusive only while nobody else holds it"
                );
            let state = if alone { State::Exclusive } else { State::Shared };
            return (
                FillState {
                    state,
                    dirty: false,
                    meta: 0,
                    held: false,
                },
                way.is_some(),
            );
        }
        if let (Some(w), true) = (way, llc_dirty) {
            llc.set_dirty(w, false);
            llc.set_meta(w, 0);
        }
        let dirty = (taken.dirty || llc_dirty)
            && !planted!(
                "hierarchy.dirt-lost-on-transfer",
                "a dirty line stays dirty when another core takes it"
            );
        let state = if dirty { State::Modified } else { State::Exclusive };
        (
            FillState {
                state,
                dirty,
                meta: taken.meta.max(llc_meta),
                held: false,
            },
            way.is_some(),
        )
    }
}
