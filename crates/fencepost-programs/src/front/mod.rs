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
