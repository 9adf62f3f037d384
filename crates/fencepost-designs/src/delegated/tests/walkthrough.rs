//! The paper's Figures 5 and 6, step by step, and its Figure 3 and Figure 1 programs.

use super::*;
use crate::testkit::Call;
use crate::testkit::{dram_line, pm_line};
use fencepost_machine::seam::{Epoch, Snoop, SnoopAnswer};

/// Figure 5: a persist-persist dependence.
#[test]
fn figure_5_persist_persist() {
    let x = pm_line(0);
    let mut b = bench(2);
    // (1, 2) Core 0 stores x: an entry with id 0:0, its Youngest bit set, no dependence.
    b.store(0, x, 0, 1);
    assert_eq!(b.entries(0).len(), 1);
    assert!(b.youngest(0, 0) && b.dp(0, 0).is_empty());
    // (3, 4, 5) Core 1's read-exclusive: the buffer supplies the data, clears Youngest and answers 0:0.
    assert_eq!(b.snoop(1, x, Snoop::ReadExclusive), SnoopAnswer::Supply);
    assert!(!b.youngest(0, 0));
    // (6) The answer's annotation.
    assert_eq!(b.accum(1), [(0, 0)]);
    // (7) Core 1 stores: persist 1:0 depends on 0:0.
    b.store(1, x, 0, 2);
    assert_eq!(b.dp(1, 0), [(0, 0)]);
    assert!(b.accum(1).is_empty() && b.youngest(1, 0));
    // (8) 0:0 drains, (9) which resolves 1:0.
    b.one_slot();
    assert!(b.entries(0).is_empty() && b.dp(1, 0).is_empty());
    assert_eq!(b.entries(1).len(), 1);
    b.one_slot();
    assert!(b.entries(1).is_empty());
    let values: Vec<_> = b.cx.writes.iter().map(|w| w.write.data.words[0]).collect();
    assert_eq!(values, [1, 2]);
}

/// Figure 6: an epoch-persist dependence through a volatile address.
#[test]
fn figure_6_epoch_persist() {
    let (x, y, a) = (pm_line(0), pm_line(1), dram_line(0));
    let mut b = bench(2);
    // (1, 2) persist 0:0; (3, 4) FENCE 0:1; (5, 6) the volatile store is recorded in the FENCE's write set.
    b.store(0, x, 0, 1);
    b.fence(0);
    b.store(0, a, 0, 7);
    assert_eq!(b.entries(0).len(), 2);
    assert!(matches!(b.entries(0)[1].kind, Kind::Fence { .. }));
    // (7..11) Core 1 reads it: the answer carries 0:1 into AccumDP.
    assert_eq!(b.snoop(1, a, Snoop::Read), SnoopAnswer::Pass);
    b.load(1, a);
    assert_eq!(b.accum(1), [(0, 1)]);
    // (12, 13) Core 1's next persist depends on the FENCE.
    b.store(1, y, 0, 7);
    assert_eq!(b.dp(1, 0), [(0, 1)]);
    // It may not drain before the FENCE: x, FENCE, y, and two epochs.
    b.one_slot();
    assert_eq!(b.dp(1, 0), [(0, 1)]);
    b.one_slot();
    assert!(b.dp(1, 0).is_empty());
    b.one_slot();
    let epochs: Vec<_> = b.cx.writes.iter().map(|w| (w.write.line, w.write.epoch)).collect();
    assert_eq!(epochs, [(x, Some(Epoch(0))), (y, Some(Epoch(1)))]);
    assert_eq!(b.cx.calls.iter().filter(|c| matches!(c, Call::EndEpoch(..))).count(), 1);
}

/// DPO-SEM3, Figure 1: X before Z; Y and Z in one epoch, so the controller may write them in either order.
#[test]
fn figure_1_cumulativity_orders_x_before_z_and_leaves_y_and_z_free() {
    let (x, y, z) = (pm_line(0), pm_line(1), pm_line(2));
    for z_first in [false, true] {
        let mut b = bench(2);
        b.store(0, x, 0, 1);
        b.fence(0);
        b.store(0, y, 0, 1);
        b.snoop(1, y, Snoop::Read);
        b.load(1, y);
        b.store(1, z, 0, 1);
        b.run_for(Ps::from_ns(1000));
        // Only x may be written now.
        let first = b.candidates();
        assert_eq!(
            first
                .iter()
                .map(|id| b.cx.writes[id.0 as usize].write.line)
                .collect::<Vec<_>>(),
            [x]
        );
        b.write_to_device(first[0]);
        let mut rest = b.candidates();
        assert_eq!(rest.len(), 2);
        if z_first {
            rest.reverse();
        }
        for id in rest {
            b.write_to_device(id);
        }
        let order: Vec<_> =
            b.cx.durable_order
                .iter()
                .map(|id| b.cx.writes[id.0 as usize].write.line)
                .collect();
        assert_eq!(order, if z_first { [x, z, y] } else { [x, y, z] });
    }
}

/// The persist that answers may be newer than the FENCE whose write set it is in; the newer id wins.
#[test]
fn of_a_persist_and_a_fence_the_newer_id_is_returned() {
    let (x, y) = (pm_line(0), pm_line(1));
    let mut b = bench(2);
    b.store(0, x, 0, 1);
    b.fence(0);
    b.store(0, y, 0, 1);
    b.snoop(1, y, Snoop::Read);
    assert_eq!(b.accum(1), [(0, 2)], "the persist, not the FENCE 0:1 before it");
    // And the other way round: x was persisted before the FENCE and read after it.
    b.load(0, x);
    b.snoop(1, x, Snoop::ReadExclusive);
    assert_eq!(b.accum(1), [(0, 2)], "0:1 is older than what core 1 already has");
    let mut c = bench(3);
    c.store(0, x, 0, 1);
    c.fence(0);
    c.load(0, x);
    c.snoop(1, x, Snoop::Read);
    assert_eq!(c.accum(1), [(0, 0)], "a read does not conflict with the read set");
    c.snoop(2, x, Snoop::ReadExclusive);
    assert_eq!(c.accum(2), [(0, 1)], "a write does");
}
