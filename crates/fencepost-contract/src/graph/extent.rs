//! Which addresses there are.

use fencepost_kernel::units::PM_BASE;
use fencepost_kernel::{Addr, Footprint, Image};

/// Addresses below this one are the null page: a null pointer plus the offset of a field.
const NULL_PAGE: u64 = 4096;
/// How far beyond the highest address of an execution recovery may go, where no layout is known: free memory that it
/// knows of.
const SLACK: u64 = 16 << 20;
/// How often a recovery may access each word of memory.
const EACH_WORD: u64 = 4;

/// The memory that exists, in DRAM and in persistent memory: everything from the null page up to the end of the
/// program's layout; where none is known, up to a little beyond the highest address that the setup or the execution touched.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    dram_end: u64,
    pm_end: u64,
}
impl Default for Extent {
    fn default() -> Self {
        Extent::ALL
    }
}
impl Extent {
    /// No limit but the null page.
    pub const ALL: Extent = Extent {
        dram_end: u64::MAX,
        pm_end: u64::MAX,
    };
    /// Memory of a program with this layout.
    pub fn of_layout(layout: Footprint) -> Extent {
        Extent {
            dram_end: layout.dram.0.min(PM_BASE),
            pm_end: PM_BASE.saturating_add(layout.pm.0),
        }
    }
    /// Memory of an execution without a known layout: what the image `initial` holds, and the addresses `touched`.
    pub fn of(initial: &Image, touched: impl Iterator<Item = Addr>) -> Extent {
        let lines = initial.pm_lines().last().map(|l| Addr(l.base().0 + 63));
        let mut ends = [0, PM_BASE];
        for at in touched.chain(lines) {
            let end = &mut ends[usize::from(at.is_persistent())];
            *end = (*end).max(at.0);
        }
        let [dram_end, pm_end] = ends.map(|end| end.saturating_add(SLACK));
        Extent {
            dram_end: dram_end.min(PM_BASE),
            pm_end,
        }
    }
    /// Accesses after which a recovery counts as endless: `least`, or where memory is known to be large so many that it may access each word
    /// of it several times: an audit of all of it reads each once or twice.
    pub(crate) fn endless_after(&self, least: u64) -> u64 {
        if *self == Extent::ALL {
            return least;
        }
        least.max((self.bytes() / 8).saturating_mul(EACH_WORD))
    }
    /// How much memory there is.
    pub fn bytes(&self) -> u64 {
        self.dram_end.saturating_add(self.pm_end - PM_BASE)
    }
    /// What is wrong with an access of `bytes` bytes at `at`, if anything is.
    pub fn fault(&self, at: Addr, bytes: u64) -> Option<&'static str> {
        let end = if at.is_persistent() { self.pm_end } else { self.dram_end };
        if at.0 < NULL_PAGE {
            Some("the null page")
        } else if at.0 >= end {
            Some("an address where there is no memory")
        } else if !at.0.is_multiple_of(bytes) {
            Some("a misaligned address")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::units::Bytes;
    /// An audit that reads all of a large memory ends, and one that goes round in a small one, or in one of which nothing is known, is found out.
    #[test]
    fn a_large_memory_may_be_read_whole() {
        let of = |pm| {
            let dram = Bytes(0);
            Extent::of_layout(Footprint { dram, pm: Bytes(pm) }).endless_after(1 << 22)
        };
        assert_eq!(
            (of(0), of(1 << 20), Extent::ALL.endless_after(9)),
            (1 << 22, 1 << 22, 9)
        );
        for gigabytes in [1, 4] {
            let words = gigabytes << 27;
            assert!(of(gigabytes << 30) > 2 * words, "{gigabytes} GiB");
        }
    }
    #[test]
    fn memory_ends_where_the_layout_does() {
        let [dram, pm] = [Bytes(0x5000), Bytes(0x9000)];
        let extent = Extent::of_layout(Footprint { dram, pm });
        let last = [Addr(0x4ff8), Addr::pm(0x8ff8)];
        assert!(last.iter().all(|at| extent.fault(*at, 8).is_none()));
        for at in last {
            assert_eq!(
                extent.fault(Addr(at.0 + 8), 8),
                Some("an address where there is no memory")
            );
        }
    }
    #[test]
    fn memory_ends_a_little_beyond_what_was_touched() {
        let touched = [Addr(0x5000), Addr::pm(0x100)];
        let extent = Extent::of(&Image::default(), touched.into_iter());
        let fault = |at, bytes| extent.fault(at, bytes);
        assert_eq!(fault(Addr(8), 8), Some("the null page"));
        assert_eq!(fault(Addr(0x5000 + 64), 8), None);
        assert_eq!(fault(Addr(0x5001), 1), None);
        assert_eq!(fault(Addr::pm(0x104), 8), Some("a misaligned address"));
        for wild in [
            Addr(1 << 39),
            Addr::pm(1 << 30),
            Addr(u64::MAX - 7),
            Addr(0x5000 + (32 << 20)),
        ] {
            assert_eq!(fault(wild, 8), Some("an address where there is no memory"), "{wild}");
        }
    }
}
