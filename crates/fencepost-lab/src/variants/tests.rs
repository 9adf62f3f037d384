use super::*;
use Variant::{
    Correct, MisplacedCommit, MisplacedFence, MissingCommit, MissingFence, MissingLogFence, MissingPcommit,
    NonAtomicUpdate, SemanticMistake, SharedFence, TokenFirst, UnflushedLink, UnflushedUnlink, WrongStoreOrder,
};

/// What must come out, by rule. One exception: a change of the hash table or the list, or a SET of the object store, is a single link store, and
/// designs with barriers acknowledge nothing before the end; whether the link or the log's mark is durable first shows in no crash state there.
fn expected(program: &str, variant: Variant, contract: ContractKind) -> Cell {
    use ContractKind::{Commit, Eadr, Epoch, None, Px86Pcommit, Rcbsp, Strand, StrictSc, StrictTso, Themis};
    if matches!(
        (program, variant),
        ("hash" | "ll" | "redis", MissingFence | MisplacedFence)
    ) && matches!(contract, Rcbsp | Strand | Epoch)
    {
        return Cell::Clean;
    }
    let broken = match (variant, contract) {
        (_, None) => true,
        (Correct, _) => false,
        (v, _) if v.needs_second_failure() => false,
        (v, _) if v.wrong_everywhere() => true,
        (_, StrictTso | StrictSc | Eadr) => false,
        (MissingPcommit, c) => c == Px86Pcommit,
        (MissingCommit | MisplacedCommit, c) => c == Commit,
        // The hardware orders log entries before data.
        (MissingLogFence, Themis) => false,
        (MissingFence | MisplacedFence | MissingLogFence | SharedFence, _) => true,
        // The rest are flushes.
        (_, Rcbsp | Epoch | Strand) => false,
        _ => true,
    };
    if broken { Cell::Broken } else { Cell::Clean }
}

#[test]
#[ignore = "minutes: explores the whole table of docs/variants.md"]
fn verdicts_follow_the_rule_and_every_program_has_its_mistakes() {
    let rows = table().unwrap();
    let mut wrong = Vec::new();
    for row in &rows {
        for (contract, cells) in CONTRACTS.into_iter().zip(row.cells) {
            for (order, cell) in ORDERS.into_iter().zip(cells) {
                let found = if cell == Cell::Bounded { Cell::Clean } else { cell };
                if found != expected(row.program, row.variant, contract) {
                    wrong.push(format!(
                        "{} {} {contract} {order:?}: {cell:?}",
                        row.program,
                        row.variant.word()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for about in programs() {
        let has = |v: Variant| rows.iter().any(|r| (r.program, r.variant) == (about.word, v));
        for v in Variant::RUNTIME.iter().filter(|v| v.applies(about.schemes[0])) {
            assert!(has(*v), "{} lacks {}", about.word, v.word());
        }
        assert!(has(Correct) && has(NonAtomicUpdate) && has(SemanticMistake) && has(WrongStoreOrder));
    }
    for (program, variant) in [
        ("cq", UnflushedLink),
        ("hash", UnflushedUnlink),
        ("commitstore", TokenFirst),
    ] {
        assert!(
            rows.iter().any(|r| (r.program, r.variant) == (program, variant)),
            "{program}"
        );
    }
}
