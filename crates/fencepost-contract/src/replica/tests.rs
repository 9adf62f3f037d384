//! The audit on journals and logs written by hand.

use super::*;
use fencepost_kernel::{LineAddr, LineData, Ps, RemoteEpoch, Transaction, WriteCause};
use std::rc::Rc;

/// Transactions of two epochs of one line each; both clients' lines are their own.
fn transactions() -> Transactions {
    Rc::new(|client, tx| {
        let epoch = |e: u64| RemoteEpoch {
            at: Addr::pm(4096 + 4096 * u64::from(client) + 64 * e),
            words: vec![100 * u64::from(tx + 1) + 10 * e; 8].into(),
        };
        Transaction {
            compute: Ps(0),
            epochs: vec![epoch(0), epoch(1)],
        }
    })
}
fn id(client: u8, tx: u32, epoch: u32) -> EpochId {
    EpochId { client, tx, epoch }
}
fn line(id: EpochId) -> LineAddr {
    Addr::pm(4096 + 4096 * u64::from(id.client) + 64 * u64::from(id.epoch)).line()
}
fn applied(id: EpochId) -> ReplicaEvent {
    let (channel, line) = (id.client, line(id));
    ReplicaEvent::Applied { id, channel, line }
}
fn record(id: EpochId) -> PersistRecord {
    let words = [100 * u64::from(id.tx + 1) + 10 * u64::from(id.epoch); 8];
    PersistRecord {
        time: Ps(1),
        line: line(id),
        data: LineData {
            words,
            ..LineData::default()
        },
        cause: WriteCause::Persist,
    }
}
fn judge(journal: &[ReplicaEvent], durable: &[EpochId]) -> Result<ReplicaReport, ReplicaViolation> {
    let records: Vec<_> = durable.iter().map(|d| record(*d)).collect();
    audit(journal, &transactions(), (&Image::default(), &records), false)
}
fn first_two() -> [ReplicaEvent; 2] {
    [applied(id(0, 0, 0)), applied(id(0, 0, 1))]
}

#[test]
fn a_prefix_after_every_event_is_sound() {
    let mut journal = first_two().to_vec();
    journal.extend([applied(id(1, 0, 0)), applied(id(0, 1, 0))]);
    let all = [id(0, 0, 0), id(1, 0, 0), id(0, 0, 1), id(0, 1, 0)];
    for n in 0..=all.len() {
        let found = judge(&journal, &all[..n]).unwrap();
        assert_eq!((found.epochs, found.points), (4, n as u64 + 1));
    }
    // Another channel owes this one nothing.
    assert!(judge(&journal, &[id(1, 0, 0)]).is_ok());
}

#[test]
fn a_later_epoch_alone_is_convicted_where_it_becomes_durable() {
    let found = judge(&first_two(), &[id(0, 0, 1)]).unwrap_err();
    assert_eq!(found.events, Some(1));
    assert!(
        found.why.contains("epoch 1") && found.why.contains("8 words"),
        "{found}"
    );
}

#[test]
fn order_and_number_of_effects_are_the_clients() {
    let t = transactions();
    let judge = |ids: &[EpochId]| in_order(&ids.iter().map(|i| applied(*i)).collect::<Vec<_>>(), &t);
    assert!(
        judge(&[id(0, 0, 0), id(0, 0, 1), id(0, 3, 0)]).is_ok(),
        "transactions that only read lie between"
    );
    for (ids, word) in [
        (vec![id(0, 0, 1)], "before the one it follows"),
        (vec![id(0, 0, 0), id(0, 0, 0)], "again"),
        (vec![id(0, 0, 0), id(0, 1, 0)], "took effect after"),
        (vec![id(0, 1, 0), id(0, 1, 1), id(0, 0, 0)], "again"),
        (vec![id(0, 0, 2)], "never sent"),
    ] {
        let found = judge(&ids).unwrap_err();
        assert!(found.why.contains(word), "{ids:?}: {found}");
    }
}

#[test]
fn a_belief_holds_from_the_event_that_makes_it_true() {
    let told = |durable_events| ReplicaEvent::Believed {
        id: id(0, 0, 1),
        durable_events,
    };
    let journal = |n| [first_two().to_vec(), vec![told(n)]].concat();
    let both = [id(0, 0, 0), id(0, 0, 1)];
    assert_eq!(judge(&journal(2), &both).unwrap().beliefs, 1);
    let early = judge(&journal(1), &both).unwrap_err();
    assert!(early.events == Some(1) && early.why.contains("was told"), "{early}");
    let never = [applied(id(0, 0, 0)), told(1)];
    assert!(judge(&never, &both[..1]).unwrap_err().why.contains("never arrived"));
}

#[test]
fn foreign_and_old_bytes_are_convicted_and_what_is_lost() {
    let journal = [first_two().to_vec(), vec![applied(id(0, 1, 0))]].concat();
    let mut bytes = record(id(0, 0, 0));
    bytes.data.words[3] = 77;
    let run =
        |records: &[PersistRecord], complete| audit(&journal, &transactions(), (&Image::default(), records), complete);
    assert!(run(&[bytes], false).unwrap_err().why.contains("no client sent"));
    let [a, b, c] = [id(0, 0, 0), id(0, 0, 1), id(0, 1, 0)].map(record);
    assert!(run(&[a, b, c, a], false).unwrap_err().why.contains("went back"));
    assert!(run(&[a, b], true).unwrap_err().why.contains("never became durable"));
    assert!(run(&[a, b, c], true).is_ok());
    // What was replaced before it became durable counts as durable with its successor.
    let same_word = run(&[a, c], false);
    assert!(same_word.unwrap_err().why.contains("epoch 0 of transaction 1"));
}

/// What a crash leaves, as words: those of complete epochs, then some of the next.
#[test]
fn a_crash_leaves_a_prefix_and_part_of_one_epoch() {
    let t = transactions();
    let judge = |words: &[(EpochId, usize)], next: EpochId, believed: Option<EpochId>| {
        let mut held = std::collections::BTreeMap::new();
        for (id, n) in words {
            let block = (t)(id.client, id.tx).epochs.swap_remove(id.epoch as usize);
            let at = |i: usize| Addr(block.at.0 + 8 * i as u64);
            held.extend(block.words.iter().take(*n).enumerate().map(|(i, w)| (at(i), *w)));
        }
        let word = |at: Addr| held.get(&at).copied().unwrap_or(0);
        holds_prefix(&word, &t, next, believed).map_err(|v| v.why)
    };
    let [a, b, c, d] = [id(0, 0, 0), id(0, 0, 1), id(0, 1, 0), id(0, 1, 1)];
    assert_eq!(judge(&[], a, None), Ok(()));
    assert_eq!(judge(&[(a, 8)], b, Some(a)), Ok(()));
    assert_eq!(judge(&[(a, 8), (b, 8), (c, 3)], c, Some(b)), Ok(()));
    assert!(judge(&[(a, 7)], b, None).unwrap_err().contains("does not hold"));
    assert!(judge(&[(a, 8), (b, 1)], a, None).unwrap_err().contains("there in part"));
    assert!(
        judge(&[(a, 8), (b, 8), (d, 2)], c, None)
            .unwrap_err()
            .contains("there in part")
    );
    assert!(judge(&[(a, 8)], b, Some(b)).unwrap_err().contains("was told"));
}

/// Four transactions are looked at from the one on that is expected: whoever went further would have left these behind.
#[test]
fn what_is_there_too_early_is_found_in_what_comes_next() {
    let at = |tx: u32| Addr::pm(4096 + 64 * u64::from(tx));
    let t: Transactions = Rc::new(move |_, tx| Transaction {
        compute: Ps(0),
        epochs: vec![RemoteEpoch {
            at: at(tx),
            words: vec![7; 8].into(),
        }],
    });
    let early = |tx| {
        let word = |a: Addr| 7 * u64::from(a.line() == at(tx).line());
        holds_prefix(&word, &t, id(0, 0, 0), None).is_err()
    };
    assert_eq!([0, 1, 2, 3, 4].map(early), [false, true, true, true, false]);
}
