//! Sets of banks.

/// A set of banks, a bit each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BankSet(Vec<u64>);

impl BankSet {
    /// Adds a bank.
    #[inline]
    pub fn insert(&mut self, bank: u16) {
        let word = usize::from(bank / 64);
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (bank % 64);
    }
    /// Takes all banks out.
    #[inline]
    pub fn clear(&mut self) {
        self.0.fill(0);
    }
    /// 64 banks of the set, a bit each.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }
    /// Words that the set may use.
    #[inline]
    pub fn words(&self) -> usize {
        self.0.len()
    }
    /// Adds every bank of another set; those that were there already are added to `twice` as well.
    #[inline]
    pub fn add_all(&mut self, other: &BankSet, twice: &mut BankSet) {
        let words = self.0.len().max(other.0.len());
        self.0.resize(words, 0);
        twice.0.resize(words.max(twice.0.len()), 0);
        for i in 0..other.0.len() {
            twice.0[i] |= self.0[i] & other.0[i];
            self.0[i] |= other.0[i];
        }
    }
}
