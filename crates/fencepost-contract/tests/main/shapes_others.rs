//! Crash states of tiny programs under Themis, epoch and strand persistency, `pcommit`, strict persistency and none.

use crate::support::px86_machine::Machine;
use crate::support::states::{all_states, list, union_of_states};
use crate::support::{Shape, relaxed};
use fencepost_contract::{Contract, ContractKind, ContractParams, LineOrder};

const ALL2: &str = "00 01 10 11";

fn contract(kind: ContractKind) -> Contract {
    kind.into()
}

#[test]
fn themis_orders_non_temporal_before_temporal_only() {
    let rows = [
        ("nt x=1; y=1", "00 10 11"),
        ("x=1; nt y=1", ALL2),
        ("nt x=1; nt y=1", ALL2),
        ("x=1; y=1", ALL2),
        ("nt x=1; y=1; z=1", "000 100 101 110 111"),
        ("nt x=1; nt y=1; z=1", "000 010 100 110 111"),
        ("nt x=1; v=1 // r=v; if r y=1", ALL2),
    ];
    for (program, want) in rows {
        let shape = Shape::parse(program);
        let machine = Machine {
            nt_in_order: true,
            ..Machine::new(&shape, LineOrder::Fifo)
        };
        let got = union_of_states(&shape, &machine.traces(), &contract(ContractKind::Themis));
        assert_eq!(got, list(want), "{program}");
    }
}

#[test]
fn epoch_and_strand_shapes() {
    let rows = [
        ("x=1; y=1", ALL2, ALL2),
        ("x=1; PB; y=1", "00 10 11", "00 10 11"),
        (
            "x=1; PB; y=1; NS; z=1",
            "000 100 101 110 111",
            "000 001 100 101 110 111",
        ),
        ("x=1; PB; NS; y=1", "00 10 11", ALL2),
        (
            "x=1; PB; y=1 // r=y; PB; if r z=1",
            "000 100 110 111",
            "000 100 110 111",
        ),
        (
            "x=1; y=1 // r=y; PB; if r z=1",
            "000 010 011 100 110 111",
            "000 010 011 100 110 111",
        ),
        ("x=1; NS; x=2; PB; y=1", "00 10 20 21", "00 10 20 21"),
    ];
    for (program, epoch, strand) in rows {
        let shape = Shape::parse(program);
        let traces = relaxed::traces(&shape, true);
        for buffered in [false, true] {
            let params = ContractParams {
                buffered: Some(buffered),
                ..ContractParams::default()
            };
            let contract = Contract {
                kind: ContractKind::Epoch,
                params,
            };
            assert_eq!(
                union_of_states(&shape, &traces, &contract),
                list(epoch),
                "epoch, buffered {buffered}: {program}"
            );
        }
        assert_eq!(
            union_of_states(&shape, &traces, &contract(ContractKind::Strand)),
            list(strand),
            "strand: {program}"
        );
    }
}

/// A new strand takes nothing from a drain: what its thread stored before, in whatever strand, is durable when the drain completes.
#[test]
fn a_drain_covers_every_strand() {
    let rows = [
        ("x=1; NS; y=1; dsb; z=1", "000 010 100 110 111"),
        ("x=1; PB; y=1; NS; NS; dsb; z=1", "000 100 110 111"),
        ("x=1; NS; dsb; NS; y=1; NS; z=1", "000 100 101 110 111"),
        // What the earlier strand observed was before the drain too.
        ("x=1 // r=x; NS; dsb; if r y=1", "00 10 11"),
        ("x=1; NS; y=1; PB; z=1", "000 010 011 100 110 111"),
    ];
    for (program, want) in rows {
        let shape = Shape::parse(program);
        let got = union_of_states(&shape, &relaxed::traces(&shape, true), &contract(ContractKind::Strand));
        assert_eq!(got, list(want), "{program}");
    }
}

#[test]
fn pcommit_needs_all_four_instructions() {
    let rows = [
        ("x=1; clwb x; sfence; y=1", ALL2),
        ("x=1; clwb x; sfence; pcommit; y=1", ALL2),
        ("x=1; clwb x; pcommit; sfence; y=1", ALL2),
        ("x=1; sfence; pcommit; sfence; y=1", ALL2),
        ("x=1; clwb x; sfence; pcommit; sfence; y=1", "00 10 11"),
        ("nt x=1; sfence; pcommit; sfence; y=1", "00 10 11"),
        // What another thread had accepted counts too, once this thread has seen that it had.
        (
            "x=1; clwb x; sfence; v=1 // r=v; sfence; pcommit; sfence; if r y=1",
            "00 10 11",
        ),
        ("x=1; clwb x; v=1 // r=v; sfence; pcommit; sfence; if r y=1", ALL2),
    ];
    for (program, want) in rows {
        let shape = Shape::parse(program);
        let traces = Machine::new(&shape, LineOrder::Fifo).traces();
        assert_eq!(
            union_of_states(&shape, &traces, &contract(ContractKind::Px86Pcommit)),
            list(want),
            "{program}"
        );
    }
}

#[test]
fn strict_and_eadr_keep_visibility_order() {
    let rows = [
        ("x=1; y=1", "00 10 11"),
        ("x=1; clwb y; y=1; x=2", "00 10 11 21"),
        ("x=1; y=1 // r=y; if r z=1", "000 100 110 111"),
        ("nt x=1; y=1", "00 10 11"),
    ];
    for (program, want) in rows {
        let shape = Shape::parse(program);
        let machine = Machine {
            nt_in_order: true,
            ..Machine::new(&shape, LineOrder::Fifo)
        };
        let traces = machine.traces();
        for kind in [ContractKind::StrictTso, ContractKind::Eadr] {
            assert_eq!(
                union_of_states(&shape, &traces, &contract(kind)),
                list(want),
                "{kind}: {program}"
            );
        }
        let sc = relaxed::traces(&shape, true);
        for kind in [ContractKind::StrictSc, ContractKind::Eadr] {
            assert_eq!(
                union_of_states(&shape, &sc, &contract(kind)),
                list(want),
                "{kind}: {program}"
            );
        }
    }
}

#[test]
fn a_write_read_race_shows_store_buffering_under_tso_only() {
    // a and b record that each thread read 0 of the other's flag: possible under TSO, impossible under SC.
    let shape = Shape::parse("x=1; r=y; if r=0 a=1 // y=1; s=x; if s=0 b=1");
    let both = |states: &std::collections::BTreeSet<String>| states.iter().any(|s| s.starts_with("11"));
    let tso = union_of_states(
        &shape,
        &Machine::new(&shape, LineOrder::Fifo).traces(),
        &contract(ContractKind::StrictTso),
    );
    let sc = union_of_states(
        &shape,
        &relaxed::traces(&shape, true),
        &contract(ContractKind::StrictSc),
    );
    assert!(both(&tso) && !both(&sc));
    assert!(sc.is_subset(&tso));
}

#[test]
fn none_allows_every_subset_of_lines() {
    let shape = Shape::parse("x=1; clwb x; sfence; y=1; mfence; z=1");
    let traces = Machine::new(&shape, LineOrder::Fifo).traces();
    assert_eq!(
        union_of_states(&shape, &traces, &contract(ContractKind::None)),
        all_states(3, 2)
    );
}
