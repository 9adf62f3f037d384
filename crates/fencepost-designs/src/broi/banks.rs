//! Sets of banks.

use std::ops::Range;

/// A set of banks, a bit each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BankSet {
    first: u64,
    /// Those behind the first 64, where there are any.
    more: Vec<u64>,
}

impl BankSet {
    /// Adds a bank.
    #[inline]
    pub fn insert(&mut self, bank: u16) {
        match bank / 64 {
            0 => self.first |= 1 << bank,
            word => self.insert_behind(usize::from(word) - 1, bank % 64),
        }
    }
    #[inline(never)] // few controllers have so many
    fn insert_behind(&mut self, word: usize, bit: u16) {
        if word >= self.more.len() {
            self.more.resize(word + 1, 0);
        }
        self.more[word] |= 1 << bit;
    }
    /// Takes all banks out.
    #[inline]
    pub fn clear(&mut self) {
        self.first = 0;
        if !self.more.is_empty() {
            self.more.fill(0);
        }
    }
    /// 64 banks of the set, a bit each.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        match index.checked_sub(1) {
            None => self.first,
            Some(behind) => self.more.get(behind).copied().unwrap_or(0),
        }
    }
    /// Takes up to 64 neighbouring banks out of the set: those that were there, a bit each.
    #[inline]
    pub fn take(&mut self, banks: Range<u16>) -> u64 {
        if banks.end > 64 {
            return self.take_far(banks);
        }
        let all = u64::MAX.checked_shr(64 - u32::from(banks.end)).unwrap_or(0);
        let taken = self.first & all & (u64::MAX << banks.start);
        self.first &= !taken;
        taken >> banks.start
    }
    #[inline(never)]
    fn take_far(&mut self, banks: Range<u16>) -> u64 {
        let mut taken = 0;
        for (i, bank) in banks.enumerate() {
            let (word, bit) = (usize::from(bank / 64), 1 << (bank % 64));
            taken |= u64::from(self.word(word) & bit != 0) << i;
            match word.checked_sub(1) {
                None => self.first &= !bit,
                Some(behind) => self.more.iter_mut().skip(behind).take(1).for_each(|w| *w &= !bit),
            }
        }
        taken
    }
    /// Words that the set may use.
    #[inline]
    pub fn words(&self) -> usize {
        1 + self.more.len()
    }
    /// Adds every bank of another set; those that were there already are added to `twice` as well.
    #[inline]
    pub fn add_all(&mut self, other: &BankSet, twice: &mut BankSet) {
        twice.first |= self.first & other.first;
        self.first |= other.first;
        if !other.more.is_empty() {
            self.add_behind(other, twice);
        }
    }
    #[inline(never)]
    fn add_behind(&mut self, other: &BankSet, twice: &mut BankSet) {
        let words = self.more.len().max(other.more.len());
        self.more.resize(words, 0);
        twice.more.resize(words.max(twice.more.len()), 0);
        for (i, other) in other.more.iter().enumerate() {
            twice.more[i] |= self.more[i] & other;
            self.more[i] |= other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_banks_are_taken_out_wherever_they_lie() {
        for (banks, taken) in [
            (0..8, 0b1000_0001),
            (0..64, 1 << 63 | 0b1000_0001),
            (56..72, 1 << 7 | 1 << 15),
            (8..8, 0),
        ] {
            let mut set = BankSet::default();
            [0, 7, 63, 71, 200].into_iter().for_each(|bank| set.insert(bank));
            assert_eq!(set.take(banks.clone()), taken, "{banks:?}");
            assert_eq!(set.take(banks), 0);
            assert_eq!(set.take(192..256), 1 << 8, "others stay");
        }
    }
}
