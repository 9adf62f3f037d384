//! Whether a persist buffer is in a state that it may be in: what it counts is what it holds.

use super::{Kind, Newness, PersistBuffer};
use crate::delegated::summary::low;
use fencepost_kernel::LineAddr;

impl PersistBuffer {
    /// What is wrong with the buffer by itself, if anything is.
    pub fn unsound(&self) -> Option<&'static str> {
        let (mut held, mut fences) = ([0; 64], Vec::new());
        for e in &self.entries {
            match e.kind {
                Kind::Persist { line, .. } => held[low(line)] += 1,
                Kind::Fence { sets } => fences.push(sets),
            }
        }
        let newest = fences.last().copied();
        fences.extend(&self.free_sets);
        fences.sort_unstable();
        let drained = self.appended - self.entries.len() as u64;
        let in_order = (drained + 1..).zip(&self.entries).all(|(seq, e)| e.seq.0 == seq);
        match () {
            () if self.sent > self.entries.len() => Some("more entries are sent than there are"),
            () if held != self.held => Some("counts of persists by line"),
            () if newest != self.newest_sets => Some("the sets of its newest FENCE"),
            () if fences.iter().copied().ne(0..self.sets.len()) => Some("which pairs of sets are free"),
            () if !in_order => Some("positions of its entries"),
            () if self.replaced_and_newest() => Some("an older entry of a line is not superseded"),
            () => None,
        }
    }
    /// Whether an entry counts as the newest of its line although a later one of this buffer has that line.
    fn replaced_and_newest(&self) -> bool {
        let of = |kind: &Kind| match kind {
            Kind::Persist { line, newness, .. } => Some((*line, *newness)),
            Kind::Fence { .. } => None,
        };
        let persists: Vec<_> = self.entries.iter().filter_map(|e| of(&e.kind)).collect();
        let replaced = |at: usize, line: LineAddr| persists[at + 1..].iter().any(|(later, _)| *later == line);
        let mut all = persists.iter().enumerate();
        all.any(|(at, (line, newness))| *newness != Newness::Superseded && replaced(at, *line))
    }
    /// Lines of which it holds the newest bytes.
    pub fn youngest(&self) -> impl Iterator<Item = LineAddr> {
        self.entries.iter().filter_map(|e| match e.kind {
            Kind::Persist {
                line,
                newness: Newness::Youngest,
                ..
            } => Some(line),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delegated::{AccessSets, Seq};
    use fencepost_kernel::{LineData, Ps};

    #[test]
    fn counts_and_notes_that_contradict_the_entries_are_named() {
        let used = || {
            let mut b = PersistBuffer::new(3, &AccessSets::new(8, 1, false));
            let push =
                |b: &mut PersistBuffer, line| b.push_persist(LineAddr(line), LineData::default(), None, Ps::ZERO);
            push(&mut b, 1);
            push(&mut b, 2);
            b.push_fence(Ps::ZERO);
            push(&mut b, 1);
            b.pop();
            b
        };
        assert_eq!(used().unsound(), None);
        assert_eq!(used().youngest().collect::<Vec<_>>(), [LineAddr(2), LineAddr(1)]);
        let wrong = |breaks: fn(&mut PersistBuffer)| {
            let mut b = used();
            breaks(&mut b);
            b.unsound()
        };
        assert_eq!(wrong(|b| b.sent = 4), Some("more entries are sent than there are"));
        assert_eq!(wrong(|b| b.held[2] = 0), Some("counts of persists by line"));
        assert_eq!(wrong(|b| b.newest_sets = None), Some("the sets of its newest FENCE"));
        assert_eq!(wrong(|b| b.free_sets.clear()), Some("which pairs of sets are free"));
        assert_eq!(wrong(|b| b.entries[0].seq = Seq(1)), Some("positions of its entries"));
        let older = wrong(|b| {
            b.push_persist(LineAddr(2), LineData::default(), None, Ps::ZERO);
            if let Kind::Persist { newness, .. } = &mut b.entries[0].kind {
                *newness = Newness::Youngest;
            }
        });
        assert_eq!(older, Some("an older entry of a line is not superseded"));
    }
}
