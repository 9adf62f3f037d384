//! What a crash left of a client's replica, judged by its bytes alone.

use super::violation::{ReplicaViolation, name, wrong};
use fencepost_kernel::{Addr, EpochId, Transactions};
use rustc_hash::FxHashMap;

/// Transactions that write and are looked at behind the last one that took effect. A client has one in flight.
const BEYOND: usize = 4;
/// No more transactions in a row only read.
const READERS: u32 = 1 << 12;

/// Whether a client's replica holds a prefix of its epochs: every one before `next`, which the replica says is the first that is not
/// durable; of that one perhaps some words; of later ones nothing. And whether it holds `believed`, the last of which the
/// client was told that it is durable. The replica was zero at first, and nobody else stores to it. `word` reads it.
///
/// # Errors
/// What is missing, or there too early.
pub fn holds_prefix(
    word: &dyn Fn(Addr) -> u64,
    transactions: &Transactions,
    next: EpochId,
    believed: Option<EpochId>,
) -> Result<(), ReplicaViolation> {
    if let Some(b) = believed.filter(|b| *b >= next) {
        let why = format!(
            "was told that {} is durable, and the replica expects {}",
            name(b),
            name(next)
        );
        return Err(wrong(format!("client {} {why}", next.client)));
    }
    let mut expected: FxHashMap<Addr, (u64, EpochId)> = FxHashMap::default();
    // Epochs that are not complete: the first may be there in part.
    let mut later = Vec::new();
    let mut beyond = 0;
    for tx in 0..next.tx.saturating_add(READERS) {
        let epochs = (transactions)(next.client, tx).epochs;
        beyond += usize::from(tx >= next.tx && !epochs.is_empty());
        if beyond > BEYOND {
            break;
        }
        for (epoch, block) in (0..).zip(epochs) {
            let id = EpochId { tx, epoch, ..next };
            if id >= next {
                later.push((id, block));
                continue;
            }
            let words = (0u64..).zip(block.words.iter());
            expected.extend(words.map(|(i, w)| (Addr(block.at.0 + 8 * i), (*w, id))));
        }
    }
    if let Some((_, open)) = later.first() {
        for (i, w) in (0u64..).zip(open.words.iter()) {
            let at = Addr(open.at.0 + 8 * i);
            if word(at) == *w {
                expected.remove(&at);
            }
        }
    }
    for (id, block) in later.iter().skip(1) {
        for (i, w) in (0u64..).zip(block.words.iter()) {
            if word(Addr(block.at.0 + 8 * i)) == *w {
                return Err(wrong(format!(
                    "{} is there in part, and the replica expects {}",
                    name(*id),
                    name(next)
                )));
            }
        }
    }
    let lost = expected
        .iter()
        .filter(|(at, (w, _))| word(**at) != *w)
        .min_by_key(|(at, (_, id))| (*id, **at));
    match lost {
        None => Ok(()),
        Some((at, (_, id))) => Err(wrong(format!("{at} does not hold what {} stored there", name(*id)))),
    }
}
