//! What a server says: its port, and what it did. In a file that outlives it.
//!
//! Entries have ten words: the kind, then an epoch, its first byte and length; or a line and what it holds; or the next epoch of each client.

use super::super::words::Words;
use crate::error::NativeError;
use crate::wire::{MOST_CHANNELS, Next, Noted};
use fencepost_kernel::{Addr, EpochId, LineAddr};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

const COUNT: usize = 0;
const PORT: usize = 1;
/// Words before the entries, and of one.
const HEAD: usize = 8;
const ENTRY: usize = 10;
/// Entries of a server that notes: more than it fills in the time that it has.
const CAPACITY: usize = 1 << 17;

const STARTED: u64 = 1;
const APPLIED: u64 = 2;
const DURABLE: u64 = 3;

/// One epoch in a word. Positions in a transaction stay below 2^16.
pub(super) fn packed(id: EpochId) -> u64 {
    u64::from(id.client) << 48 | u64::from(id.tx) << 16 | u64::from(id.epoch)
}
/// The epoch again.
pub(super) fn unpacked(w: u64) -> EpochId {
    EpochId {
        client: (w >> 48) as u8,
        tx: (w >> 16) as u32,
        epoch: (w & 0xffff) as u32,
    }
}
/// What is expected next of a client, as it stands in memory.
pub(super) fn next_word(next: Next) -> u64 {
    u64::from(next.0) << 16 | u64::from(next.1)
}
/// The same, read.
pub(super) fn next_of(word: u64) -> Next {
    ((word >> 16) as u32, (word & 0xffff) as u32)
}

/// The file.
pub(super) struct Board {
    words: Words,
    capacity: usize,
    /// Whoever notes.
    one: Mutex<()>,
}

impl Board {
    /// The board at `path`, made if absent.
    pub(super) fn open(path: &Path, traced: bool) -> Result<Board, NativeError> {
        let capacity = if traced { CAPACITY } else { 0 };
        Ok(Board {
            words: Words::file(path, HEAD + capacity * ENTRY)?,
            capacity,
            one: Mutex::new(()),
        })
    }
    /// The server's port; 0 while there is none.
    pub(super) fn port(&self) -> u16 {
        self.words[PORT].load(Ordering::Acquire) as u16
    }
    /// Says it.
    pub(super) fn set_port(&self, port: u16) {
        self.words[PORT].store(port.into(), Ordering::Release);
    }
    /// Entries noted.
    pub(super) fn count(&self) -> u64 {
        self.words[COUNT].load(Ordering::Acquire)
    }
    /// Whether nothing more fits.
    pub(super) fn is_full(&self) -> bool {
        self.capacity > 0 && self.count() as usize + usize::from(u8::MAX) >= self.capacity
    }
    /// Notes all of these, or, for a reader of what a killed process left, none.
    pub(super) fn note(&self, all: impl IntoIterator<Item = Noted>) {
        if self.capacity == 0 {
            return;
        }
        let _one = self.one.lock().unwrap_or_else(PoisonError::into_inner);
        let mut n = self.count() as usize;
        for noted in all {
            if n < self.capacity {
                let words = words_of(noted);
                for (to, w) in self.words[HEAD + n * ENTRY..][..ENTRY].iter().zip(words) {
                    to.store(w, Ordering::Relaxed);
                }
                n += 1;
            }
        }
        self.words[COUNT].store(n as u64, Ordering::Release);
    }
    /// Everything noted so far.
    pub(super) fn noted(&self) -> Vec<Noted> {
        let n = (self.count() as usize).min(self.capacity);
        let entries = self.words[HEAD..].chunks_exact(ENTRY).take(n);
        entries
            .map(|e| {
                let w: Vec<u64> = e.iter().map(|w| w.load(Ordering::Relaxed)).collect();
                noted_of(&w)
            })
            .collect()
    }
}

fn words_of(noted: Noted) -> [u64; ENTRY] {
    let mut w = [0; ENTRY];
    match noted {
        Noted::Started(next) => {
            w[0] = STARTED;
            for (to, n) in w[1..].iter_mut().zip(next) {
                *to = next_word(n);
            }
        }
        Noted::Applied { id, at, bytes } => w[..4].copy_from_slice(&[APPLIED, packed(id), at.0, bytes]),
        Noted::Durable { line, words } => {
            (w[0], w[1]) = (DURABLE, line.0);
            w[2..].copy_from_slice(&words);
        }
    }
    w
}
fn noted_of(w: &[u64]) -> Noted {
    match w[0] {
        STARTED => Noted::Started(w[1..=usize::from(MOST_CHANNELS)].iter().map(|n| next_of(*n)).collect()),
        APPLIED => Noted::Applied {
            id: unpacked(w[1]),
            at: Addr(w[2]),
            bytes: w[3],
        },
        _ => Noted::Durable {
            line: LineAddr(w[1]),
            words: std::array::from_fn(|i| w[2 + i]),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_read_by_whoever_opens_the_file_next() {
        let scratch = super::super::super::scratch::Scratch::new("board-test");
        let path = scratch.path();
        let (client, tx, epoch) = (7, u32::MAX, 65_535);
        let all = [
            Noted::Started(vec![(3, 1), (0, 0), (9, 2), (0, 0), (0, 0), (0, 0), (0, 0), (1, 1)]),
            Noted::Applied {
                id: EpochId { client, tx, epoch },
                at: Addr::pm(64),
                bytes: 40,
            },
            Noted::Durable {
                line: LineAddr(5),
                words: [1, 2, 3, 4, 5, 6, 7, u64::MAX],
            },
        ];
        let board = Board::open(path, true).unwrap();
        board.note(all.clone());
        board.set_port(4711);
        drop(board);
        let read = Board::open(path, true).unwrap();
        assert_eq!((read.noted(), read.count(), read.port()), (all.to_vec(), 3, 4711));
    }
}
