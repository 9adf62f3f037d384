//! The rules of BROI: its worked example on a controller, its formula, local before remote, and order found by coherence.

use crate::experiment::statement::{Programs, Statement};
use crate::statements::litmus;
use fencepost_designs::broi::example::{bank_parallel, epochs, first_pick, line, memory};
use fencepost_designs::broi::{BroiEntry, BroiFault, BroiParams, LeavesSet, Priorities};
use fencepost_kernel::{Ps, Stream};
use fencepost_machine::seam::{Epoch, WriteId};
use std::collections::BTreeSet;

/// Every statement of this paper.
pub const STATEMENTS: &[Statement] = &[
    Statement {
        name: "broi-epoch-first",
        broken_by: Some("broi.barrier-index-off-by-one"),
        programs: Programs::AllCount,
        run: |_| epoch_first(),
    },
    Statement {
        name: "broi-first-pick",
        broken_by: Some("broi.barrier-index-off-by-one"),
        programs: Programs::AllCount,
        run: |_| pick_first(),
    },
    Statement {
        name: "broi-priority",
        broken_by: Some("broi.barrier-index-off-by-one"),
        programs: Programs::AllCount,
        run: |_| priority(),
    },
    Statement {
        name: "broi-local-first",
        broken_by: Some("broi.remote-goes-first"),
        programs: Programs::AllCount,
        run: |_| local_first(),
    },
    Statement {
        name: "broi-coherence-chain",
        broken_by: Some("broi.released-when-sent"),
        programs: Programs::AllCount,
        run: |_| litmus::coherence_chain(&["epoch", "broi"], "released-when-sent"),
    },
];

fn with(fault: BroiFault) -> BroiParams {
    BroiParams {
        fault,
        ..BroiParams::default()
    }
}

/// Figure 3: the baseline's epochs are (1.1, 1.2, 2.1, 3.1), (1.3, 2.2, 3.2), (1.4, 2.3, 3.3).
fn epoch_first() -> Result<String, String> {
    let expected = [vec![11, 12, 21, 31], vec![13, 22, 32], vec![14, 23, 33]];
    let found = epochs(&BroiParams::default());
    if found != expected {
        return Err(format!("the epochs are {found:?}"));
    }
    if epochs(&with(BroiFault::BarrierIndexOffByOne)) == expected {
        return Err("registers that are off by one change nothing: the check cannot fail".into());
    }
    Ok("(1.1, 1.2, 2.1, 3.1) in bank 0, then (1.3, 2.2, 3.2), then (1.4, 2.3, 3.3); otherwise with registers off by one".into())
}

/// Figure 6(c): 2.1 goes first, and then the Ready-SET is (1.1, 1.2, 2.2, 3.1).
fn pick_first() -> Result<String, String> {
    let expected = (21, vec![11, 12, 22, 31]);
    let found = first_pick(&BroiParams::default());
    if found != expected {
        return Err(format!("{} goes first, and then {:?} is ready", found.0, found.1));
    }
    let blind = BroiParams {
        sigma: 0,
        ..BroiParams::default()
    };
    let [off, equal] = [first_pick(&with(BroiFault::BarrierIndexOffByOne)), first_pick(&blind)];
    if off == expected || equal == expected {
        return Err("neither the registers nor sigma matter: the check cannot fail".into());
    }
    Ok(format!(
        "2.1, then (1.1, 1.2, 2.2, 3.1) is ready; with registers off by one {:?}, without sigma {} goes first",
        off.1, equal.0
    ))
}

/// A request set as the paper defines it: ids with their banks.
type Set = BTreeSet<(u64, u16)>;
fn parallelism(set: &Set) -> i64 {
    set.iter().map(|r| r.1).collect::<BTreeSet<_>>().len() as i64
}

/// Equation 2 against its literal evaluation on random sets; how often they differ.
fn differs(fault: BroiFault) -> (u32, u32) {
    let mut dice = Stream::new(2018, "equation 2");
    let (mut cases, mut wrong) = (0, 0);
    for _ in 0..200 {
        let sigma = dice.below(300) as u32;
        let mut sets: Vec<[Set; 2]> = Vec::new();
        let mut entries = Vec::new();
        for e in 0..8 {
            let (mut entry, mut own) = (BroiEntry::new(fault, LeavesSet::Scheduled), [Set::new(), Set::new()]);
            let (first, second) = (dice.below(4), dice.below(4));
            for k in 0..first + second {
                let (id, bank) = (100 * e + k, dice.below(8) as u16);
                let set = u64::from(k >= first);
                entry.arrived(Ps::ZERO, WriteId(id), bank, Epoch(set));
                // Without a first set the second is the first.
                own[if first == 0 { 0 } else { set as usize }].insert((id, bank));
            }
            sets.push(own);
            entries.push(entry);
        }
        let mut found = Priorities::default();
        found.work_out(&entries, entries.len(), sigma);
        let ready: Set = sets.iter().flat_map(|s| s[0].iter().copied()).collect();
        for (i, [first, next]) in sets.iter().enumerate() {
            let after: Set = ready.difference(first).chain(next).copied().collect();
            let literal = 1000 * parallelism(&after) - i64::from(sigma) * first.len() as i64;
            cases += 1;
            wrong += u32::from(found.of(i) != literal);
        }
    }
    (cases, wrong)
}
fn priority() -> Result<String, String> {
    let (cases, wrong) = differs(BroiFault::None);
    if wrong > 0 {
        return Err(format!("{wrong} of {cases} priorities are not those of the formula"));
    }
    match differs(BroiFault::BarrierIndexOffByOne).1 {
        0 => Err("sets that are wrong by one request change no priority: the check cannot fail".into()),
        faulty => Ok(format!(
            "{cases} priorities equal the literal formula; {faulty} do not with registers off by one"
        )),
    }
}

/// In which place a remote request goes that competes with seven local ones for a bank. What stands in the controller's queue goes before
/// it, however long it was blocked: a queue of two.
fn remote_place(starvation: Ps) -> Result<usize, String> {
    let params = BroiParams {
        starvation,
        queue: 2,
        low_utilisation: 0,
        ..BroiParams::default()
    };
    let mut memory = memory(bank_parallel(&params));
    let remote = (3, Epoch(0));
    let push = |m: &mut fencepost_designs::testkit::Scheduled<_>, id, entry| {
        m.push(Ps::ZERO, WriteId(id), entry, line(0, id))
            .map_err(|c| c.name(&[]))
    };
    push(&mut memory, 0, remote)?;
    for id in 1..8 {
        push(&mut memory, id, (0, Epoch(0)))?;
    }
    memory.run_until(|_| false);
    let place = memory.order().iter().position(|id| *id == 0);
    place.ok_or_else(|| "the remote request never goes".into())
}
fn local_first() -> Result<String, String> {
    let (patient, starving) = (remote_place(Ps::from_ns(100_000))?, remote_place(Ps::from_ns(1000))?);
    match (patient, starving, remote_place(Ps::ZERO)?) {
        (7, 1..7, 0) => Ok(format!(
            "a remote request goes after 7 local ones of its bank; blocked for 1 us, after {starving}"
        )),
        (_, _, at_once) => Err(format!(
            "a remote request goes after {patient} of 7 local ones, after {starving} with a threshold of 1 us, \
             after {at_once} with none"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_holds_and_can_be_broken() {
        for check in [epoch_first, pick_first, priority, local_first] {
            let found = check();
            assert!(found.is_ok(), "{found:?}");
        }
    }
}
