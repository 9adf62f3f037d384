//! What a sync of a range, and a flush, cover; and logs that have them.

use crate::support::script::{Script, X, Z};
use fencepost_contract::recorded::parse;
use fencepost_contract::{Contract, ContractKind, ContractParams, Demands, Grain};
use fencepost_kernel::{Addr, Fence, Flush, Image, StoreId, TraceKind};

/// A sync of a range covers the stores of every thread to it and to nothing else, under every contract.
#[test]
fn a_sync_covers_its_range_whoever_stored_there() {
    for kind in ContractKind::ALL.into_iter().filter(|k| !k.is_transactional()) {
        let mut s = Script::of(2);
        let own = s.store(0, X, 1);
        let other = s.store(1, Addr(X.0 + 8), 2);
        let outside = s.store(1, Z, 3);
        s.event(0, TraceKind::Sync { base: X, len: 128 });
        let later = s.store(0, Addr(X.0 + 16), 4);
        let space = s.space(kind);
        let must: Vec<_> = space.must.iter().map(|m| m.node).collect();
        let node = |s: StoreId| space.node_of[s.index()].unwrap();
        let sure = |s| must.iter().any(|m| *m == node(s) || space.graph.is_before(node(s), *m));
        assert!(sure(own) && sure(other), "{kind:?}");
        assert!(kind == ContractKind::Eadr || !sure(outside), "{kind:?}");
        assert!(kind == ContractKind::Eadr || !sure(later), "{kind:?}");
    }
}
/// At byte grain each byte of the range is covered, though the newest store to its word changed other bytes; and so it is with a
/// flush and a fence.
#[test]
fn a_sync_and_a_flush_cover_every_byte() {
    let (line, kind) = (X.line(), Flush::Clwb);
    let sync = [TraceKind::Sync { base: X, len: 1 }];
    let flush = [TraceKind::Flush { line, kind }, TraceKind::Fence(Fence::Sfence)];
    for events in [&sync[..], &flush[..]] {
        let mut s = Script::of(1);
        s.store(0, X, 0x0001);
        s.store(0, X, 0x0101);
        events.iter().for_each(|e| s.event(0, *e));
        let space = bytes_in_no_order().space(&s.trace, &Image::default());
        let sure = |s: usize| {
            let node = space.node_of[s].unwrap();
            space
                .must
                .iter()
                .any(|m| m.node == node || space.graph.is_before(node, m.node))
        };
        assert!(sure(0) && sure(1), "{events:?}");
    }
}
fn bytes_in_no_order() -> Contract {
    let mut contract = Contract::from(ContractKind::Px86);
    contract.params = ContractParams {
        grain: Grain::Byte,
        line_order: Some(fencepost_contract::LineOrder::Unordered),
        ..contract.params
    };
    contract
}
/// The length of a file is a word in a line of its own, and is named by what it is.
#[test]
fn the_length_of_a_file_is_a_word() {
    let text = "fencepost-log 1
file 0 100 pool length 0x1000
file 0x1040 64 side length 0x1080
initial pm+0x1000 60
0 store pm+0x1000 100 @ a.c:3
";
    let log = parse(text).unwrap();
    assert_eq!((log.files[0].length_at, log.persistent_bytes), (Some(0x1000), 0x10c0));
    assert_eq!(parse(&log.to_text()).unwrap().to_text(), log.to_text());
    let name = log.name(fencepost_kernel::StoreId::from_index(0).unwrap());
    assert_eq!(name, "store 1 of thread 0 (length of pool = 100, log line 5, a.c:3)");
    for bad in [
        "length",
        "length 0x1001",
        "length 0x40",
        "length 0x1000",
        "length 0x1040",
        "varies",
    ] {
        let text = text.replace("length 0x1080", bad);
        assert!(parse(&text).is_err(), "{bad}");
    }
    assert!(parse(&text.replace("file 0x1040 64", "file 0xfc0 128")).is_err());
}
#[test]
fn a_sync_is_a_promise_of_durability() {
    let text = "fencepost-log 1
file 0 100 pool
0 store pm+0 7 @ a.c:3
0 sync pm+0 64
";
    let log = parse(text).unwrap();
    assert_eq!((log.files[0].name.as_str(), log.persistent_bytes), ("pool", 128));
    assert_eq!(parse(&log.to_text()).unwrap().to_text(), log.to_text());
    let refusal = log.conform(&ContractKind::Px86.into(), Demands::default()).unwrap_err();
    assert!(log.explain(&refusal).contains("a.c:3"), "{}", log.explain(&refusal));
    let durable = text.replace("0 sync", "durable pm+0 : 0=7\n0 sync");
    let log = parse(&durable).unwrap();
    assert!(log.conform(&ContractKind::Px86.into(), Demands::default()).is_ok());
}
