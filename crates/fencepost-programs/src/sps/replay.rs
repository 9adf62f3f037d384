//! The order of a run's swaps, found from what they read.

use super::{Sps, TAG, TAG_BITS};
use fencepost_kernel::{OpRecord, rng};
use std::collections::BTreeMap;

impl Sps {
    /// Replays the run in an order that fits what every operation read; `None` if no order does.
    ///
    /// An operation can be next iff the entries it swaps are as it saw them. Two that could both be next touch different
    /// entries, so the choice does not matter, and the order found is the order of the conflicts.
    pub(super) fn replay(&self, ops: &[OpRecord], mut emit: impl FnMut(&OpRecord, &[(u64, u64)])) -> Option<()> {
        let mut threads: BTreeMap<u32, Vec<&OpRecord>> = BTreeMap::new();
        ops.iter().for_each(|o| threads.entry(o.thread).or_default().push(o));
        threads
            .values_mut()
            .for_each(|v| v.sort_by_key(|o| std::cmp::Reverse(o.k)));
        let mut array: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut left, mut idle) = (ops.len(), 0);
        while left > 0 {
            for queue in threads.values_mut() {
                idle += 1;
                while let Some(o) = queue.last() {
                    let Some(writes) = self.effect(o, &array) else { break };
                    emit(o, &writes);
                    array.extend(writes);
                    queue.pop();
                    left -= 1;
                    idle = 0;
                }
            }
            if idle > 2 * threads.len() {
                return None;
            }
        }
        Some(())
    }
    /// The writes of an operation on `array`, if it read what `array` holds.
    fn effect(&self, o: &OpRecord, array: &BTreeMap<u64, u64>) -> Option<Vec<(u64, u64)>> {
        let mut writes: Vec<(u64, u64)> = Vec::new();
        let mut digest = 0;
        for s in 0..self.params.swaps {
            let ((a, b), tag) = (self.pair(o.thread, o.k, s), self.tag(o.thread, o.k, s));
            let now = |i: u64| {
                let own = writes.iter().rev().find(|w| w.0 == i).map(|w| w.1);
                own.or(array.get(&i).copied()).unwrap_or(i << TAG_BITS)
            };
            let (va, vb) = (now(a), now(b));
            digest = rng::mix(digest ^ rng::mix(va ^ rng::mix(vb)));
            writes.push((a, (vb & !TAG) | tag));
            writes.push((b, (va & !TAG) | tag));
        }
        (digest == o.outcome.words[0]).then_some(writes)
    }
}
