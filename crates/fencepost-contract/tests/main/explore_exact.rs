//! The explorer against brute force over all closed sets, on random executions, for every contract.

use crate::explore_common::compare::{compare, random_contract, random_program};
use crate::explore_common::{Nosy, random_trace};
use fencepost_contract::{ContractKind, Grain};
use fencepost_kernel::{Image, Stream};

#[test]
fn explorer_equals_brute_force_for_every_contract() {
    let mut rng = Stream::new(1, "explorer against brute force");
    for kind in ContractKind::ALL {
        let mut broken = 0;
        for round in 0..2_000 {
            broken += u32::from(random_program(&mut rng, kind, &format!("round {round}")));
        }
        println!("{kind}: {broken} of 2000 executions broken");
        assert!(broken > 50, "{kind}: the test must see both verdicts");
    }
}

#[test]
fn torn_words_equal_brute_force() {
    let mut rng = Stream::new(2, "torn words");
    let mut broken = 0;
    for round in 0..2_000 {
        let (stores, words) = (2 + rng.below(4) as usize, 1 + rng.below(4));
        let trace = random_trace(&mut rng, stores, words);
        let mut contract = random_contract(&mut rng, ContractKind::ALL[round % 13]);
        contract.params.grain = Grain::Byte;
        let space = contract.space(&trace, &Image::default());
        let recovery = Nosy::random(&mut rng, words);
        broken += u32::from(compare(&space, &recovery, &format!("{contract:?}, round {round}")));
    }
    assert!(broken > 50, "{broken}");
}
