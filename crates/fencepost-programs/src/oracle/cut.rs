//! Bounds on cuts of the operations.

use std::rc::Rc;

/// No cut explains the reading.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct NoPrefix;

/// Bounds on the cut that explains a recovered memory. An audit keeps one for every step, and most steps move no bound: they share them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    pub(super) lo: Rc<Vec<u32>>,
    pub(super) hi: Rc<Vec<u32>>,
    /// Operations that had begun: what is not in the cut may be under way.
    pub(super) begun: Rc<Vec<u32>>,
    /// Readings that say more once a bound has moved.
    pub(super) pending: Vec<(u64, u64)>,
}

/// Moves bounds; who shares them keeps them as they were.
pub(super) fn tighten(bounds: &mut Rc<Vec<u32>>, row: &[u32], to: impl Fn(u32, u32) -> u32) {
    if bounds.iter().zip(row).any(|(b, by)| to(*b, *by) != *b) {
        let bounds = Rc::make_mut(bounds).iter_mut();
        bounds.zip(row).for_each(|(b, by)| *b = to(*b, *by));
    }
}

impl Cut {
    /// Whether some cut lies within the bounds, given whether all of them leave what was read.
    pub(crate) fn holds(&self, read: bool) -> Result<(), NoPrefix> {
        let within = self.lo.iter().zip(&*self.hi).all(|(lo, hi)| lo <= hi);
        (read && within).then_some(()).ok_or(NoPrefix)
    }
}
