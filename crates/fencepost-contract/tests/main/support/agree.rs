//! One random program each, of which two models must say the same: what a contract allows is what its axioms allow.

use super::arm::{self, Arm};
use super::px86_machine::Machine;
use super::random::{self, Menu};
use super::states::union_of_states;
use super::{Op, Shape, px86_axioms, relaxed};
use fencepost_contract::{Contract, ContractKind, ContractParams, LineOrder};
use fencepost_kernel::{Fence, Flush, Stream};

/// What programs of the x86 family are drawn from.
pub(crate) const X86: Menu = Menu {
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

/// A contract with this line order.
pub(crate) fn ordered(kind: ContractKind, line_order: LineOrder) -> Contract {
    Contract {
        kind,
        params: ContractParams {
            line_order: Some(line_order),
            ..ContractParams::default()
        },
    }
}

/// Px86 without line order: axioms, machine and contract.
pub(crate) fn px86_unordered(rng: &mut Stream, i: u64) {
    let shape = random::shape_or_message(&X86, rng);
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

/// Px86 with line order and non-temporal stores: machine and contract.
pub(crate) fn px86_ordered(rng: &mut Stream, i: u64) {
    let shape = random::shape_or_message(&Menu { nt: true, ..X86 }, rng);
    let machine = Machine::new(&shape, LineOrder::Fifo);
    let got = union_of_states(&shape, &machine.traces(), &ordered(ContractKind::Px86, LineOrder::Fifo));
    let operational = machine.crash_states();
    if stores_behind_nt_on_line(&shape) || sees_nt_gone(&shape) {
        // The contract does not promise that such a store waits for the write-combining buffer, nor that what is seen of one has left it
        // for good.
        assert!(got.is_superset(&operational), "program {i}: {shape:?}");
    } else {
        assert_eq!(got, operational, "program {i}: {shape:?}");
    }
}

/// RCBSP with dependences: relations and contract.
pub(crate) fn rcbsp(rng: &mut Stream, i: u64) {
    let (fences, flushes): (&[_], &[_]) = (&[Fence::Dmb], &[]);
    let menu = Menu {
        locations: &["v", "x", "y"],
        fences,
        flushes,
        ..X86
    };
    let shape = random::shape_or_message(&menu, rng);
    let relations = arm::crash_states(&shape, Arm::NonMca, 9);
    let contract = union_of_states(&shape, &relaxed::traces(&shape, false), &ContractKind::Rcbsp.into());
    assert!(
        relations.is_superset(&arm::crash_states(&shape, Arm::Mca, 9)),
        "program {i}: {shape:?}"
    );
    assert_eq!(contract, relations, "program {i}: {shape:?}");
}

/// Whether a thread may see that a non-temporal store has left its buffer: it reads where another made one, or where another has stored over
/// its own.
fn sees_nt_gone(shape: &Shape) -> bool {
    let any = |t: usize, does: &dyn Fn(&Op) -> bool| shape.threads[t].iter().any(|g| does(&g.op));
    let reads = |t: usize, loc: usize| {
        any(
            t,
            &|op| matches!(op, Op::Load { loc: l, .. } | Op::Rmw { loc: l, .. } if *l == loc),
        )
    };
    let stores = |t: usize, loc: usize| {
        any(
            t,
            &|op| matches!(op, Op::Store { loc: l, .. } | Op::Rmw { loc: l, .. } if *l == loc),
        )
    };
    let others = |t: usize| (0..shape.threads.len()).filter(move |o| *o != t);
    (0..shape.threads.len()).any(|t| {
        let seen = |loc: usize| others(t).any(|o| reads(o, loc) || reads(t, loc) && stores(o, loc));
        any(t, &|op| matches!(op, Op::Store { loc, nt: true, .. } if seen(*loc)))
    })
}

/// Whether a thread stores to a line after a non-temporal store to it, with no fence between.
pub(crate) fn stores_behind_nt_on_line(shape: &Shape) -> bool {
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
