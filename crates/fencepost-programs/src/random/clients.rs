//! What clients do that persist over a network beside a random program: epochs of a few words of its own lines.

use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, Ps, RemoteEpoch, Stream, Transaction, Transactions, rng};
use std::rc::Rc;

/// The first word of a line that only clients write.
pub const CLIENT_WORD: u64 = 4;

/// Clients that write words of `lines` lines from `first` on: the last words of each line, or with `shared` any, also those that the
/// program uses. Values tell client, transaction, epoch and word, none of them twice.
pub fn transactions(seed: u64, (first, lines): (Addr, u64), shared: bool) -> Transactions {
    Rc::new(move |client, tx| {
        let mut dice = Stream::new(rng::hash(&[seed, client.into(), tx.into()]), "clients");
        let mut epoch = |e: u64| {
            let word = if shared { dice.below(CLIENT_WORD) } else { CLIENT_WORD };
            let words = 1 + dice.below(8 - word);
            let line = dice.below(lines);
            let value = |i| 1 << 63 | (u64::from(client) + 1) << 48 | u64::from(tx) << 32 | e << 16 | i;
            RemoteEpoch {
                at: Addr(first.0 + LINE_BYTES * line + 8 * word),
                words: (0..words).map(value).collect(),
            }
        };
        let epochs = (0..3).map(&mut epoch).collect();
        let compute = Ps::from_ns(dice.below(400));
        Transaction { compute, epochs }
    })
}
