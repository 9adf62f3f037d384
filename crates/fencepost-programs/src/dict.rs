//! What the dictionaries share: which keys operations toggle, unique values, and the oracle's history.
//!
//! An operation toggles one key or several: inserts it with a new value if it is absent, removes it if it is found. What
//! each does follows from the order in which the lock granted them, so the oracle replays the run and compares.

use crate::oracle::{Builder, History};
use crate::small::Small;
use fencepost_kernel::{Mem, OpRecord, Outcome, rng};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// Which keys the operations of a program change, and to what.
pub trait Keys: Clone + Debug + Send + Sync + 'static {
    /// Why these sizes cannot be had.
    fn refusal(&self, ops: u32) -> Option<String>;
    /// The keys of operation `k` of a thread, with the values that they may get.
    fn input(&self, thread: u32, k: u32) -> Small<Toggle, 1>;
    /// What an operation reports of what it found, key by key (0: none).
    fn outcome<M: Mem>(found: &[u64]) -> Outcome;
    /// The run's history: one register per key (0: absent), operations under one lock in the lock's order.
    fn history(&self, ops: &[OpRecord], lock_of: impl Fn(u64) -> u64) -> History;
}

/// Keys and values of a dictionary program.
#[derive(Clone, Debug)]
pub struct Dict {
    pub seed: u64,
    /// Keys are `1..=keys`.
    pub keys: u64,
    /// Keys present before the run, evenly spread.
    pub preload: u64,
    /// Toggles per operation.
    pub batch: u32,
    /// Bits of a value below the writer's thread.
    pub value_bits: u32,
}

/// What one toggle is given.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Toggle {
    /// The key to look for.
    pub key: u64,
    /// The value to insert if it is absent; unique in the run and never 0.
    pub value: u64,
}

impl Dict {
    /// One toggle an operation.
    pub fn single(seed: u64, keys: u64, preload: u64) -> Dict {
        Dict {
            seed,
            keys,
            preload,
            batch: 1,
            value_bits: 32,
        }
    }
    /// What toggle `sub` of operation `k` is given.
    pub fn toggle(&self, thread: u32, k: u32, sub: u32) -> Toggle {
        Toggle {
            key: self.key(thread, k, sub),
            value: self.value(thread, k, sub),
        }
    }
    /// The key that toggle `sub` of operation `k` concerns.
    pub fn key(&self, thread: u32, k: u32, sub: u32) -> u64 {
        let h = rng::hash(&[self.seed, u64::from(thread), u64::from(k), u64::from(sub)]);
        1 + ((u128::from(h) * u128::from(self.keys)) >> 64) as u64
    }
    /// The value that toggle would insert; unique in the run and never 0.
    pub fn value(&self, thread: u32, k: u32, sub: u32) -> u64 {
        let serial = u64::from(k) * u64::from(self.batch) + u64::from(sub) + 1;
        (u64::from(thread) + 1) << self.value_bits | serial
    }
    /// The keys present before the run, ascending, with their values.
    pub fn preloaded(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + ExactSizeIterator + Clone {
        let dict = self.clone();
        (0..self.preload as usize).map(move |i| (dict.preloaded_key(i as u64), i as u64 + 1))
    }
    /// The key of number `i` of them.
    pub fn preloaded_key(&self, i: u64) -> u64 {
        1 + (u128::from(i) * u128::from(self.keys) / u128::from(self.preload.max(1))) as u64
    }
}

impl Keys for Dict {
    fn refusal(&self, ops: u32) -> Option<String> {
        let limit = 1u64 << self.value_bits;
        match self {
            d if d.keys == 0 => Some("keys = 0: there must be at least one key".into()),
            d if d.preload > d.keys => Some(format!("preload = {} exceeds keys = {}", d.preload, d.keys)),
            d if d.batch == 0 => Some("batch = 0: an operation toggles at least one key".into()),
            d if d.preload >= limit || u64::from(ops) * u64::from(d.batch) >= limit => Some(format!(
                "preload or ops times batch reaches {limit}, beyond which values would repeat"
            )),
            _ => None,
        }
    }
    fn input(&self, thread: u32, k: u32) -> Small<Toggle, 1> {
        let mut toggles = Small::new(Toggle::default());
        (0..self.batch).for_each(|sub| toggles.push(self.toggle(thread, k, sub)));
        toggles
    }
    /// Digested if an oracle looks.
    #[inline(always)]
    fn outcome<M: Mem>(found: &[u64]) -> Outcome {
        Outcome {
            kind: 1,
            words: [if M::OBSERVED { digest(found) } else { 0 }, 0, 0],
        }
    }
    fn history(&self, ops: &[OpRecord], lock_of: impl Fn(u64) -> u64) -> History {
        let mut b = Builder::new(ops);
        let mut now: BTreeMap<u64, u64> = self.preloaded().collect();
        now.iter().for_each(|(key, value)| b.initial(*key, *value));
        let mut last: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
        let mut serial = true;
        for o in ops {
            let mut found = Vec::with_capacity(self.batch as usize);
            for sub in 0..self.batch {
                let key = self.key(o.thread, o.k, sub);
                let old = now.get(&key).copied().unwrap_or(0);
                let new = if old == 0 { self.value(o.thread, o.k, sub) } else { 0 };
                found.push(old);
                now.insert(key, new);
                b.write(key, (o.thread, o.k), new);
                if let Some(before) = last.insert(lock_of(key), (o.thread, o.k))
                    && before != (o.thread, o.k)
                {
                    b.depends(before, (o.thread, o.k));
                }
            }
            serial &= digest(&found) == o.outcome.words[0];
        }
        b.build_if(
            serial,
            "what the operations found is not what the lock's order of them leaves",
        )
    }
}

/// One number of what an operation found.
pub(crate) fn digest(found: &[u64]) -> u64 {
    match found {
        [one] => *one,
        _ => found.iter().fold(1, |d, v| rng::mix(d ^ rng::mix(v + 1))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::CrashPoint;
    use std::collections::BTreeSet;

    fn dict(keys: u64, preload: u64, batch: u32, value_bits: u32) -> Dict {
        Dict {
            seed: 3,
            keys,
            preload,
            batch,
            value_bits,
        }
    }
    /// Every key is drawn, none much more often than another, by every toggle of an operation and every thread for itself.
    #[test]
    fn keys_are_drawn_evenly_and_values_are_never_the_same() {
        let d = dict(20, 10, 2, 24);
        let (mut drawn, mut values, mut alike) = ([0u32; 20], BTreeSet::new(), 0);
        for (thread, k) in (0..3).flat_map(|t| (0..4000).map(move |k| (t, k))) {
            let toggles = d.input(thread, k);
            for (sub, t) in (0..).zip(toggles.as_slice()) {
                assert_eq!(*t, d.toggle(thread, k, sub));
                drawn[t.key as usize - 1] += 1;
                assert!(values.insert(t.value) && t.value & 0xff_ffff != 0 && t.value >> 24 == u64::from(thread) + 1);
            }
            alike += u32::from(toggles.as_slice()[0].key == toggles.as_slice()[1].key);
        }
        assert!(drawn.iter().all(|n| (1050..1350).contains(n)), "{drawn:?}");
        assert!((450..750).contains(&alike), "one in twenty pairs: {alike}");
    }
    /// Keys before the run ascend, evenly spread from the first one on, with values from 1 on.
    #[test]
    fn preloaded_keys_are_spread_evenly() {
        for (keys, preload) in [(20, 10), (20, 20), (1000, 3), (7, 5), (5, 0)] {
            let d = dict(keys, preload, 1, 32);
            let pairs: Vec<(u64, u64)> = d.preloaded().collect();
            assert_eq!((pairs.len() as u64, d.preloaded().len() as u64), (preload, preload));
            for (i, (key, value)) in (0..).zip(&pairs) {
                assert_eq!((*key, *value), (1 + i * keys / preload, i + 1));
            }
        }
    }
    /// There is a key at least, no more are there than there are, an operation toggles one, and values do not repeat.
    #[test]
    fn sizes_that_cannot_be_had_are_refused() {
        let refused = |keys, preload, batch, ops| dict(keys, preload, batch, 8).refusal(ops).is_some();
        assert!(!refused(300, 255, 5, 51) && !refused(1, 1, 1, 1));
        assert!(refused(0, 0, 1, 1) && refused(9, 10, 1, 1) && refused(9, 9, 0, 1));
        assert!(refused(300, 256, 1, 1) && refused(9, 9, 4, 64) && !refused(9, 9, 4, 63));
    }
    /// Operations under one lock survive in its order, whatever their keys are; under locks of their own each by itself.
    #[test]
    fn a_lock_orders_operations_of_different_keys() {
        let d = dict(20, 0, 1, 24);
        let keys = [0, 1].map(|thread| d.key(thread, 0, 0));
        assert_ne!(keys[0], keys[1]);
        let op = |thread: u32| OpRecord {
            thread,
            k: 0,
            stamp: thread.into(),
            outcome: Outcome {
                kind: 1,
                words: [digest(&[0]), 0, 0],
            },
        };
        let later_alone = |lock_of: fn(u64) -> u64| {
            let history = d.history(&[op(0), op(1)], lock_of);
            assert_eq!(history.fault(), None);
            let mut cut = history.cut(&CrashPoint {
                begun: vec![1, 1],
                acked: vec![0, 0],
            });
            let first = history.observe(&mut cut, keys[0], 0);
            first.and_then(|()| history.observe(&mut cut, keys[1], d.value(1, 0, 0)))
        };
        assert!(later_alone(|_| 0).is_err());
        assert!(later_alone(|key| key).is_ok());
    }
    /// Of one toggle what it found; of several a number that depends on each and on their order.
    #[test]
    fn a_digest_depends_on_everything_that_was_found() {
        assert_eq!([0, 7].map(|v| digest(&[v])), [0, 7]);
        let found: [&[u64]; 9] = [
            &[],
            &[0, 0],
            &[0, 0, 0],
            &[1, 0],
            &[0, 1],
            &[1, 1],
            &[1, 2],
            &[2, 1],
            &[1, 2, 0],
        ];
        assert_eq!(found.map(digest).into_iter().collect::<BTreeSet<_>>().len(), 9);
    }
}
