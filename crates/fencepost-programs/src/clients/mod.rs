//! Clients that replicate: declared transactions whose log, data and commit are persisted on a remote node.
//!
//! A client is not a program on a processor: what it computes between commits is a declared time, and what it persists are blocks of declared
//! sizes. The sizes are those of one write transaction of the named application (their sources stand at [`Workload`]); the paper (Hu et al.,
//! MICRO 2018, section VI) says which applications and how many of their operations write, and adds measured delays to their sources.

mod blocks;
mod params;

use blocks::Blocks;
use fencepost_kernel::{Addr, Bytes, RemoteEpoch, Transaction, Transactions, rng};
pub use params::{ClientParams, Logging, Workload};
use std::rc::Rc;

/// Replicas begin at a multiple of this.
const ALIGN: u64 = 1 << 20;

/// What the clients of `params` do. Their replicas lie one behind the other from byte `behind` of persistent memory on, which is where
/// local programs end. Their choices are drawn from `seed`.
pub fn transactions(params: &ClientParams, behind: Bytes, seed: u64) -> Transactions {
    transactions_beside(params, None, behind, seed)
}
/// The same beside a program of the server.
pub fn transactions_beside(params: &ClientParams, beside: Option<&str>, behind: Bytes, seed: u64) -> Transactions {
    let (params, blocks) = (params.clone(), Blocks::of(params, beside));
    let first = (behind.0 + 1).next_multiple_of(ALIGN);
    Rc::new(move |client, tx| transaction(&params, &blocks, first, (seed, client, tx)))
}

/// Where the replica of one of these clients begins and ends.
pub fn replica(params: &ClientParams, behind: Bytes, client: u8) -> (Addr, Addr) {
    let blocks = Blocks::of(params, None);
    let at = base(params, &blocks, (behind.0 + 1).next_multiple_of(ALIGN), client);
    (at, Addr(at.0 + blocks.replica(params.elements.into())))
}
fn base(params: &ClientParams, blocks: &Blocks, first: u64, client: u8) -> Addr {
    let bytes = blocks.replica(params.elements.into());
    Addr::pm(first + u64::from(client) * bytes.next_multiple_of(ALIGN))
}

fn transaction(params: &ClientParams, blocks: &Blocks, first: u64, (seed, client, tx): (u64, u8, u32)) -> Transaction {
    let draw = rng::hash(&[seed, u64::from(client), u64::from(tx)]);
    let writes = draw % 100 < u64::from(blocks.writes);
    let elements = u64::from(params.elements);
    let base = base(params, blocks, first, client);
    let places = blocks.places(tx, (draw / 100) % elements);
    let epoch = |(n, (at, bytes)): (u32, (u64, u64))| RemoteEpoch {
        at: Addr(base.0 + at),
        words: (0..bytes / 8).map(|i| value(client, tx, n, i)).collect(),
    };
    Transaction {
        compute: params.compute,
        epochs: if writes {
            (0..).zip(places).map(epoch).collect()
        } else {
            Vec::new()
        },
    }
}

/// A word that tells who sent it: client, transaction, epoch and position, none of them twice in a run.
fn value(client: u8, tx: u32, epoch: u32, i: u64) -> u64 {
    (u64::from(client) + 1) << 56 | u64::from(tx) << 24 | u64::from(epoch) << 16 | (i + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn sizes(params: &ClientParams) -> Vec<u64> {
        let t = transactions(params, Bytes(0), 1);
        let writes = (0..200).map(|tx| t(0, tx)).find(|t| !t.epochs.is_empty()).unwrap();
        writes.epochs.iter().map(RemoteEpoch::bytes).collect()
    }
    fn of(workload: Workload) -> ClientParams {
        ClientParams {
            workload,
            ..ClientParams::default()
        }
    }

    /// Sizes added up by hand from the fields that the applications store.
    #[test]
    fn blocks_have_the_declared_sizes() {
        assert_eq!(sizes(&of(Workload::Hashmap)), [24 + 8 + 8, 40 + 128, 8]);
        assert_eq!(sizes(&of(Workload::Ctree)), [24 + 24, 56 + 128, 8]);
        assert_eq!(sizes(&of(Workload::Ycsb)), [24 + 504, 504, 8]);
        let columns = 8 + 10 * 32;
        assert_eq!(
            sizes(&of(Workload::Tpcc)),
            [11 * 24 + columns, columns + 64 + 64 + 10 * 64, 8]
        );
        assert_eq!(sizes(&of(Workload::Memcached)), [24 + 320, 320, 8]);
        let blocks = ClientParams {
            element: Bytes(512),
            ..of(Workload::Blocks)
        };
        assert_eq!(sizes(&blocks), [512; 6]);
        let figure_8 = ClientParams {
            logging: Logging::Data,
            ..of(Workload::Hashmap)
        };
        assert_eq!(sizes(&figure_8), [40, 168]);
        let undo = ClientParams {
            logging: Logging::Truncate,
            ..of(Workload::Hashmap)
        };
        assert_eq!(sizes(&undo), [40, 8, 168, 8, 8]);
        let large = ClientParams {
            element: Bytes(4096),
            ..of(Workload::Hashmap)
        };
        assert_eq!(sizes(&large), [40, 40 + 4096, 8]);
    }

    #[test]
    fn as_many_transactions_write_as_declared() {
        for (workload, percent) in [
            (Workload::Hashmap, 100),
            (Workload::Ycsb, 65),
            (Workload::Tpcc, 40),
            (Workload::Memcached, 5),
        ] {
            let t = transactions(&of(workload), Bytes(0), 3);
            let n = 10_000;
            let writes = (0..n).filter(|tx| !t(1, *tx).epochs.is_empty()).count() as f64 * 100.0 / f64::from(n);
            assert!((writes - f64::from(percent)).abs() < 1.5, "{workload:?}: {writes}");
        }
    }

    #[test]
    fn the_share_that_writes_is_that_of_blocks_too() {
        let half = ClientParams {
            writes: 50,
            ..of(Workload::Blocks)
        };
        let t = transactions(&half, Bytes(0), 3);
        let n = (0..10_000).filter(|tx| !t(1, *tx).epochs.is_empty()).count();
        assert!((4850..5150).contains(&n), "{n}");
        let all = transactions(&of(Workload::Blocks), Bytes(0), 3);
        assert!((0..100).all(|tx| all(1, tx).epochs.len() == 6));
    }

    #[test]
    fn clients_do_what_the_program_beside_them_does_if_told_to() {
        let params = ClientParams {
            as_program: true,
            ..of(Workload::Hashmap)
        };
        let of = |beside| {
            let t = transactions_beside(&params, beside, Bytes(0), 1)(0, 0);
            t.epochs.iter().map(RemoteEpoch::bytes).collect::<Vec<_>>()
        };
        assert_eq!(of(Some("sps")), [2 * 88, 128, 8]);
        assert_eq!(of(Some("ssca2")), [2 * 32, 16, 8]);
        assert_eq!(of(Some("queue")), of(None));
        assert_eq!(of(None), [40, 168, 8]);
    }

    /// Blocks of a transaction lie apart, whichever epochs it has.
    #[test]
    fn blocks_of_a_transaction_share_no_line() {
        for logging in [Logging::Data, Logging::Commit, Logging::Truncate] {
            let params = ClientParams {
                logging,
                ..ClientParams::default()
            };
            let (first, end) = replica(&params, Bytes(0), 0);
            for tx in 0..200 {
                let epochs = transactions(&params, Bytes(0), 9)(0, tx).epochs;
                let lines: Vec<_> = epochs.iter().flat_map(RemoteEpoch::lines).collect();
                assert_eq!(lines.iter().collect::<BTreeSet<_>>().len(), lines.len(), "{logging:?}");
                assert!(epochs.iter().all(|e| e.at >= first && e.at.0 + e.bytes() <= end.0));
            }
        }
    }

    #[test]
    fn no_value_is_sent_twice_and_clients_keep_apart() {
        let t = transactions(&of(Workload::Ctree), Bytes(5000), 5);
        let (mut values, mut places) = (BTreeSet::new(), [BTreeSet::new(), BTreeSet::new()]);
        let mut sent = 0;
        for (client, tx) in (0..2).flat_map(|c| (0..50).map(move |tx| (c, tx))) {
            for e in t(client, tx).epochs {
                sent += e.words.len();
                values.extend(e.words.iter().copied());
                let (first, end) = replica(&of(Workload::Ctree), Bytes(5000), client);
                assert!(e.at >= first && e.at.0 + e.bytes() <= end.0);
                places[usize::from(client)].extend(e.lines());
            }
        }
        assert_eq!(values.len(), sent);
        assert!(places[0].is_disjoint(&places[1]));
        let (a, b) = (t(1, 7), transactions(&of(Workload::Ctree), Bytes(5000), 5)(1, 7));
        assert_eq!(a, b, "a pure function");
    }

    /// Replicas lie behind the local programs, at whole mebibytes, one behind the other and no farther apart than they are long.
    #[test]
    fn replicas_lie_one_behind_the_other() {
        const MIB: u64 = 1 << 20;
        let params = of(Workload::Tpcc);
        for behind in [0, 1, MIB - 1, MIB, 3 * MIB + 5] {
            let ends: Vec<(Addr, Addr)> = (0..4).map(|client| replica(&params, Bytes(behind), client)).collect();
            let first = Addr::pm(behind / MIB * MIB + MIB);
            assert_eq!(ends[0].0, first);
            for pair in ends.windows(2) {
                let (length, apart) = (pair[0].1.0 - pair[0].0.0, pair[1].0.0 - pair[0].0.0);
                assert_eq!(length, pair[1].1.0 - pair[1].0.0);
                assert_eq!(apart, length.div_ceil(MIB) * MIB);
            }
        }
    }
    /// Every element is written, and none much more often than another; each transaction computes as long as declared.
    #[test]
    fn elements_are_drawn_evenly() {
        let params = ClientParams {
            elements: 16,
            element: Bytes(64),
            epochs: 1,
            ..of(Workload::Blocks)
        };
        let t = transactions(&params, Bytes(0), 3);
        let (first, end) = replica(&params, Bytes(0), 0);
        assert_eq!(end.0 - first.0, 16 * 64);
        let mut drawn = [0u32; 16];
        for tx in 0..3200 {
            let t = t(0, tx);
            assert_eq!(t.compute, params.compute);
            drawn[((t.epochs[0].at.0 - first.0) / 64) as usize] += 1;
        }
        assert!(drawn.iter().all(|n| (140..260).contains(n)), "{drawn:?}");
        // As many elements as there are: a draw reaches those beyond the hundredth too.
        let many = ClientParams {
            elements: 1 << 12,
            ..params
        };
        let t = transactions(&many, Bytes(0), 3);
        let places: BTreeSet<Addr> = (0..4096).map(|tx| t(0, tx).epochs[0].at).collect();
        assert!(places.len() > 2400, "{}", places.len());
    }
    /// The clients of one run differ, and so do runs of different seeds.
    #[test]
    fn clients_and_seeds_draw_each_for_themselves() {
        let params = of(Workload::Hashmap);
        let (first, _) = replica(&params, Bytes(0), 0);
        let (second, _) = replica(&params, Bytes(0), 1);
        let element = |seed, client, base: Addr| -> Vec<u64> {
            let t = transactions(&params, Bytes(0), seed);
            (0..20).map(|tx| t(client, tx).epochs[1].at.0 - base.0).collect()
        };
        assert_ne!(element(1, 0, first), element(1, 1, second));
        assert_ne!(element(1, 0, first), element(2, 0, first));
    }
    /// From a word follow client, transaction, epoch and position.
    #[test]
    fn a_word_tells_who_sent_it() {
        for (client, tx, epoch, i) in [(0, 0, 0, 0), (3, 70_000, 5, 11), (254, u32::MAX, 63, 511)] {
            let word = value(client, tx, epoch, i);
            let bytes = word.to_be_bytes();
            assert_eq!(bytes[0], client + 1);
            assert_eq!(bytes[1..5], tx.to_be_bytes());
            assert_eq!(u32::from(bytes[5]), epoch);
            assert_eq!(bytes[6..], (i as u16 + 1).to_be_bytes());
        }
    }
}
