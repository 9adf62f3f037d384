//! The persistency shapes and their crash states: golden tables, checked against reference models and against the
//! contracts. `x`, `y` lie on different lines, `xa`, `xb` on one; all locations start at 0.

use crate::support::arm::{self, Arm};
use crate::support::px86_machine::Machine;
use crate::support::states::{all_states, list, union_of_states};
use crate::support::{Shape, px86_axioms, relaxed};
use fencepost_contract::{Contract, ContractKind, ContractParams, LineOrder};
use fencepost_kernel::{HwThread, Trace, TraceKind};

struct Row {
    name: &'static str,
    program: &'static str,
    px86: &'static str,
    /// RCBSP, non-multi-copy-atomic: the promise.
    rcbsp: &'static str,
}

const fn row(name: &'static str, program: &'static str, px86: &'static str, rcbsp: &'static str) -> Row {
    Row {
        name,
        program,
        px86,
        rcbsp,
    }
}

const ALL2: &str = "00 01 10 11";
const ALL3: &str = "000 001 010 011 100 101 110 111";

const TABLE: [Row; 28] = [
    row("P01", "x=1; y=1", ALL2, ALL2),
    row("P02", "xa=1; xb=1", "00 10 11", ALL2),
    row("P03", "x=1; clflush x; y=1", "00 10 11", ALL2),
    row("P04", "x=1; clwb x; y=1", ALL2, ALL2),
    row("P05", "x=1; clwb x; sfence; y=1", "00 10 11", "00 10 11"),
    row("P06", "x=1; clwb x; mfence; y=1", "00 10 11", "00 10 11"),
    row(
        "P07",
        "x=1; clwb x; lock z=1; y=1",
        "000 100 101 110 111",
        "000 100 101 111",
    ),
    row("P08", "x=1; sfence; y=1", ALL2, "00 10 11"),
    row(
        "P09",
        "x=1; y=1; clwb x; clwb y; sfence; z=1",
        "000 010 100 110 111",
        "000 010 100 110 111",
    ),
    row("P10", "clwb x; x=1; sfence; y=1", ALL2, "00 10 11"),
    row("P11", "x=1; clwb x; x=2; sfence; y=1", "00 10 11 20 21", "00 10 20 21"),
    row(
        "P12",
        "x=1; clwb x; y=1; clflush y; z=1",
        "000 010 011 100 110 111",
        ALL3,
    ),
    row("P13", "nt x=1; y=1", ALL2, ALL2),
    row("P14", "nt x=1; sfence; y=1", "00 10 11", "00 10 11"),
    row("P15", "x=1; nt y=1", ALL2, ALL2),
    row("P16", "nt x=1; nt y=1", ALL2, ALL2),
    row("P17", "x=1; y=1 // r=y; if r z=1", ALL3, ALL3),
    row(
        "P18",
        "x=1 // r=x; if r {clwb x}; fence; if r y=1",
        "00 10 11",
        "00 10 11",
    ),
    row(
        "P19",
        "x=1; clwb x; fence; y=1 // r=y; if r z=1",
        "000 100 101 110 111",
        "000 100 101 110 111",
    ),
    row("P20", "x=1 // r=x; y=r", ALL2, ALL2),
    row(
        "P21",
        "x=1; mf; r=y; if r=0 a=1 // y=1; mf; s=x; if s=0 b=1",
        "0000 0001 0010 0011 0100 0101 0110 0111 1000 1001 1010 1011",
        "0000 0001 0010 0011 0101 0111 1010 1011",
    ),
    row(
        "P22",
        "x=1; y=2 // y=1; x=2",
        "00 01 02 10 11 12 20 21 22",
        "00 01 02 10 11 12 20 21 22",
    ),
    row(
        "P23",
        "x=1; y=1; clwb y; sfence; z=1",
        "000 010 011 100 110 111",
        "000 010 100 110 111",
    ),
    row(
        "P24",
        "x=1; clwb y; sfence; z=1 // y=1",
        ALL3,
        "000 010 100 101 110 111",
    ),
    row("P25", "xa=1; nt xb=1", "00 10 11", ALL2),
    row("P26", "x=1; clflush x; nt y=1", "00 10 11", ALL2),
    row("P27", "x=1; clwb x; nt y=1", ALL2, ALL2),
    row("P28", "nt y=1; x=1; clflush x; z=1", "000 010 100 101 110 111", ALL3),
];

fn contract(kind: ContractKind) -> Contract {
    kind.into()
}

#[test]
fn px86_table_operational_and_contract() {
    for row in &TABLE {
        let shape = Shape::parse(row.program);
        let want = list(row.px86);
        let machine = Machine::new(&shape, LineOrder::Fifo);
        assert_eq!(
            machine.crash_states(),
            want,
            "{} operational: {}",
            row.name,
            row.program
        );
        let got = union_of_states(&shape, &machine.traces(), &contract(ContractKind::Px86));
        assert_eq!(got, want, "{} contract: {}", row.name, row.program);
    }
}

#[test]
fn px86_flushes_cover_what_the_thread_has_seen() {
    let rows = [
        ("x=1; y=1 // r=y; clwb x; sfence; if r z=1", "000 010 100 101 110 111"),
        ("x=1; y=1 // r=y; clflush x; if r z=1", "000 010 100 101 110 111"),
        ("x=1; y=1 // clwb x; r=y; sfence; if r z=1", ALL3),
        // A fence before the flush counts what was stored before it: a (v read as 0) and z together need x.
        (
            "x=1; mfence; r=v; if r=0 a=1 // v=1; sfence; clwb x; sfence; z=1",
            "000 001 010 011 100 110 111",
        ),
    ];
    for (program, want) in rows {
        let shape = Shape::parse(program);
        let machine = Machine::new(&shape, LineOrder::Fifo);
        assert_eq!(machine.crash_states(), list(want), "operational: {program}");
        assert_eq!(px86_axioms::crash_states(&shape, 2), list(want), "axioms: {program}");
        let got = union_of_states(&shape, &machine.traces(), &contract(ContractKind::Px86));
        assert_eq!(got, list(want), "contract: {program}");
    }
}

#[test]
fn px86_without_line_order_adds_the_younger_store_alone() {
    let shape = Shape::parse("xa=1; xb=1");
    let machine = Machine::new(&shape, LineOrder::Unordered);
    let params = ContractParams {
        line_order: Some(LineOrder::Unordered),
        ..ContractParams::default()
    };
    let contract = Contract {
        kind: ContractKind::Px86,
        params,
    };
    assert_eq!(machine.crash_states(), all_states(2, 2));
    assert_eq!(union_of_states(&shape, &machine.traces(), &contract), all_states(2, 2));
}

#[test]
fn px86_axioms_agree_with_the_table_where_lines_hold_one_word() {
    for row in TABLE
        .iter()
        .filter(|r| !r.program.contains("nt ") && !r.program.contains("xa"))
    {
        let shape = Shape::parse(row.program);
        assert_eq!(
            px86_axioms::crash_states(&shape, 3),
            list(row.px86),
            "{}: {}",
            row.name,
            row.program
        );
    }
}

#[test]
fn rcbsp_table_in_relations() {
    for row in &TABLE {
        let shape = Shape::parse(row.program);
        assert_eq!(
            arm::crash_states(&shape, Arm::NonMca, 3),
            list(row.rcbsp),
            "{}: {}",
            row.name,
            row.program
        );
    }
}

#[test]
fn rcbsp_multi_copy_atomic_variant_differs_exactly_where_dependencies_pass_on_others_writes() {
    let stronger = [
        ("P17", "000 010 011 100 110 111"),
        ("P19", "000 100 110 111"),
        ("P20", "00 10 11"),
    ];
    for row in &TABLE {
        let shape = Shape::parse(row.program);
        let want = stronger.iter().find(|s| s.0 == row.name).map_or(row.rcbsp, |s| s.1);
        assert_eq!(
            arm::crash_states(&shape, Arm::Mca, 3),
            list(want),
            "{}: {}",
            row.name,
            row.program
        );
    }
}

#[test]
fn rcbsp_contract_is_the_table() {
    for row in &TABLE {
        let shape = Shape::parse(row.program);
        let got = union_of_states(&shape, &relaxed::traces(&shape, false), &contract(ContractKind::Rcbsp));
        assert_eq!(got, list(row.rcbsp), "{}: {}", row.name, row.program);
    }
}

/// Without its dependences a trace promises less, never more: P19 lets z overtake x by way of y.
#[test]
fn rcbsp_contract_of_a_trace_without_dependences_is_weaker() {
    let shape = Shape::parse("x=1; dmb; y=1 // r=y; if r z=1");
    let mut traces = relaxed::traces(&shape, false);
    let rcbsp = contract(ContractKind::Rcbsp);
    assert_eq!(union_of_states(&shape, &traces, &rcbsp), list("000 100 101 110 111"));
    traces.iter_mut().for_each(|t| t.dependences.clear());
    assert_eq!(
        union_of_states(&shape, &traces, &rcbsp),
        list("000 001 100 101 110 111")
    );
}

/// What does not depend on the read that saw another thread's store is not ordered by it, beside a store that does.
#[test]
fn rcbsp_orders_what_depends_on_a_read_and_nothing_else() {
    let shape = Shape::parse("x=1; dmb; v=1 // r=v; va=r; y=1");
    // Executions in which the reader saw the store before it stored anything.
    let saw_first = |t: &Trace| {
        let first = t.events.iter().find(|e| e.thread == Some(HwThread(1)));
        first.is_some_and(|e| matches!(e.kind, TraceKind::Load { from: Some(_), .. }))
    };
    let traces: Vec<Trace> = relaxed::traces(&shape, false).into_iter().filter(saw_first).collect();
    assert!(traces.iter().all(|t| !t.dependences.is_empty()) && !traces.is_empty());
    assert_eq!(
        union_of_states(&shape, &traces, &contract(ContractKind::Rcbsp)),
        list(ALL2)
    );
}

#[test]
fn rcbsp_only_shapes() {
    let shapes = [
        ("l=1; dmb; d=1; dmb; m=1", "000 010 110 111"), // (d, l, m): the undo log
        ("x=1; dmb; y=1; dmb; x=2", "00 10 11 21"),
        ("r=x; dmb; y=r // s=y; dmb; x=s", "00"),
        ("r=x; dmb; y=1 // x=1", ALL2),
        ("y=1; dmb; r=x; a=r // x=1", "000 001 010 011 101 111"),
        ("a=1 // r=a; dmb; if r c=1", "00 10 11"),
        ("x=1; y=2 // y=1; x=2", "00 01 02 10 11 12 20 21 22"),
        ("x=1; dmb; y=2 // y=1; dmb; x=2", "00 01 10 11 12 21 22"),
        ("x=1; dmb; y=1 // r=y; dmb; if r z=1", "000 100 110 111"),
        ("x=1; y=1 // r=y; dmb; if r z=1", "000 010 011 100 110 111"),
        ("x=1; dmb; r=y; dmb; z=1 // y=1", "000 010 100 101 110 111"),
        // Chains of dependences behind a fence: through another thread, through a thread's own store, through memory
        // that another thread overwrote meanwhile. Volatile locations start with v.
        ("x=1; dmb; v=1 // r=v; va=r // s=va; y=s", "00 10 11"),
        ("x=1; dmb; v=1 // r=v; va=r; s=va; y=s", "00 10 11"),
        ("x=1; dmb; v=1 // r=v; s=va; y=s", "00 10"),
        ("x=1; v=1 // r=v; y=r", ALL2),
    ];
    for (program, want) in shapes {
        let shape = Shape::parse(program);
        let relations = arm::crash_states(&shape, Arm::NonMca, 3);
        assert_eq!(relations, list(want), "relations: {program}");
        let got = union_of_states(&shape, &relaxed::traces(&shape, false), &contract(ContractKind::Rcbsp));
        assert_eq!(got, list(want), "contract: {program}");
    }
}

#[test]
fn prose_and_relations_of_fence_cumulativity_differ_here() {
    // Kolli et al., MICRO'16, section III-C closes group GA backwards through v; the relations do not, and their hardware
    // does not either. The promise is the relational form: y without x is allowed.
    let shape = Shape::parse("x=1 // r=x; v=r // s=v; dmb; if s y=1");
    assert!(arm::crash_states(&shape, Arm::NonMca, 2).contains("01"));
    let got = union_of_states(&shape, &relaxed::traces(&shape, false), &contract(ContractKind::Rcbsp));
    assert!(got.contains("01"));
    assert!(!arm::crash_states(&shape, Arm::Mca, 2).contains("01"));
}
