//! Undo information of hardware transactions: what memory held before each store of a thread that may be rolled back.
//!
//! Stores act twice: on functional memory when the program issues them, on coherent memory when they perform. Both are
//! journalled, from the start of a transaction until the design retires it; stores between two transactions belong to
//! the one before, because re-running its operation runs them again. A thread that was rolled back learns of it at its
//! next transaction start. Until then it runs on with values that no longer exist, so its stores are squashed: plain and
//! non-temporal ones, releases and atomics. Only locks are taken and released.

use fencepost_kernel::planted;
use fencepost_kernel::{Addr, HwThread, Image, LineAddr, StoreId, TxId};
use std::collections::VecDeque;

/// Stores of one transaction that may still be rolled back.
struct Transaction {
    tx: TxId,
    op: u32,
    functional: Vec<(Addr, u64)>,
    performed: Vec<(Addr, u64, Option<StoreId>)>,
}

#[derive(Default)]
struct Thread {
    live: VecDeque<Transaction>,
    /// One that is over: the next one takes the memory of its lists.
    spare: Option<Transaction>,
    pending: Option<u32>,
}

/// The journal of every thread.
#[derive(Default)]
pub struct Journal {
    threads: Vec<Thread>,
}

impl Journal {
    /// A journal for `hw_threads` threads.
    pub fn new(hw_threads: usize) -> Journal {
        Journal {
            threads: (0..hw_threads).map(|_| Thread::default()).collect(),
        }
    }
    /// `hw_thread` runs transaction `tx`, begun in operation `op`. Transaction 0 stands for hardware without transactions and
    /// is not journalled.
    pub fn begin(&mut self, hw_thread: HwThread, tx: TxId, op: u32) {
        if tx != TxId(0) {
            let thread = &mut self.threads[hw_thread.index()];
            let (mut functional, mut performed) = (Vec::new(), Vec::new());
            if let Some(spare) = thread.spare.take() {
                (functional, performed) = (spare.functional, spare.performed);
                functional.clear();
                performed.clear();
            }
            thread.live.push_back(Transaction {
                tx,
                op,
                functional,
                performed,
            });
        }
    }
    /// A functional store of `hw_thread` is about to replace `old`; false if it must not, because the thread was rolled back.
    pub fn issue(&mut self, hw_thread: HwThread, addr: Addr, old: u64) -> bool {
        let thread = &mut self.threads[hw_thread.index()];
        if let Some(t) = thread.live.back_mut() {
            t.functional.push((addr, old));
        }
        thread.pending.is_none()
    }
    /// Whether stores of `hw_thread` may still be rolled back.
    #[inline]
    pub fn in_transaction(&self, hw_thread: HwThread) -> bool {
        !self.threads[hw_thread.index()].live.is_empty()
    }
    /// A store of `hw_thread` that is about to perform replaces `old`, written by `by`.
    pub fn perform(&mut self, hw_thread: HwThread, addr: Addr, old: u64, by: Option<StoreId>) {
        if let Some(t) = self.threads[hw_thread.index()].live.back_mut() {
            t.performed.push((addr, old, by));
        }
    }
    /// Whether the thread was rolled back and does not know it yet.
    pub fn rolled_back(&self, hw_thread: HwThread) -> bool {
        self.threads[hw_thread.index()].pending.is_some()
    }
    /// Transactions of `hw_thread` up to and including `tx` can no longer be rolled back.
    pub fn retire(&mut self, hw_thread: HwThread, tx: TxId) {
        let thread = &mut self.threads[hw_thread.index()];
        while thread.live.front().is_some_and(|t| t.tx <= tx) {
            thread.spare = thread.live.pop_front();
        }
    }
    /// Restores memory, functional and coherent, to before transaction `tx` of `hw_thread`; its thread must re-run from there.
    /// Returns the lines of which coherent memory was restored, in order, each once.
    pub fn roll_back(
        &mut self,
        hw_thread: HwThread,
        tx: TxId,
        functional: &mut Image,
        coherent: &mut Image,
    ) -> Vec<LineAddr> {
        let thread = &mut self.threads[hw_thread.index()];
        let mut lines = Vec::new();
        while thread.live.back().is_some_and(|t| t.tx >= tx) {
            let Some(t) = thread.live.pop_back() else { break };
            for (addr, old) in t.functional.into_iter().rev() {
                functional.set_word(addr, old, None);
            }
            let lost = planted!(
                "core.roll-back-leaves-stores",
                "a roll-back restores what had performed"
            );
            for (addr, old, by) in t.performed.into_iter().rev().filter(|_| !lost) {
                coherent.set_word(addr, old, by);
                lines.push(addr.line());
            }
            thread.pending = Some(thread.pending.map_or(t.op, |p| p.min(t.op)));
        }
        lines.sort_unstable();
        lines.dedup();
        lines
    }
    /// Takes the operation from which `hw_thread` must re-run, if it was rolled back.
    pub fn take_pending(&mut self, hw_thread: HwThread) -> Option<u32> {
        self.threads[hw_thread.index()].pending.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    const H: HwThread = HwThread(0);

    fn run(j: &mut Journal, m: &mut Image, tx: u32, value: u64) {
        let a = Addr::pm(0);
        j.begin(H, TxId(tx), 9 + tx);
        j.perform(H, a, m.word(a), m.writer(a));
        assert!(j.issue(H, a, m.word(a)));
        m.set_word(a, value, StoreId::from_index(tx as usize));
    }
    #[test]
    fn rolling_back_restores_the_oldest_value_and_keeps_earlier_transactions() {
        let (mut j, mut m, a) = (Journal::new(1), Image::with_writers(), Addr::pm(0));
        for (tx, value) in [(1, 5), (2, 6), (3, 7)] {
            run(&mut j, &mut m, tx, value);
        }
        let mut coherent = m.clone();
        let restored = j.roll_back(H, TxId(2), &mut m, &mut coherent);
        assert_eq!(restored, [a.line()], "stored to twice");
        assert_eq!((m.word(a), coherent.word(a)), (5, 5));
        assert_eq!(coherent.writer(a), StoreId::from_index(1));
        assert_eq!((j.take_pending(H), j.take_pending(H)), (Some(11), None));
        j.roll_back(H, TxId(1), &mut m, &mut coherent);
        assert_eq!((m.word(a), j.take_pending(H)), (0, Some(10)));
    }
    #[test]
    fn a_retired_transaction_stays_and_stores_after_a_roll_back_are_squashed() {
        let (mut j, mut m, a) = (Journal::new(1), Image::default(), Addr::pm(0));
        run(&mut j, &mut m, 1, 5);
        j.retire(H, TxId(1));
        run(&mut j, &mut m, 2, 6);
        assert!(j.issue(H, Addr::pm(8), 0), "a store after the transaction");
        m.set_word(Addr::pm(8), 1, None);
        let mut coherent = m.clone();
        j.roll_back(H, TxId(1), &mut m, &mut coherent);
        assert_eq!((m.word(a), m.word(Addr::pm(8))), (5, 0));
        assert!(j.rolled_back(H) && !j.issue(H, a, 5));
        assert_eq!(j.take_pending(H), Some(11));
        assert!(j.issue(H, a, 5));
    }
}
