//! Cleans that wait until a line has been written.

use fencepost_kernel::HartId;

/// Whom to tell that a line has been written: hardware thread and tag of each clean. Mostly nobody, or one, and then no memory is
/// asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Notify {
    first: Option<(HartId, u64)>,
    more: Vec<(HartId, u64)>,
}

impl Notify {
    /// One clean.
    pub fn one(hart: HartId, tag: u64) -> Notify {
        Notify {
            first: Some((hart, tag)),
            more: Vec::new(),
        }
    }
    /// Whether nobody waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }
    /// The hardware thread whose clean came first.
    #[inline]
    pub fn first(&self) -> Option<HartId> {
        self.first.map(|f| f.0)
    }
    /// Another clean waits as well.
    pub fn add(&mut self, hart: HartId, tag: u64) {
        match self.first {
            None => self.first = Some((hart, tag)),
            Some(_) => self.more.push((hart, tag)),
        }
    }
    /// Everyone, in the order in which they came.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (HartId, u64)> {
        self.first.into_iter().chain(self.more.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_is_told_in_order() {
        let mut notify = Notify::default();
        assert!(notify.is_empty() && notify.first().is_none());
        for i in 0..4 {
            notify.add(HartId(i), u64::from(i));
            let told: Vec<_> = (0..=i).map(|i| (HartId(i), u64::from(i))).collect();
            assert_eq!((notify.iter().collect::<Vec<_>>(), notify.is_empty()), (told, false));
        }
        assert_eq!(notify.first(), Some(HartId(0)));
        assert!(Notify::one(HartId(3), 9).iter().eq([(HartId(3), 9)]));
    }
}
