//! Models against each other on random programs: the x86 family in axioms, operationally and as contracts; RCBSP in
//! relations and as a contract; stronger contracts against weaker ones.

use crate::support::arm::{self, Arm};
use crate::support::px86_machine::Machine;
use crate::support::random::{self, Menu};
use crate::support::states::union_of_states;
use crate::support::{Op, Shape, px86_axioms, relaxed};
use fencepost_contract::{Contract, ContractKind, ContractParams, Grain, LineOrder};
use fencepost_kernel::{Fence, Flush, Stream};

const X86: Menu = Menu {
    threads: 2,
    ops: 4,
    locations: &["xa", "xb", "y"],
    fences: &[Fence::Sfence, Fence::Sfence, Fence::Mfence],
    flushes: &[Flush::Clwb, Flush::Clwb, Flush::Clflush],
    nt: false,
    rmw: true,
    guards: true,
    copies: true,
};

fn ordered(kind: ContractKind, line_order: LineOrder) -> Contract {
    Contract {
        kind,
        params: ContractParams {
            line_order: Some(line_order),
            ..ContractParams::default()
        },
    }
}

#[test]
fn px86_axioms_machine_and_contract_agree_without_line_order() {
    let mut rng = Stream::new(1, "px86 axioms");
    for i in 0..300 {
        let shape = random::shape(&X86, &mut rng);
        let machine = Machine::new(&shape, LineOrder::Unordered);
        let operational = machine.crash_states();
        assert_eq!(
            px86_axioms::crash_states(&shape, 9),
            operational,
            "axioms, program {i}: {shape:?}"
        );
        let contract = ordered(ContractKind::Px86, LineOrder::Unordered);
        assert_eq!(
            union_of_states(&shape, &machine.traces(), &contract),
            operational,
            "contract, program {i}: {shape:?}"
        );
    }
}

#[test]
fn px86_machine_and_contract_agree_with_line_order_and_non_temporal_stores() {
    let mut rng = Stream::new(2, "px86 machine");
    let menu = Menu { nt: true, ..X86 };
    for i in 0..400 {
        let shape = random::shape(&menu, &mut rng);
        let machine = Machine::new(&shape, LineOrder::Fifo);
        let got = union_of_states(&shape, &machine.traces(), &ordered(ContractKind::Px86, LineOrder::Fifo));
        let operational = machine.crash_states();
        if stores_behind_nt_on_line(&shape) {
            // The contract does not promise that such a store waits for the write-combining buffer.
            assert!(got.is_superset(&operational), "program {i}: {shape:?}");
        } else {
            assert_eq!(got, operational, "program {i}: {shape:?}");
        }
    }
}

/// A recorded thread takes its effects in program order, non-temporal stores too. That loses no crash state of one thread: what may pass
/// is not ordered by the contract either, and no store passes a `clflush`.
#[test]
fn px86_of_one_thread_in_program_order_allows_every_state_of_the_machine() {
    let mut rng = Stream::new(7, "px86 program order");
    let menu = Menu {
        threads: 1,
        ops: 6,
        nt: true,
        flushes: &[Flush::Clwb, Flush::Clflush, Flush::Clflush],
        ..X86
    };
    let mut ordered_by_flush = 0;
    for i in 0..800 {
        let shape = random::shape(&menu, &mut rng);
        let traces = relaxed::traces(&shape, true);
        let got = union_of_states(&shape, &traces, &ordered(ContractKind::Px86, LineOrder::Fifo));
        let operational = Machine::new(&shape, LineOrder::Fifo).crash_states();
        match stores_behind_nt_on_line(&shape) {
            true => assert!(got.is_superset(&operational), "program {i}: {shape:?}"),
            false => assert_eq!(got, operational, "program {i}: {shape:?}"),
        }
        ordered_by_flush += u32::from(nt_behind_clflush(&shape));
    }
    assert!(ordered_by_flush > 20, "{ordered_by_flush}");
}

/// Whether a non-temporal store follows a `clflush`.
fn nt_behind_clflush(shape: &Shape) -> bool {
    let clflush = |op: &Op| {
        matches!(
            op,
            Op::Flush {
                kind: Flush::Clflush,
                ..
            }
        )
    };
    shape.threads.iter().any(|thread| {
        let mut behind = thread.iter().skip_while(|g| !clflush(&g.op));
        behind.any(|g| matches!(g.op, Op::Store { nt: true, .. }))
    })
}

/// Whether a thread stores to a line after a non-temporal store to it, with no fence between.
fn stores_behind_nt_on_line(shape: &Shape) -> bool {
    shape.threads.iter().any(|thread| {
        let mut open: Vec<usize> = Vec::new();
        thread.iter().any(|g| match g.op {
            Op::Store { loc, nt: true, .. } => {
                open.push(loc);
                false
            }
            Op::Store { loc, nt: false, .. } => open.iter().any(|o| shape.same_line(*o, loc)),
            Op::Rmw { .. } | Op::Fence(_) => {
                open.clear();
                false
            }
            _ => false,
        })
    })
}

#[test]
fn rcbsp_contract_equals_the_relations_without_dependencies() {
    let mut rng = Stream::new(3, "rcbsp");
    let menu = Menu {
        threads: 3,
        ops: 3,
        locations: &["x", "y", "z"],
        fences: &[Fence::Dmb],
        flushes: &[],
        nt: false,
        rmw: false,
        guards: false,
        copies: false,
    };
    for i in 0..200 {
        let shape = random::shape(&menu, &mut rng);
        let relations = arm::crash_states(&shape, Arm::NonMca, 9);
        let contract = union_of_states(&shape, &relaxed::traces(&shape, false), &ContractKind::Rcbsp.into());
        assert_eq!(contract, relations, "program {i}: {shape:?}");
    }
}

#[test]
fn rcbsp_contract_equals_the_relations_with_dependences() {
    let mut rng = Stream::new(6, "rcbsp guards");
    let (fences, flushes): (&[_], &[_]) = (&[Fence::Dmb], &[]);
    let menu = Menu {
        locations: &["v", "x", "y"],
        fences,
        flushes,
        ..X86
    };
    for i in 0..200 {
        let shape = random::shape(&menu, &mut rng);
        let relations = arm::crash_states(&shape, Arm::NonMca, 9);
        let contract = union_of_states(&shape, &relaxed::traces(&shape, false), &ContractKind::Rcbsp.into());
        assert!(
            relations.is_superset(&arm::crash_states(&shape, Arm::Mca, 9)),
            "program {i}: {shape:?}"
        );
        assert_eq!(contract, relations, "program {i}: {shape:?}");
    }
}

#[test]
fn stronger_contracts_allow_fewer_states() {
    use ContractKind as K;
    let mut rng = Stream::new(4, "monotone");
    let menu = Menu {
        nt: true,
        fences: &[Fence::Sfence, Fence::Mfence, Fence::Pcommit, Fence::NewStrand],
        ..X86
    };
    let weaker_than = [
        (K::Px86, K::None),
        (K::Px86, K::Px86Pcommit),
        (K::Px86Pcommit, K::None),
        (K::Themis, K::Px86),
        (K::Eadr, K::StrictSc),
        (K::Eadr, K::Themis),
        (K::StrictSc, K::StrictTso),
        (K::StrictSc, K::Epoch),
        (K::Epoch, K::Strand),
    ];
    for i in 0..150 {
        let shape = random::shape(&menu, &mut rng);
        let traces = relaxed::traces(&shape, true);
        // One line order for all, so that only the contracts differ.
        let states = |kind| union_of_states(&shape, &traces, &ordered(kind, LineOrder::Fifo));
        for (strong, weak) in weaker_than {
            let (few, many) = (states(strong), states(weak));
            assert!(
                few.is_subset(&many),
                "{strong} is not within {weak}, program {i}: {shape:?}"
            );
        }
    }
}

#[test]
fn smaller_grains_and_less_line_order_only_add_states() {
    let mut rng = Stream::new(5, "grain");
    for i in 0..150 {
        let shape = random::shape(&X86, &mut rng);
        let traces = relaxed::traces(&shape, true);
        let states = |grain, line_order| {
            let params = ContractParams {
                grain,
                line_order: Some(line_order),
                buffered: None,
            };
            union_of_states(
                &shape,
                &traces,
                &Contract {
                    kind: ContractKind::Px86,
                    params,
                },
            )
        };
        let word = states(Grain::Word, LineOrder::Fifo);
        assert_eq!(
            states(Grain::Line, LineOrder::Unordered),
            word,
            "program {i}: {shape:?}"
        );
        // All values here are below 256, so a torn word shows no new value; every state must still be there.
        assert_eq!(states(Grain::Byte, LineOrder::Fifo), word, "program {i}: {shape:?}");
        assert!(
            word.is_subset(&states(Grain::Word, LineOrder::Unordered)),
            "program {i}: {shape:?}"
        );
    }
}
