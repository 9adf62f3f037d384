//! Masks: a bit for each bank, bank group or channel.

/// The positions of the bits of a mask, from the lowest on.
#[inline]
pub(super) fn each(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let at = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_come_from_the_lowest_to_the_highest() {
        let all = |mask| each(mask).collect::<Vec<_>>();
        assert_eq!((all(0), all(1 << 63 | 0b1010)), (vec![], vec![1, 3, 63]));
        assert_eq!(all(u64::MAX), (0..64).collect::<Vec<_>>());
    }
}
