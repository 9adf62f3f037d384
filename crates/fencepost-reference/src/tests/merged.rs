//! Writes that were merged where they must not be.

use super::*;

/// Two writes of a line of which the second is merged into the first, while a third is on its way.
fn run(turns: [(u8, Option<u64>); 3]) -> Small {
    let mut r = Small::new();
    (r.hardware.epochs_in_turn, r.counts) = (true, None);
    r.store(0, 0, 1);
    r.accepted(1, 0, turns[0]);
    r.store(0, 8, 2);
    let other = r.accepted(2, 8, turns[1]);
    r.store(0, 0, 3);
    let merged = r.accepted(3, 0, turns[2]);
    r.issue(1);
    r.become_durable(1, 0, merged);
    r.note(LedgerKind::Durable { id: 3, record: false });
    r.issue(2);
    r.become_durable(2, 8, other);
    r
}

#[test]
fn a_write_is_merged_into_one_of_its_queue() {
    assert_eq!(run([(1, None), (0, None), (1, None)]).judge(), Ok(()));
    assert_eq!(
        run([(0, None), (0, None), (1, None)]).breaks(),
        "merged writes are of one queue"
    );
}

#[test]
fn a_merged_write_does_not_pass_an_earlier_epoch() {
    let epochs = |first, other, merged| run([(0, Some(first)), (0, Some(other)), (0, Some(merged))]);
    assert_eq!(epochs(1, 1, 1).judge(), Ok(()));
    assert_eq!(
        epochs(1, 2, 2).judge(),
        Ok(()),
        "nothing else of the earlier one is left"
    );
    assert_eq!(
        epochs(1, 1, 2).breaks(),
        "a merged write is durable after all of earlier epochs"
    );
}

/// Two writes of a line, durable when accepted, of which the first alone is sent.
fn sent_once(queues: [u8; 2], empty: bool) -> Result<(), &'static str> {
    let mut r = Small::new();
    (r.hardware.durable_on_accept, r.counts) = (true, None);
    for (i, queue) in (1..).zip(queues) {
        r.store(0, 0, i);
        let data = r.accept_by(queue, i, 0);
        r.become_durable(i, 0, data);
    }
    r.issue(1);
    r.reported = Some(Report {
        time: Ps(0),
        threads: &[],
        in_order: false,
        controllers: [
            Controller {
                empty,
                ..Controller::default()
            },
            Controller::default(),
        ],
        durable_before: 0,
        design: crate::Counted {
            counters: &[],
            samples: &[],
            sums: &[],
        },
    });
    r.judge().map_err(|b| b.rule)
}

#[test]
fn what_was_not_merged_leaves_for_the_medium() {
    let rule = "every accepted write leaves for the medium";
    assert_ne!(sent_once([0, 0], true), Err(rule));
    assert_eq!(sent_once([0, 1], true), Err(rule));
    assert_ne!(sent_once([0, 1], false), Err(rule), "it may still be there");
}
