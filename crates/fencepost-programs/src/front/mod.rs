//! What an application does in volatile memory around its transactions: it receives a request, parses it, hashes the key, copies the
//! value to its place, keeps its own records and writes a reply.
//!
//! The programs of the WHISPER suite are the transactions of applications whose other work is volatile. With `front` =
//! `application` a program does that work too: it takes the request from a buffer into which the client's text was received, and values
//! go from that buffer into persistent memory. Every access does something that the application does, and how many there are follows
//! from the request. By default the request is at hand, as in programs that measure the transaction alone.
//!
//! | program | before and during the transaction | after it |
//! |---|---|---|
//! | `memcached` | `ascii`: text protocol, tokens, numbers, hash of the key, counters | reply with the item |
//! | `redis` | `resp`: array of strings, an object for each argument, command table | reply, arguments freed |
//! | `echo` | `client`: key and value of the client, copied to its store; keys hashed at a merge | |
//! | `nstore-ycsb`, `nstore-tpcc` | `procedure`: a record built of strings, keys written out and hashed | result written out |
//! | `vacation` | `agency`: numbers drawn by a generator of 624 words, lists of the query | |
//! | `ctree`, `hashmap` | `driver`: key and value of the driver, records of the object library | |
//!
//! What the operating system does of its own (system calls, the network's buffers) is left out: a trace of the process has none of it.
//! Not modelled either: the read and write sets of a software transactional memory, threads that hand connections out, background
//! threads.

mod agency;
mod ascii;
mod buffer;
mod client;
mod driver;
#[cfg(test)]
mod plain;
mod procedure;
mod resp;

pub(crate) use agency::Agency;
pub(crate) use ascii::Ascii;
pub use buffer::Reader;
pub(crate) use buffer::Writer;
pub(crate) use client::Client;
pub(crate) use driver::Driver;
pub(crate) use procedure::Procedure;
pub(crate) use resp::Resp;

use crate::layout::Layout;
use crate::sites;
use fencepost_kernel::{Addr, At, Mem, Val, param_enum};

param_enum! {
    /// What a program does around its transactions.
    pub enum Front {
        /// Nothing: the request is at hand.
        None = "none",
        /// What the application does in volatile memory: it receives and parses the request and replies.
        Application = "application",
    }
}
impl Front {
    /// The front that `make` builds, if there is one.
    pub(crate) fn then<T>(self, make: impl FnOnce() -> T) -> Option<T> {
        (self == Front::Application).then(make)
    }
}

/// Volatile memory of each thread.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Own {
    base: Addr,
    bytes: u64,
    threads: u32,
}
impl Own {
    /// Reserves so many bytes for each thread, on lines of their own.
    fn new(layout: &mut Layout, threads: u32, bytes: u64) -> Own {
        let bytes = bytes.next_multiple_of(64);
        let base = layout.dram(bytes * u64::from(threads));
        Own { base, bytes, threads }
    }
    /// A byte of a thread's.
    #[inline(always)]
    fn at(&self, thread: u32, offset: u64) -> Addr {
        Addr(self.base.0 + u64::from(thread) * self.bytes + offset)
    }
    /// A word of a thread's.
    #[inline(always)]
    fn word<D: Copy + Default>(&self, thread: u32, offset: u64) -> At<D> {
        At::new(self.at(thread, offset))
    }
}

/// The next word of a value: from where the front has it, or at hand.
#[inline(always)]
pub(crate) fn next_word<M: Mem>(m: &mut M, data: &mut Option<Reader<M::Dep>>, word: u64) -> Val<M::Dep> {
    match data {
        Some(data) => data.word(m),
        None => Val::lit(word),
    }
}

/// Adds to a counter.
#[inline(always)]
fn count<M: Mem>(m: &mut M, at: At<M::Dep>, more: u64) {
    let before = m.load(at);
    m.store(at, before.map(|n| n.wrapping_add(more)));
}

/// Hashes a key of so many bytes, a word at a time, as the hash functions of these applications read it.
#[inline(always)]
fn hash<M: Mem>(m: &mut M, mut key: Reader<M::Dep>, bytes: u64) -> Val<M::Dep> {
    let mut state = Val::lit(bytes);
    for _ in 0..bytes.div_ceil(8) {
        let next = key.word(m);
        state = state.join(next, |s, w| (s ^ w).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
    }
    m.compute(sites::HASH_KEY);
    state
}

#[cfg(test)]
mod tests {
    use super::*;
    use plain::Plain;
    use std::collections::BTreeSet;

    /// Every bit of a key counts, and so does where it stands and how long the key is; a word is loaded once.
    #[test]
    fn a_hash_depends_on_every_bit_of_the_key() {
        let hash_of = |words: [u64; 3], bytes: u64| {
            let mut m = Plain::default();
            for (w, word) in (0..).zip(words) {
                m.store(At::new(Addr(64 + w * 8)), Val::lit(word));
            }
            let hashed = hash(&mut m, Reader::new(Addr(64)), bytes).v;
            assert_eq!(m.loads, bytes.div_ceil(8));
            hashed
        };
        for word in 0..3 {
            let mut seen = BTreeSet::from([hash_of([0; 3], 24), hash_of([u64::MAX; 3], 24)]);
            for bit in 0..64 {
                let mut key = [0; 3];
                key[word] = 1 << bit;
                assert!(seen.insert(hash_of(key, 24)), "bit {bit} of word {word}");
                let flipped = key.map(|w: u64| !w);
                assert!(seen.insert(hash_of(flipped, 24)), "bit {bit} of word {word} in ones");
            }
        }
        let mut seen = BTreeSet::from([hash_of([0; 3], 24)]);
        for bytes in [1, 8, 9, 16, 17, 23] {
            assert!(seen.insert(hash_of([0; 3], bytes)), "{bytes} bytes");
        }
    }
    /// A counter is added to, and begins anew beyond its last number.
    #[test]
    fn counters_add_up() {
        let mut m = Plain::default();
        let at = At::new(Addr(64));
        for (more, sum) in [(5, 5), (7, 12), (u64::MAX, 11)] {
            count(&mut m, at, more);
            assert_eq!(m.load(at).v, sum);
        }
    }
    /// A value comes from the text where there is one, else it is at hand; a front is there if it is asked for.
    #[test]
    fn values_come_from_the_text_if_there_is_one() {
        let mut m = Plain::default();
        m.store(At::new(Addr(64)), Val::lit(3));
        let (mut text, mut none) = (Some(Reader::<()>::new(Addr(64))), None);
        assert_eq!(next_word(&mut m, &mut text, 9).v, 3);
        assert_eq!(next_word(&mut m, &mut none, 9).v, 9);
        assert_eq!(Front::Application.then(|| 1), Some(1));
        assert_eq!(Front::None.then(|| 1), None);
    }
    /// What a thread keeps begins on a line and ends in front of the next thread's.
    #[test]
    fn threads_keep_apart() {
        for bytes in [1, 64, 65, 200] {
            let mut layout = Layout::default();
            let before = layout.footprint().dram.0;
            let own = Own::new(&mut layout, 3, bytes);
            assert_eq!(layout.footprint().dram.0 - before, 3 * bytes.next_multiple_of(64));
            for thread in 0..3 {
                let at = before + u64::from(thread) * bytes.next_multiple_of(64);
                assert_eq!(own.at(thread, 5), Addr(at + 5));
                assert_eq!(own.word::<()>(thread, 8).addr, Addr(at + 8));
            }
        }
    }
}
