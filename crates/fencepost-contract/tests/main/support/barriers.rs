//! Contracts of fences and barriers by hand, where threads share nothing: a crash leaves of each thread's stores a set that is closed under what
//! its barriers order, and in which nothing is missing that must be durable.

use super::states::{Memories, allows_exactly};
use fencepost_contract::ContractKind;
use fencepost_kernel::{Addr, Stream};

const THREADS: u64 = 2;
/// Words of each thread, all on the same lines as those of the other.
const WORDS: u64 = 3;

/// What a thread's instructions are to a contract.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    /// Orders what is before it before what is after it.
    Barrier,
    /// The same, and everything before it is durable.
    Drain,
    /// What follows is not ordered by barriers of before.
    NewStrand,
}

/// A contract and the instructions that it knows.
type Known = (ContractKind, &'static [(&'static str, Act)]);
const KNOWN: [Known; 6] = [
    (
        ContractKind::Epoch,
        &[("persist-barrier", Act::Drain), ("dsb", Act::Drain)], // unbuffered
    ),
    (
        ContractKind::Strand,
        &[
            ("persist-barrier", Act::Barrier),
            ("persist-barrier", Act::Barrier),
            ("new-strand", Act::NewStrand),
            ("dsb", Act::Drain),
        ],
    ),
    (
        ContractKind::Rcbsp,
        &[("dmb", Act::Barrier), ("dmb.st", Act::Barrier), ("dsb", Act::Drain)],
    ),
    (ContractKind::StrictTso, &[("mfence", Act::Drain), ("dsb", Act::Drain)]),
    (ContractKind::StrictSc, &[("mfence", Act::Drain), ("dsb", Act::Drain)]),
    // Nothing is left to order: what has executed is durable.
    (ContractKind::Eadr, &[("sfence", Act::Barrier)]),
];

/// A store that has executed.
#[derive(Clone, Copy)]
struct Stored {
    thread: u64,
    word: u64,
    value: u64,
    /// Barriers and new strands before it in its thread.
    epoch: u32,
    strand: u32,
    sure: bool,
}

fn address(thread: u64, word: u64) -> u64 {
    word * 64 + thread * 8
}

/// Whether the first must not become durable after the second; it is earlier in the log.
fn ordered(kind: ContractKind, a: &Stored, b: &Stored) -> bool {
    let barrier = a.strand == b.strand && a.epoch < b.epoch;
    let strict = [ContractKind::StrictTso, ContractKind::StrictSc].contains(&kind);
    a.thread == b.thread && (a.word == b.word || barrier || strict)
}

/// Memory of every set that may be durable.
fn memories(kind: ContractKind, stores: &[Stored]) -> Memories {
    let closed = |set: u32| {
        (0..stores.len())
            .filter(|b| set >> b & 1 == 1)
            .all(|b| (0..b).all(|a| set >> a & 1 == 1 || !ordered(kind, &stores[a], &stores[b])))
    };
    let has_sure = |set: u32| (0..stores.len()).all(|s| set >> s & 1 == 1 || !stores[s].sure);
    let memory = |set: u32| {
        let mut memory = vec![0; (THREADS * WORDS) as usize];
        for (_, s) in stores.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1) {
            memory[(s.thread * WORDS + s.word) as usize] = s.value;
        }
        memory
    };
    let sets = (0..1 << stores.len()).filter(|set| closed(*set) && has_sure(*set));
    sets.map(memory).collect()
}

/// At every moment a contract allows exactly these memories.
pub(crate) fn barriers(rng: &mut Stream, i: u64) {
    let (kind, known) = KNOWN[rng.below(KNOWN.len() as u64) as usize];
    let (mut text, mut stores) = (String::from("fencepost-log 1\n"), Vec::<Stored>::new());
    let (mut epoch, mut strand) = ([0; THREADS as usize], [0; THREADS as usize]);
    let mut history = vec![memories(kind, &stores)];
    for _ in 0..4 + rng.below(14) {
        let thread = rng.below(THREADS);
        let t = thread as usize;
        if stores.len() < 9 && rng.below(2) == 0 {
            let (word, value) = (rng.below(WORDS), stores.len() as u64 + 1);
            stores.push(Stored {
                thread,
                word,
                value,
                epoch: epoch[t],
                strand: strand[t],
                sure: kind == ContractKind::Eadr,
            });
            // None of these contracts makes a difference of how a store is made.
            let how = if rng.chance(1, 4) { "nt" } else { "store" };
            text.push_str(&format!("{thread} {how} pm+{:#x} {value}\n", address(thread, word)));
        } else {
            let (name, act) = known[rng.below(known.len() as u64) as usize];
            match act {
                Act::NewStrand => strand[t] += 1,
                Act::Barrier | Act::Drain => epoch[t] += 1,
            }
            let drained = stores.iter_mut().filter(|s| s.thread == thread && act == Act::Drain);
            drained.for_each(|s| s.sure = true);
            text.push_str(&format!("{thread} {name}\n"));
        }
        history.push(memories(kind, &stores));
    }
    if stores.is_empty() {
        return;
    }
    let all = (0..THREADS).flat_map(|t| (0..WORDS).map(move |w| Addr::pm(address(t, w))));
    allows_exactly(kind, &text, &all.collect::<Vec<_>>(), &history, i);
}
