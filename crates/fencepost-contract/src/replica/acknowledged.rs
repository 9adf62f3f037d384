//! ACKs: each answers an epoch that took effect, arrives once and in the order of sending, or is one that the network lost.

use super::violation::{ReplicaViolation, name, wrong};
use fencepost_kernel::{EpochId, ReplicaEvent};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Below this probability what happened did not happen by chance.
const CHANCE: f64 = 1e-12;

/// Whether ACKs sent are ACKs that arrived, but for those that were lost and those on their way at the end.
pub(super) fn judge(journal: &[ReplicaEvent]) -> Result<(), ReplicaViolation> {
    let mut effects: BTreeSet<EpochId> = BTreeSet::new();
    let mut under_way: BTreeMap<u8, VecDeque<EpochId>> = BTreeMap::new();
    let mut arrived = None;
    for event in journal {
        let told = arrived.take();
        match *event {
            ReplicaEvent::Applied { id, .. } => drop(effects.insert(id)),
            ReplicaEvent::AckSent { id, .. } if !effects.contains(&id) => {
                return Err(wrong(format!("the ACK of {} is sent before it took effect", name(id))));
            }
            ReplicaEvent::AckSent { id, lost } => {
                under_way.entry(id.client).or_default().extend((!lost).then_some(id));
            }
            ReplicaEvent::AckArrived { id } => {
                let sent = under_way.get_mut(&id.client).and_then(VecDeque::pop_front);
                if sent != Some(id) {
                    let other = sent.map_or("none is on its way".to_owned(), |s| {
                        format!("that of {} is next", name(s))
                    });
                    return Err(wrong(format!("the ACK of {} arrives, and {other}", name(id))));
                }
                arrived = Some(id);
            }
            ReplicaEvent::Believed { id, .. } if told.is_some_and(|t| t != id) => {
                return Err(wrong(format!("the client takes an ACK for that of {}", name(id))));
            }
            ReplicaEvent::Believed { .. } => {}
        }
    }
    Ok(())
}

/// Whether every client was told of at least as many epochs as it counts round trips in the measured part (in the order of clients).
///
/// # Errors
/// A client counts more: it went on without an ACK, or the journal lost one.
pub fn told_as_counted(journal: &[ReplicaEvent], round_trips: &[u64]) -> Result<(), ReplicaViolation> {
    for (client, counted) in round_trips.iter().enumerate() {
        let of_it =
            |e: &&ReplicaEvent| matches!(e, ReplicaEvent::Believed { id, .. } if usize::from(id.client) == client);
        let told = journal.iter().filter(of_it).count() as u64;
        if told < *counted {
            return Err(wrong(format!(
                "client {client} counts {counted} round trips, and was told of {told} epochs"
            )));
        }
    }
    Ok(())
}

/// Whether a network that loses so many ACKs of a thousand (and breaks connections, or not) lost as many as it should have.
///
/// # Errors
/// It lost one and loses none; or none of so many, which chance does not explain.
pub fn lost_as_declared(journal: &[ReplicaEvent], of_thousand: u16, breaks: bool) -> Result<(), ReplicaViolation> {
    let acks = journal.iter().filter_map(|e| match e {
        ReplicaEvent::AckSent { lost, .. } => Some(*lost),
        _ => None,
    });
    let (mut sent, mut lost) = (0i32, 0);
    acks.for_each(|is_lost| (sent, lost) = (sent + 1, lost + i32::from(is_lost)));
    let share = f64::from(of_thousand) / 1000.0;
    match lost {
        0 if (1.0 - share).powi(sent) < CHANCE => Err(wrong(format!(
            "none of {sent} ACKs was lost, and {of_thousand} of a thousand should have been"
        ))),
        n if n > 0 && of_thousand == 0 && !breaks => {
            Err(wrong(format!("{n} ACKs were lost, and none should have been")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::LineAddr;
    use fencepost_kernel::ReplicaEvent::*;

    fn id(epoch: u32) -> EpochId {
        EpochId {
            client: 0,
            tx: 0,
            epoch,
        }
    }
    fn applied(epoch: u32) -> ReplicaEvent {
        Applied {
            id: id(epoch),
            channel: 0,
            line: LineAddr(1),
        }
    }
    fn sent(epoch: u32, lost: bool) -> ReplicaEvent {
        AckSent { id: id(epoch), lost }
    }
    fn arrived(epoch: u32) -> ReplicaEvent {
        AckArrived { id: id(epoch) }
    }

    #[test]
    fn what_was_sent_arrives_once_and_in_order() {
        let two = [applied(0), sent(0, false), applied(1), sent(1, false)];
        let after = |more: &[ReplicaEvent]| judge(&[&two, more].concat());
        assert_eq!(after(&[]), Ok(()), "both are on their way");
        assert_eq!(after(&[arrived(0), arrived(1)]), Ok(()));
        for wrong in [vec![arrived(1)], vec![arrived(0), arrived(0)]] {
            assert!(after(&wrong).is_err(), "{wrong:?}");
        }
        assert!(judge(&[applied(0), sent(0, true), arrived(0)]).is_err(), "it was lost");
        assert!(judge(&[sent(0, false)]).is_err(), "nothing took effect");
        let believed = Believed {
            id: id(1),
            durable_events: 9,
        };
        assert!(after(&[arrived(0), believed]).is_err());
    }

    #[test]
    fn losses_are_those_declared() {
        let acks = |n: usize, lost: usize| Vec::from_iter((0..n).map(|i| sent(0, i < lost)));
        assert_eq!(lost_as_declared(&acks(50, 0), 0, false), Ok(()));
        assert_eq!(lost_as_declared(&acks(50, 3), 0, true), Ok(()));
        assert_eq!(
            lost_as_declared(&acks(50, 0), 300, false),
            Ok(()),
            "chance: 0.7 to the 50th"
        );
        assert!(lost_as_declared(&acks(200, 0), 300, false).is_err());
        assert!(lost_as_declared(&acks(50, 1), 0, false).is_err());
    }
    #[test]
    fn who_counts_round_trips_was_told() {
        let believed = [0, 1].map(|epoch| Believed {
            id: id(epoch),
            durable_events: 3,
        });
        assert_eq!(told_as_counted(&believed, &[2]), Ok(()));
        assert_eq!(told_as_counted(&believed, &[1]), Ok(()), "one before the measured part");
        assert!(told_as_counted(&believed, &[3]).is_err());
        assert!(told_as_counted(&believed, &[2, 1]).is_err(), "the second client");
    }
}
