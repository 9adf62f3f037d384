//! Executions of hardware transactions whose log and home writes become durable in any order, and which of them conform, by looking at every
//! transaction anew for each event.

use fencepost_contract::recorded::parse;
use fencepost_contract::{Contract, ContractKind, Demands, conform};
use fencepost_kernel::Stream;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const THREADS: u64 = 3;
/// Words that all threads store to, two to a line.
const WORDS: u64 = 6;
/// Where copies in the hardware log lie, a line for each.
const LOG: u64 = 0x8000;

/// A store: its word, and the transaction in which it was made.
struct Store {
    word: u64,
    tx: usize,
}

/// A transaction's last store to each word, by number.
type Tx = BTreeMap<u64, usize>;

/// What has happened, and whether everything durable was allowed to be.
struct History {
    kiln: bool,
    text: String,
    stores: Vec<Store>,
    txs: Vec<Tx>,
    open: Vec<Option<usize>>,
    /// Transactions in the order in which they committed.
    committed: Vec<usize>,
    /// How many had committed when each thread last did, an empty one too.
    last: Vec<usize>,
    /// Stores of which a copy is durable.
    held: Vec<bool>,
    home: BTreeMap<u64, usize>,
    conforms: bool,
}

/// `loc` and `kiln`: a random execution conforms exactly if nothing in it became durable too early, and nothing too late. Whether it does.
pub(crate) fn judged_anew(rng: &mut Stream, i: u64) -> bool {
    let kind = [ContractKind::Loc, ContractKind::Kiln][rng.below(2) as usize];
    let mut history = History::new(kind == ContractKind::Kiln);
    let careful = rng.chance(2, 3);
    for _ in 0..10 + rng.below(40) {
        history.event(rng, careful);
    }
    let log = parse(&history.text).expect("the program is well formed");
    let verdict = conform(&log.trace, &log.records, &Contract::from(kind), Demands::default());
    assert_eq!(
        verdict.is_ok(),
        history.conforms,
        "{kind}, program {i}: {verdict:?}\n{}",
        history.text
    );
    history.conforms
}

fn address(word: u64) -> u64 {
    word / 2 * 64 + word % 2 * 8
}

impl History {
    fn new(kiln: bool) -> History {
        History {
            kiln,
            text: "fencepost-log 1\n".to_owned(),
            stores: Vec::new(),
            txs: Vec::new(),
            open: vec![None; THREADS as usize],
            committed: Vec::new(),
            last: vec![0; THREADS as usize],
            held: Vec::new(),
            home: BTreeMap::new(),
            conforms: true,
        }
    }
    /// Something that may happen now; `careful`: nothing becomes durable that may not.
    fn event(&mut self, rng: &mut Stream, careful: bool) {
        let thread = rng.below(THREADS) as usize;
        match (rng.below(10), self.open[thread]) {
            (0..=2, _) if !self.stores.is_empty() => {
                let store = rng.below(self.stores.len() as u64) as usize;
                self.log(store);
            }
            (3, _) if !self.stores.is_empty() => {
                let store = rng.below(self.stores.len() as u64) as usize;
                if !careful || self.may_be_home(store) {
                    self.write_home(store);
                }
            }
            (4, None) => {
                let kept = self.recoverable(self.last[thread]);
                if kept || !careful {
                    self.conforms &= kept;
                    let _ = writeln!(self.text, "{thread} tx-flush");
                }
            }
            (_, None) => {
                let _ = writeln!(self.text, "{thread} tx-begin {}", self.txs.len());
                self.open[thread] = Some(self.txs.len());
                self.txs.push(Tx::new());
            }
            (5 | 6, Some(tx)) => {
                self.open[thread] = None;
                if !self.txs[tx].is_empty() {
                    self.committed.push(tx);
                }
                self.last[thread] = self.committed.len();
                let _ = writeln!(self.text, "{thread} tx-commit {tx}");
            }
            (7, Some(tx)) => {
                self.open[thread] = None;
                let _ = writeln!(self.text, "{thread} tx-abort {tx}");
            }
            (_, Some(tx)) => self.store(rng.below(WORDS), thread, tx),
        }
    }
    /// A store, unless another running transaction has stored to the word.
    fn store(&mut self, word: u64, thread: usize, tx: usize) {
        let running = self.open.iter().flatten().filter(|t| **t != tx);
        if running.clone().any(|t| self.txs[*t].contains_key(&word)) {
            return;
        }
        let number = self.stores.len();
        let _ = writeln!(self.text, "{thread} store pm+{:#x} {}", address(word), number + 1);
        self.stores.push(Store { word, tx });
        self.held.push(false);
        self.txs[tx].insert(word, number);
    }
    /// A copy of a store becomes durable in the log.
    fn log(&mut self, store: usize) {
        let line = LOG + 64 * store as u64;
        let _ = writeln!(self.text, "durable pm+{line:#x} cause log : 0=#{}", store + 1);
        self.held[store] = true;
    }
    /// A store becomes durable at home, with what is there of its line.
    fn write_home(&mut self, store: usize) {
        self.conforms &= self.may_be_home(store);
        let at = address(self.stores[store].word);
        let (line, word) = (at / 64 * 64, at % 64 / 8);
        let _ = writeln!(self.text, "durable pm+{line:#x} : {word}=#{}", store + 1);
        self.held[store] = true;
        self.home.insert(self.stores[store].word, store);
    }
    /// Its transaction has committed and, as all before it, would survive; and nothing newer is there.
    fn may_be_home(&self, store: usize) -> bool {
        let Store { word, tx } = self.stores[store];
        let place = self.committed.iter().position(|t| *t == tx);
        let newer = self.home.get(&word).is_some_and(|there| *there > store);
        !newer && place.is_some_and(|p| self.recoverable(p + 1))
    }
    /// Whether the first `k` transactions would survive: for them or more the newest version of every word is durable somewhere.
    fn recoverable(&self, k: usize) -> bool {
        let whole = |j: usize| {
            let mut newest = BTreeMap::new();
            for tx in &self.committed[..j] {
                newest.extend(self.txs[*tx].iter().map(|(w, s)| (*w, *s)));
            }
            newest.values().all(|s| self.held[*s])
        };
        self.kiln || (k..=self.committed.len()).any(whole)
    }
}
