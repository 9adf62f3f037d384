//! What a subscriber's client asks for: the transactions of TATP and their mixes.

use super::tables::{FORWARDINGS, TYPES, Tables, location, sub_nbr, times};
use crate::draw::{below, non_uniform};
use fencepost_kernel::{param_enum, rng};

param_enum! {
    /// Which transactions run.
    pub enum Mix {
        /// UPDATE_LOCATION alone: the micro-benchmark of the papers.
        UpdateLocation = "update-location",
        /// The whole standard: 35 % get subscriber, 35 % get access data, 10 % get destination, 14 % update location, 2 % each of
        /// update subscriber, insert forwarding, delete forwarding.
        Standard = "standard",
        /// The four transactions that write, in equal parts: for checks.
        Writes = "writes",
    }
}
param_enum! {
    /// How subscribers are chosen.
    pub enum Choice {
        /// As the standard has it: bits of the number set more often than not.
        NonUniform = "non-uniform",
        /// All alike.
        Uniform = "uniform",
    }
}

/// One request, made by the client.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// UPDATE_LOCATION.
    Location {
        /// The subscriber's number: 15 digits, packed.
        sub_nbr: u64,
        /// The new vlr_location, 32 bits.
        location: u64,
    },
    /// UPDATE_SUBSCRIBER_DATA.
    Subscriber {
        /// The subscriber, from 0.
        s: u64,
        /// The new bit_1.
        bit: u64,
        /// The facility, from 0.
        kind: u64,
        /// Its new data_a.
        data: u64,
    },
    /// INSERT_CALL_FORWARDING.
    Insert {
        /// The subscriber's number.
        sub_nbr: u64,
        /// The facility.
        kind: u64,
        /// start_time / 8.
        slot: u64,
        /// The row.
        row: [u64; 4],
    },
    /// DELETE_CALL_FORWARDING.
    Delete {
        /// The subscriber's number.
        sub_nbr: u64,
        /// The facility.
        kind: u64,
        /// start_time / 8.
        slot: u64,
    },
    /// GET_SUBSCRIBER_DATA.
    GetSubscriber {
        /// The subscriber.
        s: u64,
    },
    /// GET_ACCESS_DATA.
    GetAccess {
        /// The subscriber.
        s: u64,
        /// The type of access, from 0.
        kind: u64,
    },
    /// GET_NEW_DESTINATION.
    GetDestination {
        /// The subscriber.
        s: u64,
        /// The facility.
        kind: u64,
        /// start_time / 8.
        slot: u64,
        /// The hour until which the forwarding must last.
        end: u64,
    },
}

/// How requests are drawn.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub seed: u64,
    pub threads: u32,
    pub subscribers: u64,
    pub mix: Mix,
    pub choice: Choice,
}

impl Client {
    /// A, the constant of the non-uniform choice (TATP 1.0, non-uniform distribution).
    fn a(&self) -> u64 {
        match self.subscribers {
            0..=1_000_000 => 65_535,
            1_000_001..=10_000_000 => 1_048_575,
            _ => 2_097_151,
        }
    }
    /// Operation `k` of `thread`, numbered from 0.
    pub(super) fn serial(&self, thread: u32, k: u32) -> u64 {
        u64::from(k) * u64::from(self.threads) + u64::from(thread)
    }
    /// The request of an operation.
    pub(super) fn request(&self, thread: u32, k: u32) -> Request {
        let h = |salt: u64| rng::hash(&[self.seed, u64::from(thread), u64::from(k), salt]);
        let s = match self.choice {
            Choice::Uniform => below(h(1), self.subscribers),
            Choice::NonUniform => non_uniform(h(1), self.a(), 0, 1, self.subscribers) - 1,
        };
        let fresh = || self.subscribers + self.serial(thread, k);
        let kind = || below(h(2), TYPES);
        let (slot, duration) = (|| below(h(3), FORWARDINGS), || 1 + below(h(4), 8));
        let percent = match self.mix {
            Mix::UpdateLocation => 0,
            Mix::Writes | Mix::Standard => below(h(7), 100),
        };
        match (self.mix, percent) {
            (Mix::UpdateLocation, _) | (Mix::Writes, 0..25) | (Mix::Standard, 80..94) => Request::Location {
                sub_nbr: sub_nbr(s),
                location: location(fresh()),
            },
            (Mix::Writes, 25..50) | (Mix::Standard, 94..96) => Request::Subscriber {
                s,
                bit: h(5) & 1,
                kind: kind(),
                data: h(6) & 0xff,
            },
            (Mix::Writes, 50..75) | (Mix::Standard, 96..98) => Request::Insert {
                sub_nbr: sub_nbr(s),
                kind: kind(),
                slot: slot(),
                row: Tables::forwarding_row(s, times(slot(), duration()), fresh()),
            },
            (Mix::Writes, _) | (Mix::Standard, 98..) => Request::Delete {
                sub_nbr: sub_nbr(s),
                kind: kind(),
                slot: slot(),
            },
            (Mix::Standard, 0..35) => Request::GetSubscriber { s },
            (Mix::Standard, 35..70) => Request::GetAccess { s, kind: kind() },
            (Mix::Standard, _) => Request::GetDestination {
                s,
                kind: kind(),
                slot: slot(),
                end: 8 * slot() + duration(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn the_mix_is_the_standards() {
        let client = Client {
            seed: 3,
            threads: 1,
            subscribers: 1000,
            mix: Mix::Standard,
            choice: Choice::NonUniform,
        };
        let mut seen = [0; 7];
        for k in 0..20_000 {
            seen[match client.request(0, k) {
                Request::GetSubscriber { .. } => 0,
                Request::GetAccess { .. } => 1,
                Request::GetDestination { .. } => 2,
                Request::Location { .. } => 3,
                Request::Subscriber { .. } => 4,
                Request::Insert { .. } => 5,
                Request::Delete { .. } => 6,
            }] += 1;
        }
        for (n, percent) in seen.into_iter().zip([35, 35, 10, 14, 2, 2, 2]) {
            assert!(
                (percent * 200 - 120..percent * 200 + 120).contains(&n),
                "{n} for {percent} %"
            );
        }
    }

    /// What requests ask for lies in the standard's ranges and reaches both ends, in shares as declared.
    #[test]
    fn requests_reach_the_whole_of_their_ranges() {
        use std::collections::BTreeSet;
        const N: u64 = 50;
        for (mix, choice) in [
            (Mix::Writes, Choice::Uniform),
            (Mix::Standard, Choice::NonUniform),
            (Mix::UpdateLocation, Choice::Uniform),
        ] {
            let client = Client {
                seed: 3,
                threads: 4,
                subscribers: N,
                mix,
                choice,
            };
            let (mut subscribers, mut kinds, mut data) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
            let (mut inserted, mut asked, mut deleted) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
            let (mut locations, mut numbers, mut shares) = (BTreeSet::new(), BTreeSet::new(), [0u64; 4]);
            for i in 0..40_000u32 {
                let (thread, k) = (i % 4, i / 4);
                assert_eq!(client.serial(thread, k), u64::from(i), "every operation has its number");
                let s = match client.request(thread, k) {
                    Request::Location { sub_nbr, location } => {
                        shares[0] += 1;
                        assert!(locations.insert(location), "a location of its own");
                        super::super::tables::subscriber(sub_nbr)
                    }
                    Request::Subscriber { s, bit, kind, data: d } => {
                        shares[1] += 1;
                        data.insert((bit, d));
                        kinds.insert((0, kind));
                        s
                    }
                    Request::Insert {
                        sub_nbr,
                        kind,
                        slot,
                        row,
                    } => {
                        shares[2] += 1;
                        let s = super::super::tables::subscriber(sub_nbr);
                        assert_eq!(row[0], s + 1);
                        assert!(numbers.insert([row[2], row[3]]), "a number of its own");
                        inserted.insert((row[1] >> 8, (row[1] & 0xff) - (row[1] >> 8)));
                        assert_eq!(row[1] >> 8, 8 * slot);
                        kinds.insert((1, kind));
                        s
                    }
                    Request::Delete { sub_nbr, kind, slot } => {
                        shares[3] += 1;
                        deleted.insert(slot);
                        kinds.insert((2, kind));
                        super::super::tables::subscriber(sub_nbr)
                    }
                    Request::GetSubscriber { s } => s,
                    Request::GetAccess { s, kind } => {
                        kinds.insert((3, kind));
                        s
                    }
                    Request::GetDestination { s, kind, slot, end } => {
                        asked.insert((8 * slot, end - 8 * slot));
                        kinds.insert((4, kind));
                        s
                    }
                };
                subscribers.insert(s);
            }
            assert!(subscribers.into_iter().eq(0..N));
            let hours: BTreeSet<(u64, u64)> = [0, 8, 16].iter().flat_map(|s| (1..9).map(|h| (*s, h))).collect();
            let of = |all: &[u64]| -> BTreeSet<(u64, u64)> {
                all.iter().flat_map(|what| (0..4).map(|kind| (*what, kind))).collect()
            };
            match mix {
                Mix::UpdateLocation => assert_eq!(shares, [40_000, 0, 0, 0]),
                Mix::Writes => {
                    assert!(shares.iter().all(|n| n.abs_diff(10_000) < 500), "{shares:?}");
                    let all = (0..2).flat_map(|bit| (0..256).map(move |d| (bit, d)));
                    assert!(data.into_iter().eq(all), "a bit and a byte");
                    assert_eq!((kinds, inserted, asked), (of(&[0, 1, 2]), hours, BTreeSet::new()));
                    assert!(deleted.into_iter().eq(0..3));
                }
                Mix::Standard => assert_eq!((kinds, inserted, asked), (of(&[0, 1, 2, 3, 4]), hours.clone(), hours)),
            }
        }
    }
    /// A of the non-uniform choice (TATP 1.0): by the size of the table.
    #[test]
    fn the_constant_of_the_choice_grows_with_the_table() {
        let a = |subscribers| {
            let (mix, choice) = (Mix::Standard, Choice::NonUniform);
            Client {
                seed: 1,
                threads: 1,
                subscribers,
                mix,
                choice,
            }
            .a()
        };
        assert_eq!(
            [1_000_000, 1_000_001, 10_000_000, 10_000_001].map(a),
            [65_535, 1_048_575, 1_048_575, 2_097_151]
        );
    }
}
