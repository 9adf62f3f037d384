//! Functional warm-up: lines are in the caches when a run begins, as if each had been read and nothing had happened since.
//!
//! Warming tags is what simulators do before a timed run. It takes no simulated time, moves nothing on the bus and counts nothing; memory
//! controllers, queues and designs begin as they are when the machine is switched on. Nothing is dirty yet, so a victim just goes.

use super::lines::Lines;
use super::state::Hierarchy;
use super::tags::{Spot, State, Tags};
use crate::seam::Level;
use fencepost_kernel::{CoreId, LineAddr, LineData};

/// Installs a clean line; the one that had to go for it.
fn install(tags: &mut Tags, line: LineAddr, state: State) -> Option<LineAddr> {
    let (way, gone) = match tags.spot(line) {
        Spot::Here(way) | Spot::Free(way) => (way, None),
        Spot::Full(way) => (way, tags.remove(way).map(|gone| gone.line)),
    };
    tags.put(way, line, state, false, 0);
    gone
}

/// Caches as lines that were read leave them, and what the bus knows of those.
#[derive(Debug)]
pub(crate) struct WarmCaches {
    llc: Tags,
    private: Vec<(Tags, Option<Tags>)>,
    lines: Lines,
}

impl Hierarchy {
    /// What [`Hierarchy::warm`] has made of caches that were empty.
    pub(crate) fn warm_caches(&self) -> WarmCaches {
        WarmCaches {
            llc: self.llc.tags.clone(),
            private: self.cores.iter().map(|c| (c.l1.clone(), c.l2.clone())).collect(),
            lines: self.bus.lines.clone(),
        }
    }
    /// The same again, in caches of the same sizes. Only before the first event.
    pub(crate) fn warm_as(&mut self, warm: &WarmCaches) {
        debug_assert!(!self.keeps_bytes() && self.cores.len() == warm.private.len());
        self.llc.tags.clone_from(&warm.llc);
        for (core, (l1, l2)) in self.cores.iter_mut().zip(&warm.private) {
            core.l1.clone_from(l1);
            core.l2.clone_from(l2);
        }
        self.bus.lines.clone_from(&warm.lines);
    }
    /// A core has read `line`, which no other core holds. Only before the first event.
    pub(crate) fn warm(&mut self, core: CoreId, line: LineAddr, data: impl Fn(LineAddr) -> LineData) {
        install(&mut self.llc.tags, line, State::Shared);
        let private = &mut self.cores[core.index()];
        if let Some(l2) = &mut private.l2
            && let Some(gone) = install(l2, line, State::Exclusive)
        {
            private.l1.take(gone);
        }
        install(&mut private.l1, line, State::Exclusive);
        let at = self.bus.lines.entry(line);
        self.bus.lines.add_holder(at, core);
        if self.keeps_bytes() {
            for level in [Level::Llc, Level::L2(core), Level::L1(core)] {
                self.set_words(level, line, Some(data(line).words));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Bench, line};
    use super::*;
    use crate::seam::Hooks;
    use crate::spec::{CacheSpec, MachineSpec};
    use fencepost_kernel::{Bytes, rng::Stream};

    #[test]
    fn warmed_caches_hold_what_reads_would_have_left() {
        let mut rng = Stream::new(11, "warm");
        for l2 in [None, Some(Bytes(1 << 11))] {
            let mut spec = MachineSpec::default();
            (spec.l1.size, spec.llc.size) = (Bytes(1 << 10), Bytes(1 << 14));
            spec.l2 = l2.map(|size| CacheSpec {
                size,
                ..spec.l1.clone()
            });
            let [mut read, mut warm] = [(); 2].map(|()| Bench::new(spec.clone(), Hooks::default()));
            let mut lines: Vec<(u64, u8)> = (0..600).map(|i| (i, rng.below(3) as u8)).collect();
            lines.sort_by_cached_key(|_| rng.next_u64());
            for (i, core) in lines {
                read.fetch(core, line(i), false);
                warm.h.warm(CoreId(core), line(i), |_| LineData::default());
            }
            for i in 0..600 {
                let held = |b: &Bench| {
                    let private = [0, 1, 2].map(|c| {
                        (
                            b.h.l1(CoreId(c)).find(line(i)).is_some(),
                            b.h.private_state(CoreId(c), line(i)),
                        )
                    });
                    (private, b.h.llc.tags.find(line(i)).is_some())
                };
                assert_eq!(held(&read), held(&warm));
            }
        }
    }
}
