//! The dictionary of `docs/extending.md`, compiled from the page: it recovers from every crash state under every scheme, and its mistakes
//! are convicted.

include!(concat!(env!("OUT_DIR"), "/dictionary.rs"));

use chain::ChainProgram;
use fencepost_contract::ContractKind;
use fencepost_contract::explore::{CrashCheck, ProgramRun, Verdict};
use fencepost_designs::Environment;
use fencepost_kernel::params::Raw;
use fencepost_programs::{Described, Scheme, Settings, Variant};

const OPS: u32 = 6;

/// Its crash states on x86 with a durable controller queue.
fn verdict(scheme: Scheme, variant: Variant, seed: u64) -> Verdict {
    let params = ChainProgram::SMALL.iter().map(|(name, value)| {
        let size = value.parse().expect("sizes are numbers");
        ((*name).to_owned(), Raw::Int(size))
    });
    let settings = Settings {
        ops: OPS,
        seed,
        scheme,
        variant,
        params: params.collect(),
        ..Settings::default()
    };
    let program = ChainProgram::checked(&settings).expect("it builds");
    let so_adr = fencepost_designs::find("so-adr").expect("a design of x86");
    let run = ProgramRun {
        dialect: (so_adr.dialect)(Environment::new(true, true)),
        threads: 1,
        ops: OPS,
        ack_every: true,
    };
    let report = CrashCheck::new(ContractKind::Px86).program(&program, run);
    report.expect("a verdict").verdict
}

#[test]
fn a_dictionary_of_ones_own_recovers_and_its_mistakes_are_convicted() {
    for scheme in Scheme::LOGGED {
        assert_eq!(verdict(*scheme, Variant::Correct, 1), Verdict::Clean, "{scheme:?}");
    }
    for variant in [Variant::MissingFlush, Variant::NonAtomicUpdate] {
        let convicted = |seed| verdict(Scheme::UndoArray, variant, seed) == Verdict::Violated;
        assert!((1..=4).any(convicted), "{variant:?}");
    }
}

/// It is short: no more than 120 lines, comments and all.
#[test]
fn a_dictionary_of_ones_own_is_short() {
    let lines = include_str!(concat!(env!("OUT_DIR"), "/chain.rs")).lines().count();
    assert!((60..=120).contains(&lines), "{lines} lines");
}
