//! Every deliberate mistake is convicted exactly where the instruction it lacks or misplaces carries the order, and stays
//! wrong everywhere if it is a mistake of program order, atomicity or logic.

use crate::common::*;
use fencepost_kernel::params::Raw;
use fencepost_kernel::{Dialect, Program, Shape, Violation};
use fencepost_programs::{About, LogForm, Scheme, Variant, Visit, programs, with_program};

#[derive(Copy, Clone, Debug, PartialEq)]
enum Model {
    /// Stores persist in program order.
    Strict,
    /// x86 with a durable controller queue.
    Adr(LineOrder),
    /// x86 with pcommit.
    Device,
    /// Per-task committing.
    Commit,
    /// Epochs between barriers, one thread.
    Epoch,
}

struct Try(Model, u64);
impl Visit for Try {
    type Out = Result<usize, (usize, Violation)>;
    fn visit<P: Program>(self, p: P) -> Self::Out {
        let Try(model, seed) = self;
        let run = |d: Dialect, threads| record(&p, d, threads, OPS, seed);
        match model {
            Model::Strict => strict_prefixes(&p, &run(ADR, THREADS)),
            Model::Adr(order) => x86_samples(&p, &run(ADR, THREADS), false, order, 6, seed),
            Model::Device => x86_samples(&p, &run(SO, THREADS), true, LineOrder::Fifo, 6, seed),
            Model::Commit => x86_samples(&p, &run(COMMIT, THREADS), true, LineOrder::Fifo, 6, seed),
            Model::Epoch => epoch_samples(&p, &run(DELEGATED, 1), 12, seed),
        }
    }
}

/// Whether the variant must be convicted under the model.
///
/// One exception: a change of the hash table or the list, or a SET of the object store, is one link store, and `delegated`
/// acknowledges nothing until the end. With the
/// contents of a new item already ordered before, whether that store or a log mark is durable first shows in no crash state.
fn expected(program: &str, scheme: Scheme, variant: Variant, model: Model) -> bool {
    use Variant::*;
    let one_store = matches!(
        (program, scheme.form(), variant),
        (
            "hash" | "ll" | "redis",
            LogForm::Undo(_, Shape::Array),
            MissingFence | MisplacedFence
        ) | ("hash" | "ll" | "redis", LogForm::Undo(_, Shape::List), MissingLogFence)
    );
    if one_store && model == Model::Epoch {
        return false;
    }
    variant.wrong_everywhere()
        || match (variant, model) {
            // One power failure does not show it.
            (Correct | RecoveryEndsLogFirst, _) | (_, Model::Strict) => false,
            (MissingPcommit, m) => m == Model::Device,
            (MissingCommit | MisplacedCommit, m) => m == Model::Commit,
            (MissingFence | MisplacedFence | MissingLogFence | SharedFence, _) => true,
            (_, m) => m != Model::Epoch,
        }
}

fn check(model: Model) {
    check_of(model, &programs(), &[]);
}

/// The programs that have a front do the application's work too.
fn check_with_front(model: Model) {
    check_of(model, &with_front(), &front());
}

fn check_of(model: Model, programs: &[About], params: &[(String, Raw)]) {
    let (mut convicted, mut wrong) = (0, Vec::new());
    for about in programs {
        for (scheme, variants) in &about.variants {
            // The runtime's mistakes are convicted in programs whose states take microseconds to judge; of a program that writes
            // pages its own remain.
            let tried = |v: &&Variant| **v != Variant::Correct && (about.name != "sqlite" || v.wrong_everywhere());
            for variant in variants.iter().filter(tried) {
                let must = expected(about.name, *scheme, *variant, model);
                // Without commits of ranges these two are the correct program.
                if !must && matches!(variant, Variant::MissingCommit | Variant::MisplacedCommit) {
                    continue;
                }
                // A conviction needs one state; an acquittal is shown on fewer runs.
                let hit = (1..if must { 12 } else { 2 }).any(|seed| {
                    let mut s = settings(about.name, *scheme, *variant, seed);
                    s.params.extend(params.iter().cloned());
                    with_program(about.name, &s, Try(model, seed)).unwrap().is_err()
                });
                if hit != must {
                    wrong.push(format!("{} {} {}: {hit}", about.name, scheme.name(), variant.name()));
                }
                convicted += usize::from(hit);
            }
        }
    }
    assert!(wrong.is_empty(), "under {model:?}: {wrong:#?}");
    assert!(convicted > 50, "only {convicted}");
}

#[test]
fn under_strict_persistency() {
    check(Model::Strict);
}
#[test]
fn under_x86_with_line_order() {
    check(Model::Adr(LineOrder::Fifo));
}
#[test]
fn under_x86_without_line_order() {
    check(Model::Adr(LineOrder::None));
}
#[test]
fn under_x86_with_pcommit() {
    check(Model::Device);
}
#[test]
fn under_per_task_committing() {
    check(Model::Commit);
}
#[test]
fn under_epochs() {
    check(Model::Epoch);
}

#[test]
fn with_the_applications_front() {
    check_with_front(Model::Adr(LineOrder::None));
}
/// The maps of the object store where keys come and go.
#[test]
fn with_removals() {
    let maps: Vec<About> = programs()
        .into_iter()
        .filter(|p| ["ctree", "hashmap"].contains(&p.name))
        .collect();
    check_of(
        Model::Adr(LineOrder::None),
        &maps,
        &[("removes".into(), Raw::Bool(true))],
    );
}

/// SQLite's own journals order by syncs alone: without them what was acknowledged is lost, and pages are torn; where stores persist in
/// program order nothing is missed.
#[test]
fn sqlite_needs_the_syncs_of_its_journals() {
    for scheme in [Scheme::SqliteJournal, Scheme::SqliteWal] {
        let convicted = |variant, model, seed| {
            let s = settings("sqlite", scheme, variant, seed);
            with_program("sqlite", &s, Try(model, seed)).unwrap().is_err()
        };
        for model in [Model::Adr(LineOrder::None), Model::Device, Model::Commit] {
            let name = format!("{} {model:?}", scheme.name());
            assert!(
                (1..8).any(|seed| convicted(Variant::MissingSync, model, seed)),
                "{name}"
            );
            assert!((1..4).all(|seed| !convicted(Variant::Correct, model, seed)), "{name}");
        }
        assert!(!convicted(Variant::MissingSync, Model::Strict, 1), "{}", scheme.name());
    }
}
