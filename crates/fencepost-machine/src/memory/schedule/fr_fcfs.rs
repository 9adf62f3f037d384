//! First ready, first come, first served.

use super::{Choice, Handle, OpenRow, Scheduler, Waiting};
use fencepost_kernel::Ps;

/// The oldest request for the open row of a bank, else its oldest request (Rixner et al., ISCA 2000).
#[derive(Copy, Clone, Debug, Default)]
pub struct FrFcfs;

impl FrFcfs {
    /// The choice among handles with their rows and places in the order of arrival, oldest first.
    #[inline]
    pub fn choose(open: &OpenRow, waiting: impl Iterator<Item = (Handle, u64, u64)>) -> Option<Choice> {
        let enough = open.hits_max > 0 && open.hits >= open.hits_max;
        let mut oldest = None;
        for (handle, row, rank) in waiting {
            let candidate = Choice { handle, rank };
            if open.row == Some(row) {
                return if enough {
                    oldest.or(Some(candidate))
                } else {
                    Some(candidate)
                };
            }
            if open.row.is_none() {
                return Some(candidate);
            }
            oldest = oldest.or(Some(candidate));
        }
        oldest
    }
}

impl Scheduler for FrFcfs {
    fn next(&mut self, _now: Ps, open: &OpenRow, waiting: &mut dyn Iterator<Item = Waiting<'_>>) -> Option<Choice> {
        FrFcfs::choose(open, waiting.map(|w| (w.handle, w.row, w.order)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(row: Option<u64>, hits: u16, hits_max: u16, rows: &[u64]) -> Option<u16> {
        let open = OpenRow {
            bank: 0,
            row,
            hits,
            hits_max,
        };
        let requests = rows
            .iter()
            .enumerate()
            .map(|(i, row)| (Handle(i as u16), *row, i as u64));
        FrFcfs::choose(&open, requests).map(|c| c.handle.0)
    }

    #[test]
    fn an_open_row_goes_first_until_it_was_hit_often_enough() {
        assert_eq!(next(None, 0, 4, &[]), None);
        assert_eq!(next(None, 0, 4, &[5, 7]), Some(0), "nothing is open: the oldest");
        assert_eq!(next(Some(7), 1, 4, &[5, 7, 7]), Some(1), "the oldest of the open row");
        assert_eq!(next(Some(9), 1, 4, &[5, 7]), Some(0), "no request for the open row");
        assert_eq!(
            next(Some(7), 4, 4, &[5, 7]),
            Some(0),
            "an older request was passed four times"
        );
        assert_eq!(next(Some(7), 4, 4, &[7, 5]), Some(0), "nobody is passed");
        assert_eq!(next(Some(7), 400, 0, &[5, 7]), Some(1), "no limit");
    }
}
