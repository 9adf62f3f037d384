//! What clients were told is durable, in a file that outlives them.

use super::super::words::Words;
use super::board::{packed, unpacked};
use super::frames::Key;
use super::token::random;
use crate::error::NativeError;
use crate::wire::Belief;
use fencepost_kernel::EpochId;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

const COUNT: usize = 0;
const AGAIN: usize = 1;
/// Words of a client's key, which goes with it from process to process.
const KEY: std::ops::Range<usize> = 2..4;
/// Words before the beliefs of a client, and of one.
const HEAD: usize = 8;
const ENTRY: usize = 2;
/// Beliefs of a client: more than it comes to in the time that it has.
const CAPACITY: usize = 1 << 15;

/// The file. Each client writes its own part.
pub(super) struct Beliefs(Words);

impl Beliefs {
    /// The beliefs of so many clients at `path`, made if absent.
    pub(super) fn open(path: &Path, clients: u8) -> Result<Beliefs, NativeError> {
        let words = usize::from(clients) * (HEAD + CAPACITY * ENTRY);
        Ok(Beliefs(Words::file(path, words)?))
    }
    fn part(&self, client: u8) -> &[AtomicU64] {
        let size = HEAD + CAPACITY * ENTRY;
        &self.0[usize::from(client) * size..][..size]
    }
    /// How many a client has.
    pub(super) fn count(&self, client: u8) -> u64 {
        self.part(client)[COUNT].load(Ordering::Acquire)
    }
    /// A client's key: a new one if it has none.
    pub(super) fn key(&self, client: u8) -> std::io::Result<Key> {
        let words = &self.part(client)[KEY];
        if words.iter().all(|w| w.load(Ordering::Relaxed) == 0) {
            let new: Key = random()?;
            words.iter().zip(new).for_each(|(to, w)| to.store(w, Ordering::Relaxed));
        }
        Ok(std::array::from_fn(|i| words[i].load(Ordering::Relaxed)))
    }
    /// Whether a client cannot take another.
    pub(super) fn is_full(&self, client: u8) -> bool {
        self.count(client) as usize + 64 >= CAPACITY
    }
    /// Everything that a client believes, in order.
    pub(super) fn of(&self, client: u8) -> Vec<Belief> {
        let part = self.part(client);
        let entries = part[HEAD..].chunks_exact(ENTRY).take(self.count(client) as usize);
        entries
            .map(|e| Belief {
                id: unpacked(e[0].load(Ordering::Relaxed)),
                noted: e[1].load(Ordering::Relaxed),
            })
            .collect()
    }
    /// The last belief of a client.
    pub(super) fn last(&self, client: u8) -> Option<EpochId> {
        let n = self.count(client).checked_sub(1)?;
        Some(unpacked(
            self.part(client)[HEAD + n as usize * ENTRY].load(Ordering::Relaxed),
        ))
    }
    /// A client believes `id`, when the server had noted so much. What it believed before is not repeated.
    pub(super) fn believe(&self, id: EpochId, noted: u64) {
        if self.is_full(id.client) || self.last(id.client).is_some_and(|l| id <= l) {
            return;
        }
        let part = self.part(id.client);
        let n = part[COUNT].load(Ordering::Relaxed);
        let entry = &part[HEAD + n as usize * ENTRY..][..ENTRY];
        entry[0].store(packed(id), Ordering::Relaxed);
        entry[1].store(noted, Ordering::Relaxed);
        part[COUNT].store(n + 1, Ordering::Release);
    }
    /// Transactions that a client sent again.
    pub(super) fn again(&self, client: u8) -> u64 {
        self.part(client)[AGAIN].load(Ordering::Relaxed)
    }
    /// A client sends a transaction again.
    pub(super) fn sends_again(&self, client: u8) {
        self.part(client)[AGAIN].fetch_add(1, Ordering::Relaxed);
    }
}
