//! The rules of BROI: its worked example on a controller, its formula, and local before remote.

use super::{Rule, Seen, expect};
use crate::broi::example::{bank_parallel, epochs, first_pick, line, memory};
use crate::broi::{BroiEntry, BroiFault, BroiParams, HandOver, LeavesSet, Priorities};
use crate::testkit::Scheduled;
use fencepost_kernel::{Ps, Stream};
use fencepost_machine::seam::{Epoch, WriteId};
use std::collections::BTreeSet;

/// The baseline's epochs (Figure 3).
pub const EPOCH_FIRST: Rule = Rule {
    name: "broi-epoch-first",
    broken_by: "broi.epoch-ends-early",
    holds: |_| epoch_first(),
};
/// BROI's first pick (Figure 6(c)).
pub const FIRST_PICK: Rule = Rule {
    name: "broi-first-pick",
    broken_by: "broi.least-priority-first",
    holds: |_| pick_first(),
};
/// Equation 2.
pub const PRIORITY: Rule = Rule {
    name: "broi-priority",
    broken_by: "broi.barrier-index-off-by-one",
    holds: |_| priority(),
};
/// Local requests go before remote ones, which do not starve.
pub const LOCAL_FIRST: Rule = Rule {
    name: "broi-local-first",
    broken_by: "broi.remote-goes-first",
    holds: |_| local_first(),
};
/// Every rule of this paper that stands by itself.
pub const RULES: &[Rule] = &[EPOCH_FIRST, FIRST_PICK, PRIORITY, LOCAL_FIRST];

fn with(fault: BroiFault) -> BroiParams {
    BroiParams {
        fault,
        ..BroiParams::default()
    }
}

/// Figure 3: the baseline's epochs are (1.1, 1.2, 2.1, 3.1), (1.3, 2.2, 3.2), (1.4, 2.3, 3.3).
fn epoch_first() -> Seen {
    let expected = [vec![11, 12, 21, 31], vec![13, 22, 32], vec![14, 23, 33]];
    let found = epochs(&BroiParams::default());
    expect(found == expected, || format!("the epochs are {found:?}"))?;
    expect(epochs(&with(BroiFault::BarrierIndexOffByOne)) != expected, || {
        "registers that are off by one change nothing: the check cannot fail".into()
    })?;
    Ok("(1.1, 1.2, 2.1, 3.1) in bank 0, then (1.3, 2.2, 3.2), then (1.4, 2.3, 3.3); otherwise with registers off by one".into())
}

/// Figure 6(c): "we give the highest priority to request 2.1", and then the Ready-SET is (1.1, 1.2, 2.2, 3.1). So it is with a queue
/// behind the entries too: 2.1 is the first to be put out. Without sigma threads 1 and 2 bring as many banks, and the older one goes.
fn pick_first() -> Seen {
    let expected = (21, vec![11, 12, 22, 31]);
    for (sigma, hand_over) in [1, 100, 900]
        .into_iter()
        .flat_map(|s| [(s, HandOver::Bank), (s, HandOver::Queue)])
    {
        let params = BroiParams {
            sigma,
            hand_over,
            ..BroiParams::default()
        };
        let found = first_pick(&params);
        expect(found == expected, || {
            format!("{} goes first, and then {:?} is ready", found.0, found.1)
        })?;
    }
    let blind = BroiParams {
        sigma: 0,
        ..BroiParams::default()
    };
    let [off, equal] = [first_pick(&with(BroiFault::BarrierIndexOffByOne)), first_pick(&blind)];
    expect(off != expected && equal.0 == 11, || {
        "neither the registers nor sigma matter: the check cannot fail".into()
    })?;
    Ok(format!(
        "2.1, then (1.1, 1.2, 2.2, 3.1) is ready; with registers off by one {:?}, without sigma {} goes first",
        off.1, equal.0
    ))
}

/// A request set as the paper defines it: ids with their banks.
pub type RequestSet = BTreeSet<(u64, u16)>;

/// BLP(R - R_i + N_i) - sigma * size(R_i) in thousandths of a bank, set by set: the first and the second sets of all entries.
pub fn literal(sets: &[[RequestSet; 2]], i: usize, sigma: u32) -> i64 {
    let parallelism = |set: &RequestSet| set.iter().map(|r| r.1).collect::<BTreeSet<_>>().len() as i64;
    let ready: RequestSet = sets.iter().flat_map(|s| s[0].iter().copied()).collect();
    let [first, next] = &sets[i];
    let after: RequestSet = ready.difference(first).chain(next).copied().collect();
    1000 * parallelism(&after) - i64::from(sigma) * first.len() as i64
}

/// Equation 2 against its literal evaluation on random sets; how often they differ.
fn differs(fault: BroiFault) -> (u32, u32) {
    let mut dice = Stream::new(2018, "equation 2");
    let (mut cases, mut wrong) = (0, 0);
    for _ in 0..200 {
        let sigma = dice.below(300) as u32;
        let mut sets: Vec<[RequestSet; 2]> = Vec::new();
        let mut entries = Vec::new();
        for e in 0..8 {
            let (mut entry, mut own) = (
                BroiEntry::new(fault, LeavesSet::Scheduled),
                [RequestSet::new(), RequestSet::new()],
            );
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
        for i in 0..sets.len() {
            cases += 1;
            wrong += u32::from(found.of(i) != literal(&sets, i, sigma));
        }
    }
    (cases, wrong)
}
fn priority() -> Seen {
    let (cases, wrong) = differs(BroiFault::None);
    expect(wrong == 0, || {
        format!("{wrong} of {cases} priorities are not those of the formula")
    })?;
    match differs(BroiFault::BarrierIndexOffByOne).1 {
        0 => Err("sets that are wrong by one request change no priority: the check cannot fail".into()),
        faulty => Ok(format!(
            "{cases} priorities equal the literal formula; {faulty} do not with registers off by one"
        )),
    }
}

/// In which place a remote request goes that competes with seven local ones for a bank, and when. What stands in the controller's queue
/// goes before it, however long it was blocked: a queue of two.
fn remote_place(hand_over: HandOver, starvation: Ps) -> Result<(usize, Ps), String> {
    let params = BroiParams {
        starvation,
        queue: 2,
        low_utilisation: 0,
        hand_over,
        ..BroiParams::default()
    };
    let mut memory = memory(bank_parallel(&params));
    let remote = (3, Epoch(0));
    let push = |m: &mut Scheduled<_>, id, entry| {
        m.push(Ps::ZERO, WriteId(id), entry, line(0, id))
            .map_err(|c| c.name(&[]))
    };
    push(&mut memory, 0, remote)?;
    for id in 1..8 {
        push(&mut memory, id, (0, Epoch(0)))?;
    }
    memory.run_until(|_| false);
    let place = memory.order().iter().position(|id| *id == 0);
    place
        .map(|at| (at, memory.issued[at].0))
        .ok_or_else(|| "the remote request never goes".into())
}
fn local_first() -> Seen {
    let mut text = String::new();
    for hand_over in [HandOver::Queue, HandOver::Bank] {
        let place = |starvation| remote_place(hand_over, starvation);
        let threshold = Ps::from_ns(1000);
        let (patient, starving, at_once) = (place(Ps::from_ns(100_000))?.0, place(threshold)?, place(Ps::ZERO)?.0);
        expect(
            matches!((patient, starving.0, at_once), (7, 1..7, 0)) && starving.1 >= threshold,
            || {
                format!(
                    "a remote request goes after {patient} of 7 local ones, after {} with a threshold of 1 us, \
                 after {at_once} with none",
                    starving.0
                )
            },
        )?;
        if hand_over == BroiParams::default().hand_over {
            text = format!(
                "a remote request goes after 7 local ones of its bank; blocked for 1 us, after {}",
                starving.0
            );
        }
    }
    Ok(text)
}
