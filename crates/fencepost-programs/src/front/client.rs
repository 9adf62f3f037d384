//! The client of Echo: it makes a key and a value of the stated sizes, and keeps its puts in a store of its own until it merges them.
//!
//! A put copies key and value into the client's store. A look-up there compares keys whole; a look-up in the master, and every put of
//! a merge, hashes the whole key first.
//!
//! After Echo's description (Bailey and others, INFLOW 2013) and WHISPER's run of it: keys of 128 bytes, values of 1,024. Its own store
//! is searched slot by slot here, which a hash table is in the original.

use super::{Own, Reader, Writer, hash};
use crate::layout::Layout;
use fencepost_kernel::{At, Mem};

/// What each client keeps.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Client {
    own: Own,
    /// Bytes of a key and of a value.
    key: u64,
    value: u64,
}

impl Client {
    /// Clients that keep so many puts, with keys and values of so many bytes.
    pub(crate) fn new(layout: &mut Layout, threads: u32, (key, value): (u64, u64), puts: u32) -> Client {
        let own = Own::new(layout, threads, key + value + u64::from(puts) * key);
        Client { own, key, value }
    }
    fn kept<D: Copy + Default>(&self, thread: u32, slot: u32) -> At<D> {
        self.own
            .word(thread, self.key + self.value + u64::from(slot) * self.key)
    }
    /// The client makes a request: a key, and for a put a value, which is read from here.
    pub(crate) fn request<M: Mem>(&self, m: &mut M, thread: u32, key: u64, put: Option<u64>) -> Reader<M::Dep> {
        let mut w = Writer::new(self.own.at(thread, 0));
        w.words(m, self.key / 8, key);
        w.words(m, if put.is_some() { self.value / 8 } else { 0 }, put.unwrap_or(0));
        Reader::new(self.own.at(thread, self.key))
    }
    /// Copies the key of a put to its slot.
    pub(crate) fn keep<M: Mem>(&self, m: &mut M, thread: u32, slot: u32) {
        for w in 0..self.key / 8 {
            let word = m.load(self.own.word(thread, w * 8));
            m.store(self.kept(thread, slot).field(w * 8), word);
        }
    }
    /// Whether the request's key is that of a slot, of which the first words are equal.
    pub(crate) fn same<M: Mem>(&self, m: &mut M, thread: u32, slot: u32) -> bool {
        (1..self.key / 8).all(|w| {
            let wanted = m.load(self.own.word(thread, w * 8)).v;
            m.load(self.kept(thread, slot).field(w * 8)).v == wanted
        })
    }
    /// Hashes the request's key.
    pub(crate) fn hash_request<M: Mem>(&self, m: &mut M, thread: u32) {
        hash(m, Reader::new(self.own.at(thread, 0)), self.key);
    }
    /// Hashes the key of a slot.
    pub(crate) fn hash_kept<M: Mem>(&self, m: &mut M, thread: u32, slot: u32) {
        hash(m, Reader::new(self.kept::<M::Dep>(thread, slot).addr), self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::plain::Plain;

    #[test]
    fn what_is_kept_is_what_was_asked_for() {
        let client = Client::new(&mut Layout::default(), 2, (128, 1024), 8);
        let mut m = Plain::default();
        let mut value = client.request(&mut m, 1, 77, Some(5));
        assert!((0..128).all(|_| value.word(&mut m).v == 5));
        client.keep(&mut m, 1, 3);
        assert!(client.same(&mut m, 1, 3) && !client.same(&mut m, 1, 2));
        client.request(&mut m, 1, 78, None);
        assert!(!client.same(&mut m, 1, 3));
    }

    /// A request is key and value, one behind the other; keys that are kept lie behind both, and a client's behind the one before it.
    #[test]
    fn what_a_client_keeps_lies_apart() {
        let (key, value, puts) = (24, 40, 3);
        let client = Client::new(&mut Layout::default(), 2, (key, value), puts);
        let mut m = Plain::default();
        for thread in 0..2 {
            for slot in 0..puts {
                client.request(&mut m, thread, u64::from(10 * thread + slot + 1), None);
                client.keep(&mut m, thread, slot);
            }
            client.request(&mut m, thread, 99, Some(7));
        }
        for thread in 0..2 {
            let words = |m: &mut Plain, from: u64, n: u64| -> Vec<u64> {
                (0..n)
                    .map(|w| m.load(client.own.word(thread, from + w * 8)).v)
                    .collect()
            };
            assert_eq!(words(&mut m, 0, 8), [99, 99, 99, 7, 7, 7, 7, 7]);
            for slot in 0..puts {
                let kept = words(&mut m, key + value + u64::from(slot) * key, 3);
                assert_eq!(kept, [u64::from(10 * thread + slot + 1); 3]);
            }
        }
        let apart = client.own.at(1, 0).0 - client.own.at(0, 0).0;
        assert_eq!(apart, (key + value + 3 * key).next_multiple_of(64));
    }
    /// Keys are copied a load and a store a word, compared from the second word on up to the first that differs, and hashed a load a word.
    #[test]
    fn keys_cost_what_their_size_says() {
        let client = Client::new(&mut Layout::default(), 1, (128, 64), 2);
        let mut m = Plain::default();
        client.request(&mut m, 0, 5, Some(1));
        assert_eq!((m.stores, m.loads), (16 + 8, 0));
        client.request(&mut m, 0, 5, None);
        assert_eq!((m.stores, m.loads), (16 + 8 + 16, 0));
        let mut cost = |act: &dyn Fn(&mut Plain)| {
            let before = (m.loads, m.stores);
            act(&mut m);
            (m.loads - before.0, m.stores - before.1)
        };
        assert_eq!(cost(&|m| client.keep(m, 0, 1)), (16, 16));
        assert_eq!(cost(&|m| assert!(client.same(m, 0, 1))), (2 * 15, 0));
        assert_eq!(cost(&|m| assert!(!client.same(m, 0, 0))), (2, 0));
        assert_eq!(cost(&|m| client.hash_request(m, 0)), (16, 0));
        assert_eq!(cost(&|m| client.hash_kept(m, 0, 1)), (16, 0));
    }
}
