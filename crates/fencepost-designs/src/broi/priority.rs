//! Which BROI entry matters most: equation 2 of the paper.

use super::banks::BankSet;
use super::entry::BroiEntry;

/// Priority(R_i) = BLP(R - R_i + N_i) - sigma * size(R_i), in thousandths of a bank, for every entry.
///
/// R is the Ready-SET: the first sets of all entries. BLP counts the banks that a set has requests for. N_i is the second set of
/// the entry, empty where there is none. When a request leaves its set is the entry's matter.
#[derive(Clone, Debug, Default)]
pub struct Priorities {
    of: Vec<i64>,
    /// Banks that some first set needs; banks that several need.
    any: BankSet,
    several: BankSet,
}

impl Priorities {
    /// The priority of an entry's first set.
    #[inline]
    pub fn of(&self, entry: usize) -> i64 {
        self.of[entry]
    }
    /// Works all of them out, among the first `local` entries and among the others, each with a Ready-SET of its own; `sigma` in thousandths.
    pub fn work_out(&mut self, entries: &[BroiEntry], local: usize, sigma: u32) {
        let (local, remote) = entries.split_at(local);
        self.of.clear();
        self.among(local, sigma);
        self.among(remote, sigma);
    }
    fn among(&mut self, entries: &[BroiEntry], sigma: u32) {
        self.any.clear();
        self.several.clear();
        for entry in entries {
            self.any.add_all(&entry.ready_banks, &mut self.several);
        }
        for entry in entries {
            let size = i64::from(sigma) * i64::from(entry.ready_size);
            self.of.push(1000 * i64::from(self.parallelism_after(entry)) - size);
        }
    }
    /// BLP(R - R_i + N_i): a bank remains without this entry's first set if several sets need it, or if another one does.
    fn parallelism_after(&self, entry: &BroiEntry) -> u32 {
        let words = self.any.words().max(entry.next_banks.words());
        let banks = |w: usize| {
            let others = self.several.word(w) | self.any.word(w) & !entry.ready_banks.word(w);
            others | entry.next_banks.word(w)
        };
        (0..words).map(|w| banks(w).count_ones()).sum()
    }
}
