//! Which cores may know a line: one look instead of one at every buffer and every set.

use super::filter::{AccessSets, Probe};
use super::port::PortId;
use fencepost_kernel::LineAddr;

/// Persist buffers and sets of all cores together, turned on their side: a word of cores for every position. It may name
/// a core that knows nothing of a line, never the reverse; the hardware asks every port, and so gets the same answers.
#[derive(Clone, Debug)]
pub(super) struct Summary {
    /// For each position of a filter, the cores one of whose sets may have it.
    accessed: Vec<u64>,
    /// For each value of the low address bits, the cores whose buffers hold a persist of such a line.
    persists: [u64; 64],
    /// The same for each core, a bit for each position.
    of: Vec<Box<[u64]>>,
    /// Positions that came to some set of each core since its sets were last looked through.
    notes: Vec<u32>,
    /// Positions that some set of the core that is looked through has.
    union: Vec<u64>,
}

impl Summary {
    /// Of `cores` without entries, whose filters have `bits` positions each.
    pub(super) fn new(cores: usize, bits: usize) -> Summary {
        Summary {
            accessed: vec![0; bits],
            persists: [0; 64],
            of: vec![vec![0; bits / 64].into(); cores],
            notes: vec![0; cores],
            union: vec![0; bits / 64],
        }
    }
    /// Cores that may hold a persist of the line.
    #[inline]
    pub(super) fn may_persist(&self, line: LineAddr) -> u64 {
        self.persists[low(line)]
    }
    /// Cores that may hold a persist of the line or have it in one of their sets. `sets`: any, all place a line alike.
    #[inline]
    pub(super) fn may_know(&self, probe: Probe, sets: &AccessSets) -> u64 {
        let mut accessed = u64::MAX;
        sets.all_positions(probe, |p| {
            accessed &= self.accessed[p];
            accessed != 0
        });
        accessed | self.may_persist(probe.line())
    }
    /// A core's buffer holds persists with the low address bits of `line`, or none any more.
    #[inline]
    pub(super) fn set_persists(&mut self, owner: PortId, line: LineAddr, any: bool) {
        let cores = &mut self.persists[low(line)];
        *cores = *cores & !(1 << owner.0) | u64::from(any) << owner.0;
    }
    /// A position comes to one of the core's sets.
    #[inline]
    pub(super) fn add(&mut self, owner: PortId, position: usize) {
        self.notes[owner.index()] += 1;
        self.accessed[position] |= 1 << owner.0;
        self.of[owner.index()][position / 64] |= 1 << (position % 64);
    }
    /// Whether a core's sets should be looked through again: they are emptied one by one, and what they held stays here until then.
    /// How often is a matter of host speed alone.
    #[inline]
    pub(super) fn is_old(&self, owner: PortId) -> bool {
        self.notes[owner.index()] as usize > self.accessed.len() / 4
    }
    /// Looks through all sets of a core.
    pub(super) fn look_through<'a>(&mut self, owner: PortId, sets: impl Iterator<Item = &'a AccessSets>) {
        self.notes[owner.index()] = 0;
        self.union.fill(0);
        for set in sets {
            self.union.iter_mut().zip(set.words()).for_each(|(u, w)| *u |= w);
        }
        let words = self.of[owner.index()].iter_mut().zip(&self.union);
        for ((of, now), positions) in words.zip(self.accessed.chunks_exact_mut(64)) {
            let mut gone = std::mem::replace(of, *now) & !now;
            while gone != 0 {
                positions[gone.trailing_zeros() as usize] &= !(1 << owner.0);
                gone &= gone - 1;
            }
        }
    }
}

/// The low address bits of a line.
#[inline]
pub(super) fn low(line: LineAddr) -> usize {
    line.0 as usize % 64
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::Stream;

    /// Sets of three cores, recorded, emptied and looked through at random: whatever a set holds, the summary names its core.
    #[test]
    fn whoever_knows_a_line_is_named() {
        let mut rng = Stream::new(3, "summary");
        for round in 0..200 {
            let mut sets = vec![vec![AccessSets::new(16, 2, false); 3]; 3];
            let mut summary = Summary::new(3, 128);
            let mut named = 0;
            for _ in 0..300 {
                let (owner, set) = (PortId(rng.below(3) as u8), rng.below(3) as usize);
                let line = LineAddr(rng.below(400));
                let mine = &mut sets[owner.index()];
                match rng.below(20) {
                    0 => mine[set].clear(),
                    1 => summary.look_through(owner, mine.iter()),
                    _ => {
                        mine[set].record_at(line.into(), rng.chance(1, 2), |p| summary.add(owner, p));
                    }
                }
                let probe = Probe::from(LineAddr(rng.below(400)));
                let cores = summary.may_know(probe, &sets[0][0]);
                named += cores.count_ones();
                for (c, sets) in sets.iter().enumerate() {
                    let knows = sets.iter().any(|s| s.conflicts(probe, true));
                    assert!(!knows || cores >> c & 1 == 1, "round {round}");
                }
            }
            assert!(named < 3 * 300, "a summary that always names everybody says nothing");
        }
    }
}
