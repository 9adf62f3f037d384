//! Undo information for hardware transactions: what functional memory held before each transactional store.

use fencepost_kernel::{Addr, HartId, Image, TxId};

struct Undo {
    hart: HartId,
    tx: TxId,
    addr: Addr,
    old: u64,
}

/// Functional stores of transactions that may still be rolled back, in the order in which they acted.
#[derive(Default)]
pub struct Journal {
    running: Vec<Option<(TxId, u32)>>,
    entries: std::collections::VecDeque<Undo>,
    first_op: Vec<std::collections::VecDeque<(TxId, u32)>>,
    pending: Vec<Option<u32>>,
}

impl Journal {
    /// A journal for `harts` threads.
    pub fn new(harts: usize) -> Journal {
        Journal {
            running: vec![None; harts],
            entries: Default::default(),
            first_op: (0..harts).map(|_| Default::default()).collect(),
            pending: vec![None; harts],
        }
    }
    /// `hart` runs transaction `tx`, begun in operation `op`.
    pub fn begin(&mut self, hart: HartId, tx: TxId, op: u32) {
        self.running[hart.index()] = Some((tx, op));
        self.first_op[hart.index()].push_back((tx, op));
    }
    /// The running transaction of `hart` has executed its last store.
    pub fn end(&mut self, hart: HartId) {
        self.running[hart.index()] = None;
    }
    /// A functional store of `hart` is about to replace `old`.
    pub fn record(&mut self, hart: HartId, addr: Addr, old: u64) {
        if let Some((tx, _)) = self.running[hart.index()] {
            self.entries.push_back(Undo { hart, tx, addr, old });
        }
    }
    /// Transactions of `hart` up to and including `tx` can no longer be rolled back.
    pub fn retire(&mut self, hart: HartId, tx: TxId) {
        while self.first_op[hart.index()].front().is_some_and(|f| f.0 <= tx) {
            self.first_op[hart.index()].pop_front();
        }
        // Entries of other harts in front keep later ones alive; that only costs memory.
        while self
            .entries
            .front()
            .is_some_and(|e| !self.first_op[e.hart.index()].iter().any(|f| f.0 == e.tx))
        {
            self.entries.pop_front();
        }
    }
    /// Restores functional memory to before transaction `tx` of `hart`, and remembers that its thread must re-run.
    pub fn roll_back(&mut self, hart: HartId, tx: TxId, memory: &mut Image) {
        let doomed = |e: &Undo| e.hart == hart && e.tx >= tx;
        for e in self.entries.iter().rev().filter(|e| doomed(e)) {
            memory.set_word(e.addr, e.old, None);
        }
        self.entries.retain(|e| !doomed(e));
        let ops = &mut self.first_op[hart.index()];
        let first = ops.iter().find(|f| f.0 >= tx).map(|f| f.1);
        ops.retain(|f| f.0 < tx);
        self.running[hart.index()] = None;
        if let Some(op) = first {
            let p = &mut self.pending[hart.index()];
            *p = Some(p.map_or(op, |q| q.min(op)));
        }
    }
    /// Takes the operation from which `hart` must re-run, if it was rolled back.
    pub fn take_pending(&mut self, hart: HartId) -> Option<u32> {
        self.pending[hart.index()].take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn rolling_back_restores_the_oldest_value_and_keeps_earlier_transactions() {
        let (h, mut j, mut m) = (HartId(0), Journal::new(1), Image::default());
        let a = Addr::pm(0);
        for (tx, op, value) in [(1, 10, 5), (2, 11, 6), (3, 12, 7)] {
            j.begin(h, TxId(tx), op);
            j.record(h, a, m.word(a));
            m.set_word(a, value, None);
            j.end(h);
        }
        j.roll_back(h, TxId(2), &mut m);
        assert_eq!((m.word(a), j.take_pending(h), j.take_pending(h)), (5, Some(11), None));
        j.roll_back(h, TxId(1), &mut m);
        assert_eq!((m.word(a), j.take_pending(h)), (0, Some(10)));
    }
}
