//! The journal: a circle of undo entries of 64 bytes, each with up to 48 bytes of metadata as they were.
//!
//! A transaction takes a stretch of the circle (the journal's lock is held for that alone), writes its entries and orders them before
//! it changes metadata in place; what it changed is durable before its commit entry, and that before anything that the thread stores
//! later. Entries of the circle's last round are told by a number of the round (the *generation*), which stands beside the tail in
//! one word, so that going round is one store. The head follows when room is needed: up to the oldest transaction that still runs.

use crate::choices::Variant;
use crate::layout::Layout;
use crate::sites;
use crate::tx::Tx;
use fencepost_kernel::planted;
use fencepost_kernel::units::{LINE_BYTES, PM_BASE};
use fencepost_kernel::{Addr, At, Mem, Span, Val};

/// Bytes of metadata that an entry holds.
const DATA: u64 = 48;
const ENTRY: u64 = LINE_BYTES;
const HEADER: u64 = 8;
const PAYLOAD: u64 = 16;
/// Bits of the address in an entry; the others hold a check, because memory may keep any words of a line.
const ADDRESS_BITS: u32 = 40;
const HEAD: u64 = 0;
const TAIL: u64 = 8;
/// Volatile: tail, head and the number of the next transaction, counted from the mount on.
const STATE_TAIL: u64 = 0;
const STATE_HEAD: u64 = 8;
const STATE_NEXT: u64 = 16;

/// What an entry is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Metadata as they were.
    Undo,
    /// The transaction has ended.
    Commit,
}

/// An entry as recovery finds it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub kind: Kind,
    /// Number of its transaction.
    pub id: u32,
    /// What it describes.
    pub at: Addr,
    /// Bytes of it.
    pub size: u64,
    /// Where the old bytes stand.
    pub payload: Addr,
}

/// Where the journal lies.
#[derive(Clone, Debug)]
pub(super) struct Journal {
    words: Addr,
    entries: Addr,
    count: u64,
    state: Addr,
    /// Per thread where its running transaction begins, plus one; 0: none runs.
    active: Addr,
    lock: Addr,
    threads: u32,
}

/// A transaction's stretch of the journal; empty where something else makes it atomic.
#[derive(Debug)]
pub(super) struct Undo {
    id: u32,
    next: u64,
    end: u64,
    thread: u32,
}

fn header(id: u32, generation: u64, kind: Kind, size: u64) -> u64 {
    let kind = match kind {
        Kind::Undo => 1,
        Kind::Commit => 2,
    };
    u64::from(id) | (generation & 0xffff) << 32 | kind << 48 | size << 56
}
fn fold(check: u64, word: u64) -> u64 {
    (check ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
/// The first word: where the bytes belong, and the check over header, address and bytes.
fn named(offset: u64, check: u64) -> u64 {
    let check = fold(check, offset) >> ADDRESS_BITS << ADDRESS_BITS;
    check | offset
}

impl Journal {
    /// Room for so many entries, and at least for what so many threads need whose transactions write `most` each.
    pub(super) fn new(layout: &mut Layout, entries: u64, threads: u32, most: u64) -> Journal {
        let count = entries.max((u64::from(threads) + 1) * 2 * most);
        Journal {
            words: layout.pm(LINE_BYTES),
            entries: layout.pm(count * ENTRY),
            count,
            state: layout.dram(LINE_BYTES),
            active: layout.dram(u64::from(threads) * LINE_BYTES),
            lock: layout.dram(LINE_BYTES),
            threads,
        }
    }
    pub(super) fn span(&self) -> Span {
        let end = self.entries.0 + self.count * ENTRY;
        Span {
            at: self.words,
            len: end - self.words.0,
        }
    }
    /// Which round of the circle an entry belongs to; the first is 1, so that cleared memory is of none.
    fn generation(&self, at: u64) -> u64 {
        (at / self.count + 1) & 0xffff
    }
    fn tail_word(&self, at: u64) -> u64 {
        (at % self.count) | (self.generation(at) << 32)
    }
    pub(super) fn setup<M: Mem>(&self, m: &mut M) {
        m.store(At::new(self.words).field(TAIL), Val::lit(self.tail_word(0)));
    }
    fn active<D: Copy + Default>(&self, thread: u32) -> At<D> {
        At::new(Addr(self.active.0 + u64::from(thread) * LINE_BYTES))
    }
    /// Begins a transaction of at most `most` entries, the commit entry among them.
    #[track_caller]
    #[inline(always)]
    pub(super) fn begin<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, thread: u32, most: u64) -> Undo {
        let mut undo = Undo {
            id: 0,
            next: 0,
            end: 0,
            thread,
        };
        if !tx.by_hand() {
            return undo;
        }
        tx.pm.lock(At::new(self.lock));
        let state = At::new(self.state);
        let tail = tx.pm.m.load(state.field(STATE_TAIL)).v;
        // A transaction's entries follow each other: where the circle's end is too near, it starts a round.
        let left = self.count - tail % self.count;
        let start = if left < most { tail + left } else { tail };
        let end = start + most;
        if end - tx.pm.m.load(state.field(STATE_HEAD)).v >= self.count {
            self.make_room(tx, tail, end);
        }
        let id = tx.pm.m.load(state.field(STATE_NEXT)).v;
        tx.pm.m.store(state.field(STATE_NEXT), Val::lit(id + 1));
        tx.pm.m.store(state.field(STATE_TAIL), Val::lit(end));
        tx.write(At::new(self.words).field(TAIL), Val::lit(self.tail_word(end)));
        tx.pm.m.store_release(self.active(thread), Val::lit(start + 1));
        tx.pm.unlock(At::new(self.lock));
        tx.compute(sites::TX_BEGIN);
        undo.id = id as u32;
        (undo.next, undo.end) = (start, end);
        undo
    }
    /// Moves the head behind what has ended, until a stretch up to `end` is free. It is durable before the room is used again: recovery
    /// goes back from the tail to the head that it finds.
    #[track_caller]
    fn make_room<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, tail: u64, end: u64) {
        let head = loop {
            let mut oldest = tail;
            for thread in 0..self.threads {
                let begun = tx.pm.m.load_acquire(self.active(thread)).v;
                if begun > 0 {
                    oldest = oldest.min(begun - 1);
                }
            }
            if end - oldest < self.count {
                break oldest;
            }
        };
        tx.pm.acquire_fences();
        tx.pm.m.store(At::new(self.state).field(STATE_HEAD), Val::lit(head));
        tx.write(At::new(self.words).field(HEAD), Val::lit(head % self.count));
        let ordered = !planted!(
            "pmfs.head-not-ordered",
            "the journal's head is durable before its room is used again"
        );
        if ordered {
            tx.step();
        }
    }
    /// Appends undo entries of `len` bytes (whole words) at `at`.
    #[track_caller]
    #[inline(always)]
    pub(super) fn log<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, undo: &mut Undo, at: At<M::Dep>, len: u64) {
        let left_out =
            !tx.by_hand() || planted!("pmfs.entry-left-out", "metadata are in the journal before they change");
        if left_out {
            return;
        }
        let mut done = 0;
        while done < len {
            let size = DATA.min(len - done);
            self.entry(tx, undo, Kind::Undo, at.field(done), size);
            done += size;
        }
    }
    #[track_caller]
    #[inline(always)]
    fn entry<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, undo: &mut Undo, kind: Kind, at: At<M::Dep>, size: u64) {
        assert!(
            undo.next < undo.end,
            "a transaction of the file system outgrows its entries"
        );
        let to = At::new(Addr(self.entries.0 + undo.next % self.count * ENTRY));
        let header = header(undo.id, self.generation(undo.next), kind, size);
        let mut check = Val::lit(fold(0, header));
        let mut done = 0;
        while done < size {
            let old = tx.read(at.field(done));
            tx.write(to.field(PAYLOAD + done), old);
            check = check.join(old, fold);
            done += 8;
        }
        let offset = match kind {
            Kind::Undo => at.pointer().map(|a| a - PM_BASE),
            Kind::Commit => Val::lit(0),
        };
        tx.write(to, offset.join(check, named));
        tx.write(to.field(HEADER), Val::lit(header));
        tx.compute(sites::LOG_RECORD);
        undo.next += 1;
    }
    /// The entries are durable before what is stored from here on.
    #[track_caller]
    #[inline(always)]
    pub(super) fn seal<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, undo: &mut Undo) {
        if tx.slip(Variant::WrongStoreOrder) && tx.by_hand() {
            // The mistake: the commit entry before the changes.
            tx.step();
            self.entry(tx, undo, Kind::Commit, At::new(Addr(0)), 0);
        }
        let ordered = !planted!(
            "pmfs.entries-not-ordered",
            "undo entries are durable before metadata change in place"
        );
        if ordered {
            tx.step();
        }
    }
    /// What changed is durable, and then the transaction has ended.
    #[track_caller]
    #[inline(always)]
    pub(super) fn commit<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, mut undo: Undo) {
        if !tx.by_hand() {
            return;
        }
        tx.compute(sites::TX_COMMIT);
        let ordered = !planted!(
            "pmfs.commit-not-ordered",
            "metadata are durable before the commit entry"
        );
        if ordered {
            tx.step();
        }
        if !tx.slip(Variant::WrongStoreOrder) {
            self.entry(tx, &mut undo, Kind::Commit, At::new(Addr(0)), 0);
            tx.step();
        }
        tx.pm.release_fences();
        tx.pm.m.store_release(self.active(undo.thread), Val::lit(0));
    }

    /// Recovery: where the tail stands, with its generation, and the head; `None` if that is no journal.
    pub(super) fn ends<M: Mem<Dep = ()>>(&self, m: &mut M) -> Option<(u64, u64, u64)> {
        let word = m.load(At::new(self.words).field(TAIL)).v;
        let head = m.load(At::new(self.words).field(HEAD)).v;
        let (tail, generation) = (word & 0xffff_ffff, word >> 32);
        (tail < self.count && head < self.count && generation <= 0xffff).then_some((tail, generation, head))
    }
    /// The place before this one on the way back to the head.
    pub(super) fn before(&self, at: u64, generation: u64) -> (u64, u64) {
        match at {
            0 => (self.count - 1, generation.wrapping_sub(1) & 0xffff),
            _ => (at - 1, generation),
        }
    }
    /// The whole entry of this generation at a place.
    pub(super) fn read<M: Mem<Dep = ()>>(&self, m: &mut M, at: u64, generation: u64) -> Option<Entry> {
        let from = At::<()>::new(Addr(self.entries.0 + at * ENTRY));
        let (first, header) = (m.load(from).v, m.load(from.field(HEADER)).v);
        let (found, size) = (header >> 32 & 0xffff, header >> 56);
        let kind = match header >> 48 & 0xff {
            1 => Kind::Undo,
            2 => Kind::Commit,
            _ => return None,
        };
        let dead = found != generation && !planted!("pmfs.old-entry-trusted", "entries of an older round are dead");
        if dead {
            return None;
        }
        if size > DATA || !size.is_multiple_of(8) {
            return None;
        }
        let words = (0..size).step_by(8);
        let check = words.fold(fold(0, header), |c, o| fold(c, m.load(from.field(PAYLOAD + o)).v));
        let offset = first & ((1 << ADDRESS_BITS) - 1);
        let whole = first == named(offset, check) || planted!("pmfs.torn-entry-trusted", "a torn entry is dead");
        whole.then_some(Entry {
            kind,
            id: header as u32,
            at: Addr::pm(offset),
            size,
            payload: from.field(PAYLOAD).addr,
        })
    }
    /// Recovery has ended: nothing lies between head and tail.
    pub(super) fn clear<M: Mem<Dep = ()>>(&self, m: &mut M, tail: u64) {
        m.store(At::new(self.words).field(HEAD), Val::lit(tail));
    }
}

/// Each round of the journal has a generation of 16 bits.
#[test]
fn before_the_first_entry_stands_the_last_of_the_round_before() {
    let journal = Journal::new(&mut Layout::default(), 100, 1, 4);
    assert_eq!(journal.before(7, 5), (6, 5));
    assert_eq!(journal.before(0, 5), (99, 4));
    assert_eq!(journal.before(0, 0), (99, 0xffff));
}
