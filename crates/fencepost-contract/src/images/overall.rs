//! The smallest crash state of all failure points that recovery does not survive.

use super::smallest::{ImageWitness, Smallest};
use super::{Answer, ImageJob};
use crate::explore::Deviation;
use crate::graph::{CrashSpace, Cut};
use fencepost_kernel::StoreId;

/// Finds it, from a failing image. `run` runs recovery, and returns `None` when the effort allowed is spent; among states of one
/// size those are preferred whose deviating stores have the lowest `rank`, of which 0 is the best, and among those the first in the order
/// of failure points: which image failed first is chance where several recoveries run at a time.
///
/// # Errors
/// Whatever `run` meets.
pub fn find_smallest<E>(
    space: &CrashSpace,
    job: &ImageJob,
    why: &str,
    rank: impl Fn(&[StoreId]) -> u32,
    mut run: impl FnMut(&ImageJob) -> Result<Option<Answer>, E>,
) -> Result<ImageWitness, E> {
    let mut best = Smallest::new(space, job, &mut run).find(job, why)?;
    if !best.smallest {
        return Ok(best);
    }
    best.smallest = false;
    let cuts: Vec<Cut> = space.cuts().map(|(_, cut)| cut).collect();
    let mut fails_whole = vec![None; cuts.len()];
    let key = |w: &ImageWitness| (w.size(), rank(w.deviating()));
    // Whether it was met in order, and not first by chance.
    let mut in_order = false;
    let mut size = 0;
    while size <= best.size() && !(in_order && rank(best.deviating()) == 0) {
        for (point, cut) in cuts.iter().enumerate() {
            let mut at = Smallest::at(space, point, cut.clone(), &mut run);
            // That no smaller state fails is proved once those of its own size are tried.
            best.smallest = size == best.size();
            let whole = match fails_whole[point] {
                Some(whole) => whole,
                None => match at.fails_whole()? {
                    Some(whole) => *fails_whole[point].insert(whole),
                    None => return Ok(best),
                },
            };
            let Some(found) = at.of_size(size, whole)? else {
                return Ok(best);
            };
            if let Some(found) = found
                && (key(&found) < key(&best) || !in_order && key(&found) == key(&best))
            {
                (best, in_order) = (found, true);
            }
            if in_order && key(&best) == (size, 0) {
                break;
            }
        }
        size += 1;
    }
    best.smallest = true;
    Ok(best)
}

impl ImageWitness {
    /// Stores that deviate from everything or nothing durable.
    pub fn deviating(&self) -> &[StoreId] {
        match self.deviation {
            Deviation::Missing => &self.missing,
            Deviation::Persisted => &self.persisted,
        }
    }
    /// Writes that deviate.
    pub fn size(&self) -> usize {
        self.deviating_writes
    }
}
