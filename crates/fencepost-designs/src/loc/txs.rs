//! The Tx State Table: every transaction between its start and the end of its in-place writes.

use fencepost_kernel::{HwThread, LineAddr, TxId};
use std::collections::VecDeque;

/// Internal name of a transaction: its position in the order in which transactions began, from 1.
pub type Key = u64;

/// What carries a transaction's TxCnt.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// The tag of its last block.
    Tag,
    /// A record.
    Record,
}

/// One entry of the table.
#[derive(Clone, Debug)]
pub struct Tx {
    /// Who runs it.
    pub hw_thread: HwThread,
    /// Its number within the hardware thread.
    pub id: TxId,
    /// Position in commit order, once committed.
    pub order: Option<u64>,
    /// A predecessor in begin order was aborted: it will be too.
    pub doomed: bool,
    /// Whether abort injection has looked at it.
    pub judged: bool,
    /// Lines it wrote, in the order of its first stores.
    pub lines: Vec<LineAddr>,
    /// Blocks taken into the log so far (a line written again after it was logged counts twice).
    pub blocks: u32,
    /// Blocks that went out under its early name.
    pub early: u32,
    /// Blocks durable.
    pub durable: u32,
    /// Successors that overwrote its blocks before they were logged.
    pub pairs: Vec<(Key, u32)>,
    /// TxCnt, fixed when its window closes.
    pub count: Option<u32>,
    /// What carries it.
    pub carrier: Carrier,
    /// Whether what carries it is durable.
    pub count_durable: bool,
    /// Whether its records are durable.
    pub records_durable: bool,
}
impl Tx {
    /// Blocks that successors hold.
    pub fn merged(&self) -> u32 {
        self.pairs.iter().map(|p| p.1).sum()
    }
    /// Whether a record group says anything about it.
    pub fn needs_record(&self) -> bool {
        !self.pairs.is_empty() || self.early > 0 || self.carrier == Carrier::Record
    }
    /// Whether the durable log alone says that all of its blocks are accounted for.
    pub fn complete(&self) -> bool {
        let records = self.records_durable || !self.needs_record();
        records && self.count_durable && self.count == Some(self.durable + self.merged())
    }
}

/// Entries whose memory is kept.
const SPARE: usize = 64;

/// The table, with the registers around it.
#[derive(Clone, Debug, Default)]
pub struct TxTable {
    /// Live transactions by the order in which they began; the place of one that is over is empty, or gone.
    live: VecDeque<Option<Tx>>,
    /// The first place's.
    first: Key,
    in_use: usize,
    /// Some that are over: the next ones take the memory of their lists.
    spare: Vec<Tx>,
    active: Vec<Option<Key>>,
    ids: Vec<u32>,
    next: Key,
    orders: u64,
    /// LastCommittedTxID: every transaction up to this position is committed and durable.
    pub last_committed: u64,
}
impl TxTable {
    /// An empty table for `hw_threads` hardware threads.
    pub fn new(hw_threads: u8) -> TxTable {
        TxTable {
            active: vec![None; usize::from(hw_threads)],
            ids: vec![0; usize::from(hw_threads)],
            ..TxTable::default()
        }
    }
    /// What is wrong with the table, if anything is.
    pub(super) fn unsound(&self) -> Option<&'static str> {
        let runs = |t: &Tx, key: Key| self.active[t.hw_thread.index()] == Some(key);
        let mut live = (self.first..)
            .zip(&self.live)
            .filter_map(|(key, t)| Some((key, t.as_ref()?)));
        let wrong = live.find(|(key, t)| t.order.is_none() != runs(t, *key));
        let counts = |t: &Tx| t.durable <= t.blocks && t.early <= t.blocks;
        let gone = self.active.iter().flatten().any(|key| self.get(*key).is_none());
        match () {
            () if wrong.is_some() || gone => Some("which of them run"),
            () if !self.all().all(counts) => Some("how many blocks of one are written"),
            () if self.all().count() != self.in_use => Some("how many there are"),
            () if self.last_committed > self.orders => Some("the last that is committed"),
            () => None,
        }
    }
    fn all(&self) -> impl Iterator<Item = &Tx> {
        self.live.iter().flatten()
    }
    /// Where a transaction's place is or would be.
    #[inline]
    fn place(&self, key: Key) -> usize {
        key.wrapping_sub(self.first) as usize
    }
    /// Entries in use.
    pub fn in_use(&self) -> usize {
        self.in_use
    }
    /// Starts a transaction.
    pub fn begin(&mut self, hw_thread: HwThread) -> TxId {
        self.next += 1;
        self.ids[hw_thread.index()] += 1;
        let id = TxId(self.ids[hw_thread.index()]);
        self.active[hw_thread.index()] = Some(self.next);
        let (mut lines, mut pairs) = (Vec::new(), Vec::new());
        if let Some(spare) = self.spare.pop() {
            (lines, pairs) = (spare.lines, spare.pairs);
            lines.clear();
            pairs.clear();
        }
        if self.live.is_empty() {
            self.first = self.next;
        }
        self.in_use += 1;
        self.live.push_back(Some(Tx {
            hw_thread,
            id,
            order: None,
            doomed: false,
            judged: false,
            lines,
            blocks: 0,
            early: 0,
            durable: 0,
            pairs,
            count: None,
            carrier: Carrier::Tag,
            count_durable: false,
            records_durable: false,
        }));
        id
    }
    /// The running transaction of a hardware thread.
    pub fn active(&self, hw_thread: HwThread) -> Option<Key> {
        self.active[hw_thread.index()]
    }
    /// Whether the transaction runs.
    pub fn is_active(&self, key: Key) -> bool {
        self.get(key).is_some_and(|t| t.order.is_none())
    }
    /// The entry of a live transaction.
    #[inline]
    pub fn get(&self, key: Key) -> Option<&Tx> {
        self.live.get(self.place(key))?.as_ref()
    }
    /// The entry of a transaction, if it is live.
    #[inline]
    pub fn get_mut(&mut self, key: Key) -> Option<&mut Tx> {
        let place = self.place(key);
        self.live.get_mut(place)?.as_mut()
    }
    /// The entry of a live transaction.
    ///
    /// # Panics
    /// When it is not live: callers hold keys of live transactions only.
    pub fn tx(&mut self, key: Key) -> &mut Tx {
        self.get_mut(key).expect("the transaction is live")
    }
    /// Position in commit order; `None` while running or when no longer live.
    pub fn order(&self, key: Key) -> Option<u64> {
        self.get(key).and_then(|t| t.order)
    }
    /// The running transaction commits: it gets the next position.
    pub fn commit(&mut self, key: Key) -> u64 {
        self.orders += 1;
        let order = self.orders;
        let tx = self.tx(key);
        tx.order = Some(order);
        let hw_thread = tx.hw_thread;
        self.active[hw_thread.index()] = None;
        order
    }
    /// Position that the next commit will get.
    pub fn next_order(&self) -> u64 {
        self.orders + 1
    }
    /// The entry is free again.
    pub fn free(&mut self, key: Key) {
        let place = self.place(key);
        let Some(tx) = self.live.get_mut(place).and_then(Option::take) else {
            return;
        };
        self.in_use -= 1;
        while self.live.front().is_some_and(Option::is_none) {
            self.live.pop_front();
            self.first += 1;
        }
        let active = &mut self.active[tx.hw_thread.index()];
        if *active == Some(key) {
            *active = None;
        }
        if self.spare.len() < SPARE {
            self.spare.push(tx);
        }
    }
    /// Every running transaction that began after `key` is doomed; returns how many newly are.
    pub fn doom_after(&mut self, key: Key) -> u64 {
        let mut doomed = 0;
        let later = (key + 1).saturating_sub(self.first) as usize;
        for tx in self.live.iter_mut().skip(later).flatten().filter(|t| t.order.is_none()) {
            doomed += u64::from(!std::mem::replace(&mut tx.doomed, true));
        }
        doomed
    }
    /// First position that is still live, given that `window` lists what is committed and not retired, oldest first.
    pub fn first_live(&self) -> u64 {
        let orders = self.all().filter_map(|t| t.order);
        orders.min().unwrap_or(self.next_order())
    }
    /// How many leading transactions of a window are committed: all complete, and none has lost blocks to a successor
    /// that is not among them. The planted fault believes every pair.
    pub fn committed_prefix(&self, window: &[Key], believe_pairs: bool) -> usize {
        let complete = |k: &Key| self.get(*k).is_some_and(Tx::complete);
        let mut end = window.iter().take_while(|k| complete(k)).count();
        if believe_pairs {
            return end;
        }
        loop {
            let inside = |y: Key| window[..end].contains(&y);
            let torn = window[..end]
                .iter()
                .position(|k| self.get(*k).is_some_and(|t| t.pairs.iter().any(|p| !inside(p.0))));
            match torn {
                Some(i) => end = i,
                None => return end,
            }
        }
    }
}
