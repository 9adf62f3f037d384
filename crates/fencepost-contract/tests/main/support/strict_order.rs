//! Strict persistency as relations, where threads share words: stores become durable in the order in which others can see them, which is the
//! closure of preserved program order, of what is read from others, of what is read before others overwrite it, and of coherence.

use super::relation::Rel;
use super::states::{Memories, allows_exactly};
use fencepost_contract::ContractKind;
use fencepost_kernel::{Addr, Stream};

const THREADS: u64 = 3;
/// Persistent words, each on a line of its own, and volatile ones.
const WORDS: u64 = 3;
const VOLATILE: u64 = 1;
const STORES: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Load,
    Store,
    /// A load and a store with full fences around it.
    Rmw,
    /// A full fence behind which the thread's stores, and what it has seen, are durable.
    Fence,
}

#[derive(Clone, Copy)]
struct Event {
    kind: Kind,
    thread: u64,
    word: u64,
    value: u64,
}
impl Event {
    fn reads(&self) -> bool {
        matches!(self.kind, Kind::Load | Kind::Rmw)
    }
    fn writes(&self) -> bool {
        matches!(self.kind, Kind::Store | Kind::Rmw)
    }
    fn persists(&self) -> bool {
        self.writes() && self.word < WORDS
    }
    /// As a log writes it.
    fn line(&self) -> String {
        let Event {
            thread, word, value, ..
        } = self;
        let at = match *word < WORDS {
            true => format!("pm+{:#x}", word * 64),
            false => format!("{:#x}", 0x1000 + word * 64),
        };
        match self.kind {
            Kind::Load => format!("{thread} load {at}\n"),
            Kind::Store => format!("{thread} store {at} {value}\n"),
            Kind::Rmw => format!("{thread} rmw {at} {value}\n"),
            Kind::Fence => format!("{thread} mfence\n"),
        }
    }
}

/// What is seen before what, of events in the order in which they took effect.
fn seen_before(events: &[Event], tso: bool) -> Rel {
    let n = events.len();
    let between = |a: usize, b: usize, f: &dyn Fn(&Event) -> bool| events[a + 1..b].iter().any(f);
    let edge = |a: usize, b: usize| {
        let (x, y) = (&events[a], &events[b]);
        if a >= b {
            return false;
        }
        if x.thread == y.thread {
            // A load may overtake its thread's stores, unless a fence stands between.
            return !(tso && x.kind == Kind::Store && y.kind == Kind::Load);
        }
        let same = x.word == y.word && x.kind != Kind::Fence && y.kind != Kind::Fence;
        let overwritten = between(a, b, &|e: &Event| e.writes() && e.word == x.word);
        // From the store that is read; before the store that overwrites what was read; coherence.
        same && (x.writes() && y.reads() && !overwritten || x.reads() && y.writes() || x.writes() && y.writes())
    };
    Rel::from(n, edge).plus()
}

/// Memory of every set of stores that may be durable.
fn memories(events: &[Event], tso: bool) -> Memories {
    let before = seen_before(events, tso);
    let stores: Vec<usize> = (0..events.len()).filter(|e| events[*e].persists()).collect();
    let fences: Vec<usize> = (0..events.len()).filter(|e| events[*e].kind == Kind::Fence).collect();
    let sure = |s: usize| fences.iter().any(|f| before.has(s, *f));
    let may = |set: &u32| {
        (0..stores.len()).all(|b| {
            let is_in = set >> b & 1 == 1;
            let closed = || (0..stores.len()).all(|a| set >> a & 1 == 1 || !before.has(stores[a], stores[b]));
            if is_in { closed() } else { !sure(stores[b]) }
        })
    };
    let memory = |set: u32| {
        let mut memory = vec![0; WORDS as usize];
        for (_, s) in stores.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1) {
            memory[events[*s].word as usize] = events[*s].value;
        }
        memory
    };
    (0..1 << stores.len()).filter(may).map(memory).collect()
}

fn random_event(rng: &mut Stream, value: u64, full: bool) -> Event {
    let kind = match rng.below(10) {
        0 => Kind::Fence,
        1 if !full => Kind::Rmw,
        2..=5 if !full => Kind::Store,
        _ => Kind::Load,
    };
    Event {
        kind,
        thread: rng.below(THREADS),
        word: rng.below(WORDS + VOLATILE),
        value,
    }
}

/// At every moment the contract allows exactly these memories.
pub(crate) fn strict_order(rng: &mut Stream, i: u64) {
    let tso = rng.chance(1, 2);
    let kind = if tso {
        ContractKind::StrictTso
    } else {
        ContractKind::StrictSc
    };
    let (mut events, mut text) = (Vec::<Event>::new(), String::from("fencepost-log 1\n"));
    let mut history = vec![memories(&events, tso)];
    for value in 1..=6 + rng.below(12) {
        let full = events.iter().filter(|e| e.persists()).count() == STORES;
        events.push(random_event(rng, value, full));
        text.push_str(&events[events.len() - 1].line());
        history.push(memories(&events, tso));
    }
    let words: Vec<Addr> = (0..WORDS).map(|w| Addr::pm(w * 64)).collect();
    allows_exactly(kind, &text, &words, &history, i);
}
