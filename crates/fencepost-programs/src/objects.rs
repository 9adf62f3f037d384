//! What the object-store maps (`ctree`, `hashmap`) share: values, references of two words, keys of 64 bits.

use crate::dict::{Keys, Toggle, digest};
use crate::draw::below;
use crate::front::{Reader, next_word};
use crate::layout::{Layout, Rows};
use crate::oracle::{Builder, History};
use crate::pool::Pool;
use crate::settings::Settings;
use crate::small::Small;
use crate::tx::Tx;
use fencepost_kernel::{At, Bytes, Mem, OpRecord, Outcome, Val, rng};
use std::collections::BTreeMap;

/// Bytes of the smallest block: the size class that holds a node behind an allocator's header.
const BLOCK: u64 = 128;

/// Values of the map, and the blocks that hold them. Nodes lie in blocks of the same size.
#[derive(Copy, Clone, Debug)]
pub struct Values {
    words: u64,
}

/// What a reference names; it stands in the reference's first word, as an object store's pool and type do.
pub(crate) const NONE: u64 = 0;
pub(crate) const NODE: u64 = 1;
pub(crate) const VALUE: u64 = 2;

/// Keys and values that are inserted.
#[derive(Clone, Debug)]
pub struct Inserts {
    pub seed: u64,
    pub threads: u32,
    /// Distinct keys that operations draw from; 0: each has a key of its own.
    pub keys: u64,
    pub preload: u64,
    /// Inserts of one transaction.
    pub batch: u32,
    /// Whether an operation on a key that is there removes it; else it gives it a new value.
    pub removes: bool,
    pub values: Values,
}

impl Inserts {
    /// Inserts of so many a transaction, with values of this length, where so many keys stand before the run and operations draw from so
    /// many (0: each has a key of its own); `removes` as above.
    pub fn new(
        s: &Settings,
        (preload, keys): (u64, u64),
        (batch, removes): (u32, bool),
        value: Bytes,
    ) -> Result<Inserts, String> {
        Ok(Inserts {
            seed: s.seed,
            threads: s.threads,
            keys,
            preload,
            batch,
            removes,
            values: Values::new(value.0)?,
        })
    }
    /// The `n`-th of all keys: 64 bits that look drawn, different for every `n` below 2^40, never 0.
    pub fn key(&self, n: u64) -> u64 {
        rng::mix((self.seed << 40) ^ (n + 1))
    }
    /// The keys present before the run, with their values.
    pub fn preloaded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        (0..self.preload).map(|n| (self.key(n), n + 1))
    }
    /// The blocks of the keys before the run and of those that are inserted: two each.
    pub fn blocks(&self, s: &Settings, layout: &mut Layout) -> (Rows, Pool) {
        let block = self.values.block();
        let preload = Rows::new(layout, block, 2 * self.preload);
        let inserted = 2 * u64::from(s.ops) * u64::from(self.batch);
        (preload, Pool::new(layout, s.threads, block, inserted))
    }
    /// Keys that the map may come to hold.
    pub fn most(&self, ops: u32) -> u64 {
        let inserted = u64::from(self.threads) * u64::from(ops) * u64::from(self.batch);
        self.preload
            + if self.keys == 0 {
                inserted
            } else {
                inserted.min(self.keys)
            }
    }
}

impl Keys for Inserts {
    fn refusal(&self, ops: u32) -> Option<String> {
        let serials = u64::from(self.threads) * u64::from(ops) * u64::from(self.batch);
        match self {
            i if i.keys > 0 && i.keys < u64::from(i.batch) => {
                Some("batch exceeds keys: one transaction's differ".into())
            }
            i if i.preload + serials >= 1 << 40 => Some("more keys than 2^40".into()),
            _ => None,
        }
    }
    /// Keys of one transaction differ.
    fn input(&self, thread: u32, k: u32) -> Small<Toggle, 1> {
        let mut inserts = Small::new(Toggle::default());
        for sub in 0..u64::from(self.batch) {
            let op = u64::from(k) * u64::from(self.threads) + u64::from(thread);
            let serial = op * u64::from(self.batch) + sub;
            let number = match self.keys {
                0 => self.preload + serial,
                // Parts of the key space, so that no transaction draws a key twice.
                n => {
                    let part = n / u64::from(self.batch);
                    sub * part + below(rng::hash(&[self.seed, serial, 1]), part.max(1))
                }
            };
            inserts.push(Toggle {
                key: self.key(number),
                value: self.preload + serial + 1,
            });
        }
        inserts
    }
    /// What was removed, digested if an oracle looks; what an insert finds is never asked for.
    #[inline(always)]
    fn outcome<M: Mem>(found: &[u64]) -> Outcome {
        Outcome {
            kind: 1,
            words: [if M::OBSERVED { removed(found) } else { 0 }, 0, 0],
        }
    }
    /// Operations in the order of the one lock.
    fn history(&self, ops: &[OpRecord], _: impl Fn(u64) -> u64) -> History {
        let mut b = Builder::new(ops);
        self.preloaded().for_each(|(key, value)| b.initial(key, value));
        // What is there matters only where it is removed.
        let mut now: BTreeMap<u64, u64> = self.preloaded().filter(|_| self.removes).collect();
        let (mut before, mut serial): (Option<(u32, u32)>, bool) = (None, true);
        for o in ops {
            let op = (o.thread, o.k);
            let mut found = Vec::with_capacity(self.batch as usize);
            for wanted in self.input(o.thread, o.k).as_slice() {
                let old = if self.removes { now.remove(&wanted.key) } else { None };
                if self.removes && old.is_none() {
                    now.insert(wanted.key, wanted.value);
                }
                found.push(old.unwrap_or(0));
                b.write(wanted.key, op, if old.is_some() { 0 } else { wanted.value });
            }
            serial &= o.outcome.words[0] == removed(&found);
            if let Some(before) = before.replace(op) {
                b.depends(before, op);
            }
        }
        b.build_if(
            serial,
            "what the operations removed is not what the lock's order of them leaves",
        )
    }
}

/// What an operation says of the values it removed: 0 if there was none.
fn removed(found: &[u64]) -> u64 {
    if found.iter().any(|f| *f != 0) {
        digest(found)
    } else {
        0
    }
}

impl Values {
    /// Values of `bytes`, or why there can be none.
    pub fn new(bytes: u64) -> Result<Values, String> {
        if !bytes.is_multiple_of(8) || !(8..=4096).contains(&bytes) {
            return Err(format!("value = {bytes}B is no multiple of 8 within 8..=4096"));
        }
        Ok(Values { words: bytes / 8 })
    }
    /// Words of a value.
    pub fn words(&self) -> u64 {
        self.words
    }
    /// Bytes of a block.
    pub fn block(&self) -> u64 {
        (self.words * 8).max(BLOCK)
    }
    /// Fills a new value, from where the front has it or with words at hand; the word that is written last.
    #[inline(always)]
    pub fn fill<M: Mem>(
        &self,
        tx: &mut Tx<'_, '_, M>,
        block: At<M::Dep>,
        (value, last): (u64, u64),
        mut data: Option<Reader<M::Dep>>,
    ) -> At<M::Dep> {
        let mut w = 0;
        while w < self.words - 1 {
            let word = next_word(tx.pm.m, &mut data, value);
            tx.fresh(block.field(8 * w), word);
            w += 1;
        }
        let at = block.field(8 * w);
        let word = next_word(tx.pm.m, &mut data, last);
        tx.fresh(at, if last == value { word } else { Val::lit(last) });
        at
    }
    /// Fills a value before the run.
    pub fn fill_first<M: Mem>(&self, m: &mut M, block: At<M::Dep>, value: u64) {
        (0..self.words).for_each(|w| m.store(block.field(8 * w), Val::lit(value)));
    }
    /// A value, if all its words agree.
    pub fn whole<M: Mem<Dep = ()>>(&self, m: &mut M, block: At<()>) -> Option<u64> {
        let value = m.load(block).v;
        let same = (1..self.words).all(|w| m.load(block.field(8 * w)).v == value);
        (same && value != 0).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::tests::Words;
    use fencepost_kernel::Addr;

    #[test]
    fn a_value_is_whole_where_each_of_its_words_agrees() {
        for words in 1..=6 {
            let (values, mut m) = (Values::new(8 * words).unwrap(), Words::default());
            let block = At::new(Addr::pm(4096));
            assert_eq!(values.whole(&mut m, block), None, "nothing was stored");
            values.fill_first(&mut m, block, 7);
            // What is beside it is not its own.
            m.store(block.field(8 * words), Val::lit(9));
            assert_eq!(values.whole(&mut m, block), Some(7), "{words} words");
            for torn in 0..words {
                m.store(block.field(8 * torn), Val::lit(8));
                let wanted = (words == 1).then_some(8);
                assert_eq!(
                    values.whole(&mut m, block),
                    wanted,
                    "word {torn} of {words} is another's"
                );
                m.store(block.field(8 * torn), Val::lit(7));
            }
        }
    }
}
