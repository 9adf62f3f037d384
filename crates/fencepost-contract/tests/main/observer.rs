//! Strict persistency without a persist order: a crash state is what one more thread could see that reads all of
//! persistent memory at once. Consistency alone is the oracle.

use crate::support::arm::{self, Arm};
use crate::support::px86_machine::Machine;
use crate::support::random::{self, Menu};
use crate::support::states::union_of_states;
use crate::support::{Shape, relaxed};
use fencepost_contract::{Contract, ContractKind, ContractParams, LineOrder};
use fencepost_kernel::{Fence, Flush, Stream};

const MENU: Menu = Menu {
    threads: 2,
    ops: 4,
    locations: &["v", "x", "y"],
    fences: &[Fence::Mfence, Fence::Sfence],
    flushes: &[Flush::Clwb],
    nt: false,
    rmw: true,
    guards: true,
    copies: false,
};

#[test]
fn strict_order_over_tso_is_what_tso_shows() {
    let mut rng = Stream::new(1, "observe tso");
    for i in 0..300 {
        let shape = random::shape(&MENU, &mut rng);
        let machine = Machine::new(&shape, LineOrder::Unordered);
        let traces = machine.traces();
        let want = machine.visible_states();
        for buffered in [true, false] {
            let params = ContractParams {
                buffered: Some(buffered),
                ..ContractParams::default()
            };
            let contract = Contract {
                kind: ContractKind::StrictTso,
                params,
            };
            assert_eq!(
                union_of_states(&shape, &traces, &contract),
                want,
                "program {i}: {shape:?}"
            );
        }
        assert_eq!(
            union_of_states(&shape, &traces, &ContractKind::Eadr.into()),
            want,
            "eadr, program {i}: {shape:?}"
        );
    }
}

#[test]
fn strict_order_over_sequential_consistency_is_what_it_shows() {
    let mut rng = Stream::new(2, "observe sc");
    for i in 0..300 {
        let shape = random::shape(&MENU, &mut rng);
        let got = union_of_states(&shape, &relaxed::traces(&shape, true), &ContractKind::StrictSc.into());
        assert_eq!(got, relaxed::visible_states(&shape), "program {i}: {shape:?}");
    }
}

#[test]
fn rcbsp_is_what_a_double_collect_sees_on_armv7() {
    let shapes = [
        "x=1; y=1",
        "x=1; dmb; y=1",
        "x=1 // r=x; y=r",
        "x=1; dmb; y=1 // r=y; if r z=1",
        "x=1; y=1 // r=y; if r z=1",
        "x=1 // r=x; dmb; if r y=1",
        "x=1; dmb; r=y; if r=0 a=1 // y=1",
        "y=1; dmb; r=x; a=r // x=1",
        "x=1; dmb; v=1 // r=v; dmb; if r y=1",
    ];
    for program in shapes {
        let shape = Shape::parse(program);
        for model in [Arm::NonMca, Arm::Mca] {
            let seen = arm::double_collect(&shape, model, 2);
            assert_eq!(arm::crash_states(&shape, model, 2), seen, "{model:?}: {program}");
        }
    }
}
