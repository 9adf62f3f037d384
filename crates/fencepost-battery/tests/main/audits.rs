//! Audits that pass over what is as set-up left it say what whole audits say: of sound memories, and of memories with a word changed
//! anywhere in the structure.

use fencepost_contract::Contract;
use fencepost_contract::ContractKind;
use fencepost_contract::explore::{Oracle, Schedule, record_program};
use fencepost_designs::Environment;
use fencepost_kernel::params::Raw;
use fencepost_kernel::rng::Stream;
use fencepost_kernel::{Addr, CrashPoint, Image, Program};
use fencepost_programs::{Scheme, Settings, Variant, Visit, with_program};

const OPS: u32 = 12;
const THREADS: u32 = 2;

/// What both audits say of one memory: whether it is sound, if they agree.
fn sound<P: Program>(oracle: &Oracle<'_, P>, image: &Image, crash: &CrashPoint, what: &str) -> bool {
    let (whole, short) = (oracle.run(image, crash), oracle.run_changed(image, crash));
    assert_eq!(whole.is_ok(), short.is_ok(), "{what}: {whole:?}, {short:?}");
    whole.is_ok()
}

/// Judges the end of a run, and what it is with single words changed. How many of those are sound.
struct Corrupted {
    seed: u64,
    words: u64,
}
impl Visit for Corrupted {
    type Out = u64;
    fn visit<P: Program>(self, program: P) -> u64 {
        let so_adr = fencepost_designs::find("so-adr").expect("a design of x86");
        let dialect = (so_adr.dialect)(Environment::new(true, true));
        let recording = record_program(&program, dialect, THREADS, OPS, true, Schedule::default()).expect("it runs");
        let space = Contract::from(ContractKind::StrictSc).space(&recording.trace, &recording.initial);
        let end = space.graph.image_of(|_| true);
        let oracle = Oracle::new(&program, &recording.trace.ops).passing_over(&recording.initial);
        let crash = CrashPoint {
            begun: vec![OPS; 2],
            acked: vec![OPS; 2],
        };
        assert!(
            sound(&oracle, &end, &crash, "the end of the run"),
            "the end of a run is sound"
        );
        assert!(
            !sound(&oracle, &recording.initial, &crash, "nothing durable"),
            "acknowledged operations are missing"
        );
        // Half of the words from what set-up wrote, half from what the run did.
        let of = |image: &Image| -> Vec<Addr> {
            let words = image
                .pm_lines()
                .flat_map(|l| (0..8).map(move |w| Addr(l.0 * 64 + 8 * w)));
            words.filter(|at| image.word(*at) != 0).collect()
        };
        let (planted, all) = (of(&recording.initial), of(&end));
        let written: Vec<Addr> = all
            .into_iter()
            .filter(|at| recording.initial.word(*at) != end.word(*at))
            .collect();
        let mut rng = Stream::new(self.seed, "changed words");
        let mut still = 0;
        for n in 0..self.words {
            let among = if n % 2 == 0 { &planted } else { &written };
            let at = among[rng.below(among.len() as u64) as usize];
            let other = planted[rng.below(planted.len() as u64) as usize];
            let value = match rng.below(4) {
                0 => 0,
                1 => end.word(at) ^ 1 << rng.below(64),
                // Another node, or another key.
                _ => end.word(other),
            };
            let mut image = end.clone();
            image.set_word(at, value, None);
            still += u64::from(sound(&oracle, &image, &crash, &format!("{at:?} = {value:#x}")));
        }
        still
    }
}

fn convicted(name: &str, sizes: &[(&str, i64)], seed: u64) -> u64 {
    let settings = Settings {
        ops: OPS,
        threads: THREADS,
        seed,
        scheme: Scheme::UndoList,
        variant: Variant::Correct,
        params: sizes.iter().map(|(n, v)| ((*n).to_owned(), Raw::Int(*v))).collect(),
        ..Settings::default()
    };
    let words = 200;
    let still = with_program(name, &settings, Corrupted { seed, words }).expect("it builds");
    words - still
}

#[test]
fn passing_over_what_setup_left_hides_nothing() {
    for (name, sizes) in [
        ("ctree", &[("preload", 300)][..]),
        ("ctree", &[("preload", 1)]),
        ("ctree", &[("preload", 200), ("keys", 230)]),
        ("hashmap", &[("preload", 300)]),
        ("hashmap", &[("preload", 19), ("buckets", 10)]),
        ("hashmap", &[("preload", 200), ("keys", 230)]),
        ("rbtree", &[("keys", 600), ("preload", 300)]),
        ("rbtree", &[("keys", 600), ("preload", 300), ("trees", 4)]),
        ("rbtree", &[("keys", 40), ("preload", 31)]),
        ("rbtree", &[("keys", 40), ("preload", 32)]),
    ] {
        for seed in 1..=4 {
            let found = convicted(name, sizes, seed);
            assert!(
                found > 50,
                "{name} {sizes:?}: only {found} of 200 changed words are convicted"
            );
        }
    }
}
