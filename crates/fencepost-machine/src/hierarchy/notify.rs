//! Cleans that wait until a line has been written.

use fencepost_kernel::HwThread;

/// Whom to tell that a line has been written: hardware thread and tag of each clean. Mostly nobody, or one, and then no memory is
/// asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Notify {
    first: Option<(HwThread, u64)>,
    more: Vec<(HwThread, u64)>,
}

impl Notify {
    /// One clean.
    pub(super) fn one(hw_thread: HwThread, tag: u64) -> Notify {
        Notify {
            first: Some((hw_thread, tag)),
            more: Vec::new(),
        }
    }
    /// Whether nobody waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }
    /// The hardware thread whose clean came first.
    #[inline]
    pub(super) fn first(&self) -> Option<HwThread> {
        self.first.map(|f| f.0)
    }
    /// Another clean waits as well.
    pub(super) fn add(&mut self, hw_thread: HwThread, tag: u64) {
        match self.first {
            None => self.first = Some((hw_thread, tag)),
            Some(_) => self.more.push((hw_thread, tag)),
        }
    }
    /// Everyone, in the order in which they came.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = (HwThread, u64)> {
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
            notify.add(HwThread(i), u64::from(i));
            let told: Vec<_> = (0..=i).map(|i| (HwThread(i), u64::from(i))).collect();
            assert_eq!((notify.iter().collect::<Vec<_>>(), notify.is_empty()), (told, false));
        }
        assert_eq!(notify.first(), Some(HwThread(0)));
        assert!(Notify::one(HwThread(3), 9).iter().eq([(HwThread(3), 9)]));
    }
}
