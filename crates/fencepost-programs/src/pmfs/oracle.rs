//! The oracle: which names, sizes and bytes a prefix of the calls leaves.
//!
//! A register per name for which file it is, one for its size, and one for each stretch of its bytes that the run's writes tell apart.
//! A write in place is not atomic: while the call runs a power failure leaves new stretches beside old ones, and old and new words
//! in one.

use super::calls::{Call, name_of};
use super::data::sum;
use super::inode::PLANTED;
use crate::oracle::Builder;
use crate::registers::Registers;
use fencepost_kernel::OpRecord;
use std::collections::{BTreeMap, BTreeSet};

/// Bits of a register's number below the name.
const PARTS: u32 = 24;

/// What a register stands for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Register {
    /// Which call created the file (0: there is none).
    File,
    /// Its bytes, and one.
    Size,
    /// Which call wrote a stretch of it.
    Bytes(usize),
}
pub(super) fn register(name: u64, what: Register) -> u64 {
    let part = match what {
        Register::File => 0,
        Register::Size => 1,
        Register::Bytes(i) => i as u64 + 2,
    };
    name << PARTS | part
}
pub(super) fn named(number: u64) -> (u64, Register) {
    let what = match number & ((1 << PARTS) - 1) {
        0 => Register::File,
        1 => Register::Size,
        i => Register::Bytes(i as usize - 2),
    };
    (number >> PARTS, what)
}

/// What the oracle knows of a run.
#[derive(Clone, Debug)]
pub struct FsModel {
    pub(super) registers: Registers,
    /// Per name where stretches of its bytes begin and end.
    pub(super) cuts: BTreeMap<u64, Vec<u64>>,
    /// Per stretch the pairs of calls of which the second wrote over the first in place.
    pub(super) over: BTreeMap<u64, BTreeSet<(u64, u64)>>,
}

/// A file while calls are replayed.
#[derive(Clone, Debug)]
struct File {
    born: u64,
    size: u64,
    /// Who wrote from where to where, ascending.
    extents: Vec<(u64, u64, u64)>,
}
impl File {
    fn planted(size: u64) -> File {
        let extents = if size > 0 { vec![(0, size, PLANTED)] } else { Vec::new() };
        File {
            born: PLANTED,
            size,
            extents,
        }
    }
    fn write(&mut self, from: u64, to: u64, call: u64) {
        let old = std::mem::take(&mut self.extents);
        for (a, b, c) in old {
            let parts = [(a, b.min(from), c), (a.max(to), b, c)];
            self.extents.extend(parts.into_iter().filter(|p| p.0 < p.1));
        }
        self.extents.push((from, to, call));
        self.extents.sort_unstable();
        self.size = self.size.max(to);
    }
    fn writer(&self, at: u64) -> u64 {
        self.extents.iter().find(|e| e.0 <= at && at < e.1).map_or(0, |e| e.2)
    }
    fn sum(&self, from: u64, to: u64) -> u64 {
        let parts = self.extents.iter().map(|(a, b, c)| match (*a.max(&from), *b.min(&to)) {
            (a, b) if a >= b || *c == PLANTED => 0,
            (a, b) => sum(*c, a, b),
        });
        parts.fold(0, u64::wrapping_add)
    }
}

/// The calls of a run, one after the other.
struct Replay {
    files: BTreeMap<u64, File>,
    explained: bool,
}
impl Replay {
    /// What a call changes: names, and the stretch that it writes.
    fn call(&mut self, o: &OpRecord, call: Call) -> Option<(u64, u64)> {
        let by = name_of(o.thread, o.k);
        let mut written = None;
        let (mut kind, mut words) = (call.kind(), [0; 3]);
        let there = |files: &BTreeMap<u64, File>, name| files.contains_key(&name);
        match call {
            Call::Create { name } if !there(&self.files, name) => {
                let (born, size, extents) = (by, 0, Vec::new());
                self.files.insert(name, File { born, size, extents });
            }
            Call::Append { name, len } if len > 0 && there(&self.files, name) => {
                let at = self.files[&name].size;
                written = Some((at, at + len));
            }
            Call::Overwrite { name, at, len } if self.files.get(&name).is_some_and(|f| f.size.min(at + len) > at) => {
                written = Some((at, self.files[&name].size.min(at + len)));
            }
            Call::Delete { name } if there(&self.files, name) => drop(self.files.remove(&name)),
            Call::Rename { from, to } if from != to && there(&self.files, from) && !there(&self.files, to) => {
                let file = self.files.remove(&from);
                self.files.extend(file.map(|f| (to, f)));
            }
            Call::Read { name, at, most } => {
                if let Some(f) = self.files.get(&name) {
                    words = [f.size + 1, f.sum(at.min(f.size), (at + most).min(f.size)), 0];
                }
            }
            Call::Stat { name } => words[0] = self.files.get(&name).map_or(0, |f| f.size + 1),
            _ => kind = 0,
        }
        if let (Some((from, to)), [Some(name), _]) = (written, call.names()) {
            self.files.entry(name).and_modify(|f| f.write(from, to, by));
        }
        self.explained &= (kind, words) == (o.outcome.kind, o.outcome.words);
        written
    }
}

/// Digests a run whose names had files of these sizes before it.
pub(super) fn digest(
    ops: &[OpRecord],
    call: impl Fn(u32, u32) -> Call,
    names: u64,
    planted: impl Fn(u64) -> Option<u64>,
) -> FsModel {
    let files: BTreeMap<u64, File> = (0..names)
        .filter_map(|n| planted(n).map(|s| (n, File::planted(s))))
        .collect();
    let cuts = cuts(ops, &call, &files);
    let mut b = Builder::new(ops);
    for name in 0..names {
        let file = files.get(&name);
        state(name, file, &cuts).for_each(|(r, v)| b.initial(r, v));
    }
    let (mut over, mut replay) = (BTreeMap::new(), Replay { files, explained: true });
    for o in ops {
        let call = call(o.thread, o.k);
        let names = call.names().into_iter().flatten();
        let before: Vec<(u64, u64)> = names
            .clone()
            .flat_map(|n| state(n, replay.files.get(&n), &cuts))
            .collect();
        replay.call(o, call);
        let after = names.flat_map(|n| state(n, replay.files.get(&n), &cuts));
        for ((r, old), (_, new)) in before.into_iter().zip(after) {
            if old == new {
                continue;
            }
            let op = (o.thread, o.k);
            if matches!(call, Call::Overwrite { .. }) {
                b.write_in_place(r, op, new);
                over.entry(r).or_insert_with(BTreeSet::new).insert((old, new));
            } else {
                b.write(r, op, new);
            }
        }
    }
    let why = "what the calls returned is not what the locks' order of them leaves";
    FsModel {
        registers: Registers::new(b.build_if(replay.explained, why)),
        cuts,
        over,
    }
}

/// Where stretches of every name's bytes begin and end. A renamed file takes its own along.
fn cuts(ops: &[OpRecord], call: &impl Fn(u32, u32) -> Call, files: &BTreeMap<u64, File>) -> BTreeMap<u64, Vec<u64>> {
    let mut all: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut replay = Replay {
        files: files.clone(),
        explained: true,
    };
    for (name, file) in files {
        all.entry(*name).or_default().extend([0, file.size]);
    }
    for o in ops {
        let call = call(o.thread, o.k);
        replay.call(o, call);
        for name in call.names().into_iter().flatten() {
            let ends = replay.files.get(&name).into_iter().flat_map(|f| f.extents.iter());
            all.entry(name).or_default().extend(ends.flat_map(|e| [e.0, e.1]));
        }
    }
    all.into_iter().map(|(n, c)| (n, c.into_iter().collect())).collect()
}

/// Every register of a name, with what it holds.
fn state<'a>(
    name: u64,
    file: Option<&'a File>,
    cuts: &'a BTreeMap<u64, Vec<u64>>,
) -> impl Iterator<Item = (u64, u64)> + 'a {
    let own = cuts.get(&name).map_or(&[][..], |c| c);
    let bytes = own.windows(2).enumerate().map(move |(i, w)| {
        let writer = file.map_or(0, |f| f.writer(w[0]));
        (register(name, Register::Bytes(i)), writer)
    });
    [
        (register(name, Register::File), file.map_or(0, |f| f.born)),
        (register(name, Register::Size), file.map_or(0, |f| f.size + 1)),
    ]
    .into_iter()
    .chain(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn writes_in_place_split_what_was_there() {
        let mut file = File::planted(64);
        file.write(16, 32, 7);
        file.write(64, 80, 8);
        assert_eq!(
            file.extents,
            [(0, 16, PLANTED), (16, 32, 7), (32, 64, PLANTED), (64, 80, 8)]
        );
        assert_eq!((file.size, file.writer(24), file.writer(32)), (80, 7, PLANTED));
        assert_eq!(file.sum(8, 24), sum(7, 16, 24));
    }
    #[test]
    fn registers_are_told_apart() {
        for what in [Register::File, Register::Size, Register::Bytes(0), Register::Bytes(9)] {
            assert_eq!(named(register(77, what)), (77, what));
        }
    }
}
