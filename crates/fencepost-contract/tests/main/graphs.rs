//! Order that no union of crash states shows, because another execution allows the state: checked on the graph of one
//! execution. And cuts, failure points, grains, transactions and range commits.

use crate::support::script::{Script, V, X, Y, Z};
use fencepost_contract::graph::{Axiom, Version, Write};
use fencepost_contract::{Contract, ContractKind, ContractParams, Grain, NodeId};
use fencepost_kernel::{Addr, Fence, Flush, Image, QueueId, StoreId, Trace, TraceKind, TxId};

#[test]
fn a_read_of_the_old_value_orders_what_precedes_it_before_the_new_one() {
    let mut s = Script::of(2);
    let x = s.store(0, X, 1);
    s.fence(0, Fence::Mfence);
    s.load(0, Y, None);
    let y = s.store(1, Y, 1);
    for kind in [ContractKind::StrictSc, ContractKind::StrictTso, ContractKind::Epoch] {
        assert!(s.ordered(kind, x, y), "{kind}");
    }
    assert!(!s.ordered(ContractKind::Rcbsp, x, y), "not part of the relational form");
}

#[test]
fn every_reader_of_the_old_value_comes_before_the_new_one() {
    let mut s = Script::of(3);
    let before = [(0, X), (1, Z)].map(|(reader, at)| {
        let store = s.store(reader, at, 1);
        s.fence(reader, Fence::Mfence);
        s.load(reader, Y, None);
        store
    });
    let y = s.store(2, Y, 1);
    for kind in [ContractKind::StrictSc, ContractKind::StrictTso, ContractKind::Epoch] {
        for first in before {
            assert!(s.ordered(kind, first, y), "{kind}");
        }
    }
}

#[test]
fn a_load_overtakes_its_threads_stores_under_tso_but_not_under_sc() {
    let mut s = Script::of(2);
    let x = s.store(0, X, 1);
    s.load(0, Y, None);
    let y = s.store(1, Y, 1);
    assert!(s.ordered(ContractKind::StrictSc, x, y));
    assert!(!s.ordered(ContractKind::StrictTso, x, y));
    assert!(!s.ordered(ContractKind::Epoch, x, y));
}

#[test]
fn coherence_of_a_volatile_word_carries_order() {
    let mut s = Script::of(2);
    let x = s.store(0, X, 1);
    s.fence(0, Fence::Dmb);
    s.store(0, V, 1);
    s.store(1, V, 2);
    s.fence(1, Fence::Dmb);
    let y = s.store(1, Y, 1);
    for kind in [
        ContractKind::Rcbsp,
        ContractKind::Epoch,
        ContractKind::StrictTso,
        ContractKind::StrictSc,
    ] {
        assert!(s.ordered(kind, x, y), "{kind}");
    }
    assert!(!s.ordered(ContractKind::Px86, x, y));
}

#[test]
fn what_was_seen_of_an_open_epoch_does_not_bring_the_rest_of_it() {
    let mut s = Script::of(2);
    let w = s.store(0, Z, 1);
    let x = s.store(0, X, 1);
    s.load(1, X, Some(x));
    s.fence(1, Fence::Dmb);
    let y = s.store(1, Y, 1);
    assert!(s.ordered(ContractKind::Rcbsp, x, y));
    assert!(!s.ordered(ContractKind::Rcbsp, w, y));
}

#[test]
fn a_store_barrier_does_not_pass_on_what_was_read() {
    for (fence, passes) in [(Fence::DmbSt, false), (Fence::Dmb, true)] {
        let mut s = Script::of(2);
        let x = s.store(0, X, 1);
        s.load(1, X, Some(x));
        let z = s.store(1, Z, 1);
        s.fence(1, fence);
        let y = s.store(1, Y, 1);
        assert_eq!(s.ordered(ContractKind::Rcbsp, x, y), passes);
        assert!(s.ordered(ContractKind::Rcbsp, z, y));
    }
}

#[test]
fn failure_points_stand_just_before_the_must_set_grows() {
    let mut s = Script::of(1);
    for (k, at) in [X, Y].into_iter().enumerate() {
        s.event(0, TraceKind::OpBegin(k as u32));
        s.store(0, at, 1);
        s.event(
            0,
            TraceKind::Flush {
                line: at.line(),
                kind: Flush::Clwb,
            },
        );
        s.fence(0, Fence::Sfence);
        s.event(0, TraceKind::OpEnd(k as u32));
        s.event(0, TraceKind::Ack(k as u32));
    }
    let space = s.space(ContractKind::Px86);
    let points: Vec<_> = space
        .points
        .iter()
        .map(|p| (p.event, p.executed, p.crash.begun[0], p.crash.acked[0]))
        .collect();
    assert_eq!(points, [(3, 1, 1, 0), (9, 2, 2, 1), (12, 2, 2, 2)]);
    let sure: Vec<_> = space
        .cuts()
        .map(|(_, c)| [0, 1].map(|n| (c.is_in(NodeId(n)), c.is_out(NodeId(n)))))
        .collect();
    assert_eq!(sure[0], [(false, false), (false, true)]);
    assert_eq!(sure[1], [(true, false), (false, false)]);
    assert_eq!(sure[2], [(true, false), (true, false)]);
}

#[test]
fn a_torn_word_may_mix_bytes_of_old_and_new() {
    let mut s = Script::of(1);
    s.store(0, X, 0x0102);
    let params = ContractParams {
        grain: Grain::Byte,
        ..ContractParams::default()
    };
    let space = Contract {
        kind: ContractKind::Px86,
        params,
    }
    .space(&s.trace, &Image::default());
    let (_, cut) = space.cuts().last().unwrap();
    let high = space.graph.location(Addr(X.0 + 1)).unwrap();
    let mut torn = cut.clone();
    space.graph.include(&mut torn, space.graph.versions(high)[0].node);
    assert_eq!(space.graph.smallest_image(&torn).word(X), 0x0100);
    assert_eq!(space.graph.smallest_word(&torn, X), 0x0100);
    assert_eq!(space.graph.largest_image(&torn).word(X), 0x0102);
}

#[test]
fn transactions_are_whole_and_in_commit_order() {
    let mut s = Script::of(2);
    s.event(0, TraceKind::TxBegin(TxId(1)));
    let a = s.store(0, X, 1);
    s.event(1, TraceKind::TxBegin(TxId(2)));
    let b = s.store(1, Z, 1);
    let c = s.store(0, Y, 1);
    s.event(1, TraceKind::TxCommit(TxId(2)));
    s.event(0, TraceKind::TxCommit(TxId(1)));
    s.event(0, TraceKind::TxBegin(TxId(3)));
    let lost = s.store(0, X, 9);
    s.event(0, TraceKind::TxAbort(TxId(3)));
    s.event(1, TraceKind::TxFlush);
    for (kind, must) in [(ContractKind::Loc, 1), (ContractKind::Kiln, 2)] {
        let space = s.space(kind);
        let node = |s: StoreId| space.node_of[s.index()];
        assert_eq!(node(a), node(c));
        assert_eq!(node(lost), None);
        assert!(space.graph.is_before(node(b).unwrap(), node(a).unwrap()));
        assert_eq!(space.must.len(), must, "{kind}");
        let (_, end) = space.cuts().last().unwrap();
        assert!(end.is_in(node(b).unwrap()));
        assert_eq!(end.is_in(node(a).unwrap()), kind == ContractKind::Kiln);
    }
}

#[test]
fn a_range_commit_covers_its_queue_only() {
    let mut s = Script::of(1);
    s.event(
        0,
        TraceKind::Bind {
            base: X,
            len: 64,
            queue: QueueId(1),
        },
    );
    s.event(
        0,
        TraceKind::Bind {
            base: Y,
            len: 64,
            queue: QueueId(2),
        },
    );
    s.store(0, X, 1);
    s.store(0, Y, 1);
    s.store(0, Z, 1);
    s.event(0, TraceKind::CommitQueue(QueueId(1)));
    assert!(s.space(ContractKind::Commit).must.is_empty(), "nothing was flushed");
    for at in [X, Y, Z] {
        flush(&mut s, 0, at);
    }
    s.event(0, TraceKind::CommitQueue(QueueId(1)));
    assert!(
        s.space(ContractKind::Commit).must.is_empty(),
        "no fence has waited for the flushes"
    );
    s.event(0, TraceKind::Fence(Fence::Mfence));
    s.event(0, TraceKind::CommitQueue(QueueId(1)));
    assert_eq!(musts(&s), [(NodeId(0), Axiom::RangeCommit)]);
    s.event(0, TraceKind::CommitQueue(QueueId::DEFAULT));
    assert_eq!(musts(&s).len(), 2, "the line in no range is in the default queue");
}

fn flush(s: &mut Script, thread: u8, at: Addr) {
    let (line, kind) = (at.line(), Flush::Clflush);
    s.event(thread, TraceKind::Flush { line, kind });
}
fn musts(s: &Script) -> Vec<(NodeId, Axiom)> {
    let space = s.space(ContractKind::Commit);
    space.must.iter().map(|m| (m.node, m.axiom)).collect()
}

#[test]
fn a_range_commit_covers_what_any_thread_had_sent_before_its_fence() {
    let mut s = Script::of(2);
    s.event(
        0,
        TraceKind::Bind {
            base: X,
            len: 256,
            queue: QueueId(1),
        },
    );
    s.store(1, X, 1);
    flush(&mut s, 1, X);
    s.event(1, TraceKind::Fence(Fence::Mfence));
    s.event(0, TraceKind::Fence(Fence::Mfence));
    s.store(1, Y, 1);
    flush(&mut s, 1, Y);
    s.event(1, TraceKind::Fence(Fence::Mfence));
    s.event(0, TraceKind::CommitQueue(QueueId(1)));
    assert_eq!(
        musts(&s),
        [(NodeId(0), Axiom::RangeCommit)],
        "thread 1's later store may have come while the commit ran"
    );
    s.event(1, TraceKind::CommitQueue(QueueId(1)));
    assert_eq!(musts(&s).len(), 2);
}

#[test]
fn a_range_commit_does_not_cover_what_was_stored_under_another_binding() {
    let mut s = Script::of(1);
    let bind = |queue| TraceKind::Bind {
        base: X,
        len: 64,
        queue: QueueId(queue),
    };
    s.event(0, bind(1));
    s.store(0, X, 1);
    s.event(0, TraceKind::Release { base: X, len: 64 });
    s.event(0, bind(2));
    flush(&mut s, 0, X);
    s.event(0, TraceKind::Fence(Fence::Mfence));
    for queue in 0..3 {
        s.event(0, TraceKind::CommitQueue(QueueId(queue)));
    }
    assert!(musts(&s).is_empty());
}

#[test]
fn each_newer_store_read_of_a_thread_adds_its_order_under_tso() {
    let mut s = Script::of(2);
    let x = s.store(0, X, 1);
    s.load(1, X, Some(x));
    let y = s.store(0, Y, 1);
    s.load(1, Y, Some(y));
    s.load(1, X, Some(x));
    let z = s.store(1, Z, 1);
    assert!(s.ordered(ContractKind::StrictTso, x, z) && s.ordered(ContractKind::StrictTso, y, z));
}

#[test]
fn one_fence_makes_one_failure_point() {
    let mut s = Script::of(1);
    for at in [X, Y, Z] {
        s.store(0, at, 1);
        s.event(
            0,
            TraceKind::Flush {
                line: at.line(),
                kind: Flush::Clwb,
            },
        );
    }
    s.fence(0, Fence::Sfence);
    let space = s.space(ContractKind::Px86);
    assert_eq!(
        space.points.iter().map(|p| p.newly_must.clone()).collect::<Vec<_>>(),
        [0..0, 0..3]
    );
}

#[test]
fn names_are_unique_and_an_unknown_one_lists_them() {
    for kind in ContractKind::ALL {
        assert_eq!(kind.name().parse(), Ok(kind));
    }
    let error = "px68".parse::<ContractKind>().unwrap_err().to_string();
    assert!(error.contains("px68") && error.contains("px86-pcommit"), "{error}");
}

/// A store-and-flush loop over many lines with a fence per operation, on four threads.
fn long_trace(stores: u32) -> Trace {
    let mut s = Script::of(4);
    for i in 0..stores {
        let thread = (i % 4) as u8;
        let at = Addr::pm(u64::from(i * 7919 % 20_000) * 64 + u64::from(i % 8) * 8);
        s.store(thread, at, u64::from(i) + 1);
        s.event(
            thread,
            TraceKind::Flush {
                line: at.line(),
                kind: Flush::Clwb,
            },
        );
        if i % 8 >= 4 {
            s.fence(thread, Fence::Mfence);
        }
    }
    s.trace
}

#[test]
fn a_hundred_thousand_stores_fit_in_a_fraction_of_200_megabytes() {
    let trace = long_trace(100_000);
    for kind in ContractKind::ALL {
        let space = Contract::from(kind).space(&trace, &Image::default());
        let written: usize = space.graph.nodes().map(|n| space.graph.writes(n).len()).sum();
        assert_eq!(written, 100_000, "{kind}");
        assert!(
            space.graph.bytes() < 50_000_000,
            "{kind}: {} bytes",
            space.graph.bytes()
        );
        // Nothing that it holds is left out: what it is asked for has that size, and four lists know where each of theirs begins.
        let g = &space.graph;
        let edges: usize = g.nodes().map(|n| g.predecessors(n).len()).sum();
        let (nodes, locations) = (g.node_count(), g.location_count());
        let items = written * (size_of::<Write>() + size_of::<Version>())
            + edges * (size_of::<(NodeId, Axiom)>() + size_of::<NodeId>())
            + locations * (size_of::<Addr>() + 16);
        let held = items + (3 * nodes + locations) * 4;
        assert!(
            (held..2 * held).contains(&g.bytes()),
            "{kind}: {} bytes, {held} held",
            g.bytes()
        );
    }
}
