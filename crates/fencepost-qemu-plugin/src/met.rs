//! Words of volatile memory at which threads meet by atomics. What plain instructions load from them and store to them orders
//! threads, too: the release of a spin lock, or a flag that is set by an exchange and read by a load.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bits of the filter: nearly all accesses are elsewhere, and few words are met at.
const BITS: u64 = 1 << 14;
static FILTER: [AtomicU64; (BITS / 64) as usize] = [const { AtomicU64::new(0) }; (BITS / 64) as usize];

/// Where an address is in the filter.
fn bit(address: u64) -> (usize, u64) {
    let bit = (address / 8).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40 & (BITS - 1);
    ((bit / 64) as usize, 1 << (bit % 64))
}
/// False if no atomic has accessed the word of this address.
pub(crate) fn may_be_met(address: u64) -> bool {
    let (word, mask) = bit(address);
    FILTER[word].load(Relaxed) & mask != 0
}

/// The words, and who knows what they hold now.
#[derive(Default)]
pub(crate) struct Met(HashMap<u64, HashSet<u32>>);

impl Met {
    /// An atomic of a thread has accessed a word.
    pub(crate) fn at(&mut self, address: u64, thread: u32) {
        let (word, mask) = bit(address);
        FILTER[word].fetch_or(mask, Relaxed);
        let knows = self.0.entry(address & !7).or_default();
        knows.clear();
        knows.insert(thread);
    }
    /// A thread accesses a word plainly: whether that is to be known. What it has read once it need not read again.
    pub(crate) fn is_news(&mut self, address: u64, thread: u32, store: bool) -> bool {
        let Some(knows) = self.0.get_mut(&(address & !7)) else {
            return false;
        };
        if store {
            knows.clear();
        }
        knows.insert(thread) || store
    }
    /// A thread has ended: its number may be another's after it.
    pub(crate) fn forget(&mut self, thread: u32) {
        self.0.values_mut().for_each(|knows| {
            knows.remove(&thread);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_once_by_each_thread_until_it_changes() {
        let mut met = Met::default();
        assert!(!met.is_news(0x1000, 1, false) && !met.is_news(0x1000, 1, true));
        met.at(0x1004, 0);
        assert!(may_be_met(0x1000) && may_be_met(0x1007));
        assert!(!met.is_news(0x1000, 0, false), "who stored it knows it");
        assert!(met.is_news(0x1000, 1, false) && !met.is_news(0x1000, 1, false));
        assert!(met.is_news(0x1000, 1, true) && met.is_news(0x1000, 1, true));
        assert!(met.is_news(0x1000, 0, false));
        met.forget(0);
        assert!(met.is_news(0x1000, 0, false));
        assert!(!met.is_news(0x1008, 0, false), "the next word is another");
    }
}
