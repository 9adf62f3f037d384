//! Which registers one crash point may explain otherwise than another.

use super::{Cut, History};
use fencepost_kernel::CrashPoint;

/// The registers that each operation wrote, as places in [`History::registers`].
#[derive(Clone, Debug)]
pub(crate) struct Writes {
    /// Where the places of each operation begin.
    starts: Vec<u32>,
    places: Vec<u32>,
}

impl History {
    /// What each operation wrote.
    pub(crate) fn writes(&self) -> Writes {
        let versions = || {
            let registers = self.registers.values().zip(0u32..);
            registers.flat_map(|(r, place)| r.versions.iter().map(move |v| (v.op as usize, place)))
        };
        let ops = self.start.last().map_or(0, |n| *n as usize);
        let mut starts = vec![0; ops + 1];
        versions().for_each(|(op, _)| starts[op + 1] += 1);
        (0..ops).for_each(|op| starts[op + 1] += starts[op]);
        let (mut next, mut places) = (starts.clone(), vec![0; starts[ops] as usize]);
        for (op, place) in versions() {
            places[next[op] as usize] = place;
            next[op] += 1;
        }
        Writes { starts, places }
    }
    /// Places of the registers that need not hold, for `cut`, the one value that they had to hold at the crash point `before`. All others
    /// were written by operations alone that are in both, whatever explains a memory, or out of both.
    pub(crate) fn between<'w>(
        &self,
        writes: &'w Writes,
        before: &CrashPoint,
        cut: &Cut,
    ) -> impl Iterator<Item = u32> + use<'w> {
        let then = self.cut(before);
        let ranges = (0..self.threads).map(|u| {
            let count = self.start[u + 1] - self.start[u];
            let begun = |begun: &[u32]| begun.get(u).copied().unwrap_or(0);
            let out = [then.hi[u], cut.hi[u], begun(&then.begun), begun(&cut.begun)];
            let out = out.into_iter().fold(0, u32::max).min(count);
            self.start[u] + then.lo[u].min(cut.lo[u]).min(out)..self.start[u] + out
        });
        let of = |ops: std::ops::Range<u32>| {
            let at = |op: u32| writes.starts[op as usize] as usize;
            &writes.places[at(ops.start)..at(ops.end)]
        };
        let slices: Vec<&'w [u32]> = ranges.map(of).collect();
        slices.into_iter().flatten().copied()
    }
}
