//! Models against each other on random programs: the x86 family in axioms, operationally and as contracts; RCBSP in
//! relations and as a contract; stronger contracts against weaker ones.

use crate::support::agree::{X86, ordered, px86_ordered, px86_unordered, rcbsp, stores_behind_nt_on_line};
use crate::support::arm::{self, Arm};
use crate::support::barriers::barriers;
use crate::support::px86_machine::Machine;
use crate::support::random::{self, Menu};
use crate::support::states::union_of_states;
use crate::support::strict_order::strict_order;
use crate::support::transactional::transactions;
use crate::support::{Op, Shape, relaxed};
use fencepost_contract::{Contract, ContractKind, ContractParams, Grain, LineOrder};
use fencepost_kernel::{Fence, Flush, Stream};

#[test]
fn px86_axioms_machine_and_contract_agree_without_line_order() {
    let mut rng = Stream::new(1, "px86 axioms");
    (0..300).for_each(|i| px86_unordered(&mut rng, i));
}

#[test]
fn px86_machine_and_contract_agree_with_line_order_and_non_temporal_stores() {
    let mut rng = Stream::new(2, "px86 machine");
    (0..400).for_each(|i| px86_ordered(&mut rng, i));
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
    (0..200).for_each(|i| rcbsp(&mut rng, i));
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

#[test]
fn contracts_of_barriers_allow_the_sets_that_are_closed_under_what_barriers_order() {
    let mut rng = Stream::new(11, "barriers");
    (0..1500).for_each(|i| barriers(&mut rng, i));
}
#[test]
fn strict_contracts_allow_the_sets_that_are_closed_under_what_threads_can_see() {
    let mut rng = Stream::new(12, "strict order");
    (0..1500).for_each(|i| strict_order(&mut rng, i));
}
#[test]
fn transactional_contracts_allow_the_states_of_a_machine_that_commits_one_after_the_other() {
    let mut rng = Stream::new(7, "transactions");
    (0..400).for_each(|i| transactions(&mut rng, i));
}
