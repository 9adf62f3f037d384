//! Logs whose lines are given by value, against every choice of stores for them.

use fencepost_contract::{Contract, ContractKind, Demands, recorded};
use fencepost_kernel::Stream;

const FENCES: [&str; 7] = [
    "sfence",
    "mfence",
    "persist-barrier",
    "dmb",
    "dsb",
    "pcommit",
    "new-strand",
];

/// Words that may stand for this many stores are left out: choices are tried one by one.
const OPEN: usize = 5;

/// A line of a log.
#[derive(Clone)]
enum Line {
    Text(String),
    /// Words of a cache line that are durable now.
    Durable {
        line: u64,
        words: Vec<Word>,
    },
}

/// A word that is durable: which of its line, its value, and perhaps the number of the store that made it.
#[derive(Clone)]
struct Word {
    word: u64,
    value: u64,
    store: Option<usize>,
}

/// A random log.
struct Random {
    lines: Vec<Line>,
    /// Line, word and value of each store.
    stores: Vec<(u64, u64, u64)>,
    /// By line of the log: stores before it.
    before: Vec<usize>,
}

impl Random {
    /// Of one or two threads; `steps`: one thread goes in short steps with barriers between them, so that choices are often taken back.
    fn new(rng: &mut Stream, steps: bool) -> Random {
        let (threads, wide, dsb) = match steps {
            true => (1, 1, false),
            false => (1 + rng.below(2), 1 + rng.below(2), rng.chance(1, 2)),
        };
        let (count, length) = if steps {
            (2 + rng.below(2), 7 + rng.below(5))
        } else {
            (1 + rng.below(3), 4 + rng.below(9))
        };
        let mut log = Random {
            lines: Vec::new(),
            stores: Vec::new(),
            before: Vec::new(),
        };
        for _ in 0..length {
            let (thread, line, word) = (rng.below(threads), rng.below(count), rng.below(wide));
            let next = match rng.below(7) {
                3 | 4 if steps => format!("{thread} persist-barrier"),
                0..=2 => {
                    let value = 1 + rng.below(2);
                    log.stores.push((line, word, value));
                    format!("{thread} store pm+0x{:x} {value}", line * 64 + word * 8)
                }
                3 => format!("{thread} clwb pm+0x{:x}", line * 64),
                4 if dsb => format!("{thread} dsb"),
                4 => format!("{thread} {}", FENCES[rng.below(7) as usize]),
                _ => {
                    log.durable(rng);
                    continue;
                }
            };
            log.push(Line::Text(next));
        }
        log
    }
    fn push(&mut self, line: Line) {
        self.lines.push(line);
        self.before.push(self.stores.len());
    }
    /// A line that was stored to is durable: some of its words, with the values of some stores, a few of which are named.
    fn durable(&mut self, rng: &mut Stream) {
        if self.stores.is_empty() {
            return;
        }
        let (line, ..) = self.stores[rng.below(self.stores.len() as u64) as usize];
        let mut words = Vec::new();
        for word in 0..2 {
            let of_word = |s: &&(u64, u64, u64)| (s.0, s.1) == (line, word);
            let stores: Vec<usize> = (0..self.stores.len()).filter(|s| of_word(&&self.stores[*s])).collect();
            if stores.is_empty() || rng.chance(1, 4) {
                continue;
            }
            let store = stores[rng.below(stores.len() as u64) as usize];
            let named = rng.chance(1, 4);
            words.push(Word {
                word,
                value: self.stores[store].2,
                store: named.then_some(store),
            });
        }
        if !words.is_empty() {
            self.push(Line::Durable { line, words });
        }
    }
    /// Words by value: line of the log, place in it.
    fn open(&self) -> Vec<(usize, usize)> {
        let mut open = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            if let Line::Durable { words, .. } = line {
                open.extend((0..words.len()).filter(|w| words[*w].store.is_none()).map(|w| (at, w)));
            }
        }
        open
    }
    fn text(&self) -> String {
        let line = |l: &Line| match l {
            Line::Text(text) => format!("{text}\n"),
            Line::Durable { line, words } => {
                let word = |w: &Word| match w.store {
                    Some(store) => format!(" {}=#{}", w.word, store + 1),
                    None => format!(" {}={}", w.word, w.value),
                };
                let words: String = words.iter().map(word).collect();
                format!("durable pm+0x{:x} :{words}\n", line * 64)
            }
        };
        let lines: String = self.lines.iter().map(line).collect();
        format!("fencepost-log 1\n{lines}")
    }
    fn conforms(&self, kind: ContractKind) -> bool {
        let text = self.text();
        let log = recorded::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        log.conform(&Contract::from(kind), Demands::default()).is_ok()
    }
    /// All choices of stores for the words by value, one by one, judged with names.
    fn any_choice(&mut self, open: &[(usize, usize)], kind: ContractKind) -> bool {
        let Some(((at, place), rest)) = open.split_first() else {
            return self.conforms(kind);
        };
        let of = |log: &Random| match &log.lines[*at] {
            Line::Durable { line, words } => (*line, words[*place].word, words[*place].value),
            Line::Text(_) => unreachable!("words stand in durable lines"),
        };
        let wanted = of(self);
        for store in 0..self.before[*at] {
            if self.stores[store] == wanted {
                self.name(*at, *place, Some(store));
                if self.any_choice(rest, kind) {
                    return true;
                }
            }
        }
        self.name(*at, *place, None);
        false
    }
    fn name(&mut self, at: usize, place: usize, store: Option<usize>) {
        if let Line::Durable { words, .. } = &mut self.lines[at] {
            words[place].store = store;
        }
    }
}

/// A random log conforms exactly if it does for some choice of the stores that its values may stand for. Whether it does; none for
/// a log with too many choices.
pub(crate) fn best_choice(rng: &mut Stream, i: u64) -> Option<bool> {
    let kinds: Vec<ContractKind> = ContractKind::ALL
        .into_iter()
        .filter(|k| !k.is_transactional())
        .collect();
    let steps = rng.chance(1, 3);
    let of_steps = [ContractKind::Rcbsp, ContractKind::Strand, ContractKind::Epoch];
    let kinds = if steps { &of_steps[..] } else { &kinds };
    let kind = kinds[rng.below(kinds.len() as u64) as usize];
    let mut log = Random::new(rng, steps);
    let open = log.open();
    if open.len() > OPEN {
        return None;
    }
    let (text, by_value) = (log.text(), log.conforms(kind));
    let named = log.any_choice(&open, kind);
    assert_eq!(by_value, named, "{kind}, program {i}\n{text}");
    Some(named)
}
