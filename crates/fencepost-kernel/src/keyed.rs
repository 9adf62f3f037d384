//! Lists found by key: what a transaction runtime remembers of its stores.

/// A list whose elements are found by key: a one-word filter answers most look-ups of a short list, a hash index
/// those of a long one.
#[derive(Clone, Debug)]
pub struct Keyed<T, const N: usize> {
    items: Vec<(u64, T)>,
    filter: u64,
    /// Open addressing over positions + 1, a power of two long; empty until the list outgrows `N`.
    index: Vec<u32>,
}

fn spread(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl<T, const N: usize> Default for Keyed<T, N> {
    fn default() -> Self {
        Keyed {
            items: Vec::new(),
            filter: 0,
            index: Vec::new(),
        }
    }
}

impl<T: Copy, const N: usize> Keyed<T, N> {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// The element at a position, in order of first insertion.
    pub fn at(&self, position: usize) -> (u64, T) {
        self.items[position]
    }
    /// The element at a position, to be changed.
    #[inline]
    pub fn at_mut(&mut self, position: usize) -> &mut T {
        &mut self.items[position].1
    }
    /// Forgets every element.
    #[inline]
    pub fn clear(&mut self) {
        if !self.items.is_empty() {
            self.items.clear();
            self.filter = 0;
            self.index.clear();
        }
    }
    /// Where `key` is.
    #[inline]
    pub fn find(&self, key: u64) -> Option<usize> {
        if self.filter & (1 << (spread(key) >> 58)) == 0 {
            return None;
        }
        if self.index.is_empty() {
            return self.items.iter().rposition(|i| i.0 == key);
        }
        let slot = self.slot(key);
        (self.index[slot] as usize).checked_sub(1)
    }
    /// The slot of the index that holds `key`, or the free one where it belongs.
    fn slot(&self, key: u64) -> usize {
        let mut slot = (spread(key) >> 20) as usize & (self.index.len() - 1);
        while self.index[slot] != 0 && self.items[self.index[slot] as usize - 1].0 != key {
            slot = (slot + 1) & (self.index.len() - 1);
        }
        slot
    }
    /// Sets the element of `key`, appending it if it is new.
    pub fn set(&mut self, key: u64, value: T) {
        if let Some(position) = self.find(key) {
            self.items[position].1 = value;
            return;
        }
        self.filter |= 1 << (spread(key) >> 58);
        self.items.push((key, value));
        if self.items.len() > N {
            self.reindex();
        }
    }
    /// Adds the newest element to the index, growing it to keep it at most half full.
    fn reindex(&mut self) {
        let len = self.items.len();
        let from = if self.index.len() < 2 * len {
            self.index.clear();
            self.index.resize((4 * len).next_power_of_two(), 0);
            0
        } else {
            len - 1
        };
        for position in from..len {
            let slot = self.slot(self.items[position].0);
            self.index[slot] = position as u32 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn keyed_lists_equal_a_map() {
        let mut rng = crate::Stream::new(1, "keyed");
        for keys in [3, 20, 500] {
            let mut list = Keyed::<u64, 4>::default();
            let mut map = std::collections::BTreeMap::new();
            for _ in 0..1000 {
                let (key, value) = (rng.below(keys) * 8, rng.next_u64());
                list.set(key, value);
                map.insert(key, value);
                let other = rng.below(keys) * 8;
                assert_eq!(
                    list.find(other).map(|i| list.at(i)),
                    map.get(&other).map(|v| (other, *v))
                );
            }
            assert_eq!(list.len(), map.len());
            list.clear();
            assert!(list.is_empty() && list.find(0).is_none());
        }
    }
}
