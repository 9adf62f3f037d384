//! The oracle against brute force: all cuts of small random histories.

use super::*;
use fencepost_kernel::{Outcome, Stream};

fn records(counts: &[u32]) -> Vec<OpRecord> {
    let op = |thread: usize, k| OpRecord {
        thread: thread as u32,
        k,
        stamp: 0,
        outcome: Outcome::default(),
    };
    counts
        .iter()
        .enumerate()
        .flat_map(|(t, n)| (0..*n).map(move |k| op(t, k)))
        .collect()
}

/// One register write of the reference: register, operation, value.
type Write = (u64, (u32, u32), u64);

/// Every cut in the bounds that is closed under the conflicts and explains the readings.
fn brute_force(counts: &[u32], writes: &[Write], crash: &CrashPoint, readings: &[(u64, u64)]) -> bool {
    let mut cuts = vec![vec![]];
    for (t, n) in counts.iter().enumerate() {
        let range = crash.acked[t]..=crash.begun[t].min(*n);
        cuts = cuts
            .iter()
            .flat_map(|c| range.clone().map(move |x| [c.clone(), vec![x]].concat()))
            .collect();
    }
    cuts.iter().any(|cut| {
        let inside = |op: (u32, u32)| op.1 < cut[op.0 as usize];
        let closed = (0..writes.len())
            .all(|i| (0..i).all(|j| writes[i].0 != writes[j].0 || !inside(writes[i].1) || inside(writes[j].1)));
        let value = |r| writes.iter().rfind(|w| w.0 == r && inside(w.1)).map_or(0, |w| w.2);
        closed && readings.iter().all(|(r, v)| value(*r) == *v)
    })
}

#[test]
fn equals_brute_force_on_random_histories() {
    let mut rng = Stream::new(11, "oracle");
    let (mut explained, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let counts: Vec<u32> = (0..3).map(|_| 1 + rng.below(3) as u32).collect();
        // A random interleaving; each operation writes one or two registers; few distinct values, so that they repeat.
        let mut next = [0u32; 3];
        let mut writes: Vec<Write> = Vec::new();
        while next.iter().zip(&counts).any(|(n, c)| n < c) {
            let t = rng.below(3) as usize;
            if next[t] < counts[t] {
                let a = rng.below(3);
                writes.push((a, (t as u32, next[t]), rng.below(3)));
                if rng.chance(1, 2) {
                    writes.push(((a + 1) % 3, (t as u32, next[t]), rng.below(3)));
                }
                next[t] += 1;
            }
        }
        let acked: Vec<u32> = counts.iter().map(|c| rng.below(u64::from(*c) + 1) as u32).collect();
        let begun = acked
            .iter()
            .zip(&counts)
            .map(|(a, c)| a + rng.below(u64::from(c - a) + 1) as u32)
            .collect();
        let crash = CrashPoint { begun, acked };
        let mut b = Builder::new(&records(&counts));
        for r in 0..3 {
            b.initial(r, 0);
        }
        writes.iter().for_each(|w| b.write(w.0, w.1, w.2));
        let h = b.build();
        let readings: Vec<(u64, u64)> = (0..3).map(|r| (r, rng.below(3))).collect();
        let mut cut = h.cut(&crash);
        let got = readings.iter().all(|(r, v)| h.observe(&mut cut, *r, *v).is_ok());
        let any = brute_force(&counts, &writes, &crash, &[]);
        let expect = any && brute_force(&counts, &writes, &crash, &readings);
        assert_eq!(got, expect, "{counts:?} {writes:?} {crash:?} {readings:?}");
        *(if expect { &mut explained } else { &mut refused }) += 1;
    }
    assert!(
        explained > 300 && refused > 300,
        "one-sided test: {explained} explained, {refused} refused"
    );
}

#[test]
fn a_cyclic_run_is_reported() {
    let mut b = Builder::new(&records(&[1, 1]));
    b.depends((0, 0), (1, 0));
    b.depends((1, 0), (0, 0));
    assert!(b.build().fault().is_some());
}
