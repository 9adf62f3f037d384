//! Plain memory that counts accesses, for the tests of the fronts.

use fencepost_kernel::{At, Fence, Flush, Mem, Rmw, Val, Width};
use std::collections::{BTreeSet, HashMap};

#[derive(Debug, Default)]
pub(super) struct Plain {
    words: HashMap<u64, u64>,
    pub loads: u64,
    pub stores: u64,
    /// Addresses of the words that were loaded.
    pub loaded: BTreeSet<u64>,
}
impl Mem for Plain {
    type Dep = ();
    fn load_n(&mut self, at: At<()>, width: Width) -> Val<()> {
        self.loads += 1;
        self.loaded.insert(at.addr.word().0);
        let word = self.words.get(&at.addr.word().0).copied().unwrap_or(0);
        Val::lit(width.extract(word, at.addr.0))
    }
    fn store_n(&mut self, at: At<()>, v: Val<()>, width: Width) {
        self.stores += 1;
        let word = self.words.entry(at.addr.word().0).or_default();
        *word = width.insert(*word, at.addr.0, v.v);
    }
    fn nt_store(&mut self, at: At<()>, v: Val<()>) {
        self.store(at, v);
    }
    fn flush(&mut self, _: At<()>, _: Flush) {}
    fn fence(&mut self, _: Fence) {}
    fn rmw(&mut self, _: At<()>, _: Rmw) -> Val<()> {
        panic!("a thread's own memory needs no atomics")
    }
    fn load_acquire(&mut self, at: At<()>) -> Val<()> {
        self.load(at)
    }
    fn store_release(&mut self, at: At<()>, v: Val<()>) {
        self.store(at, v);
    }
    fn lock(&mut self, _: At<()>) {}
    fn unlock(&mut self, _: At<()>) {}
}
