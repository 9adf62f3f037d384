use super::*;
use Variant::{
    Correct, MisplacedCommit, MisplacedFence, MissingCommit, MissingFence, MissingLogFence, MissingPcommit,
    NonAtomicUpdate, SemanticMistake, SharedFence, TokenFirst, UnflushedLink, UnflushedUnlink, WrongStoreOrder,
};

/// What must come out, by rule. One exception: a change of the hash table or the list, or a SET of the object store, is a single link store, and
/// designs with barriers acknowledge nothing before the end; whether the link or the log's mark is durable first shows in no crash state there.
fn expected(program: &str, variant: Variant, contract: ContractKind) -> Cell {
    if matches!(
        (program, variant),
        ("hash" | "ll" | "redis", MissingFence | MisplacedFence)
    ) && matches!(contract.name(), "rcbsp" | "strand" | "epoch")
    {
        return Cell::Clean;
    }
    let broken = match (variant, contract.name()) {
        (_, "none") => true,
        (Correct, _) => false,
        (v, _) if v.needs_second_failure() => false,
        (v, _) if v.wrong_everywhere() => true,
        (_, "strict-tso" | "strict-sc" | "eadr") => false,
        (MissingPcommit, c) => c == "px86-pcommit",
        (MissingCommit | MisplacedCommit, c) => c == "commit",
        // The hardware orders log entries before data.
        (MissingLogFence, "themis") => false,
        (MissingFence | MisplacedFence | MissingLogFence | SharedFence, _) => true,
        // The rest are flushes.
        (_, "rcbsp" | "epoch" | "strand") => false,
        _ => true,
    };
    if broken { Cell::Broken } else { Cell::Clean }
}

/// Whether a cell reads as the rule says; nothing found where not all was explored counts as clean.
fn follows((about, _, variant, contract, _): Place<'_>, cell: Cell) -> bool {
    let found = if cell == Cell::Bounded { Cell::Clean } else { cell };
    found == expected(about.name, variant, contract)
}

/// Of every so many cells of the table one is explored: neighbours differ in contract and line order, so that each of these comes often.
const SAMPLED: usize = 67;

/// Some cells of the table against the rule; what convicts is replayed from the id that `crash` prints, and nothing else is.
#[test]
fn a_sample_of_the_table_follows_the_rule_and_its_ids_replay() {
    let all: Vec<About> = listed().collect();
    let rows = all.iter().filter_map(|a| Some((a, a.variants.first()?)));
    let rows = rows.flat_map(|(a, (scheme, variants))| variants.iter().map(move |v| (a, *scheme, *v)));
    let cells = rows.flat_map(|(a, s, v)| CONTRACTS.into_iter().flat_map(move |c| ORDERS.map(|o| (a, s, v, c, o))));
    let (mut replayed, mut clean) = (0, 0);
    for place in cells.step_by(SAMPLED) {
        let (about, scheme, variant, contract, order) = place;
        let name = format!(
            "{} {} {} {contract} {order:?}",
            about.name,
            scheme.name(),
            variant.name()
        );
        let (cell, id) = verdict(place).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(follows(place, cell), "{name}: {cell:?}");
        clean += usize::from(cell != Cell::Broken);
        if let Some(id) = id {
            let again = crate::replay::replay(&id).unwrap_or_else(|e| panic!("{name}: {id}: {e}"));
            assert!(again.witness.is_some(), "{name}: {id} replays as clean");
            replayed += 1;
        }
    }
    assert!(replayed >= 20 && clean >= 20, "{replayed} broken, {clean} clean");
}

#[test]
#[ignore = "minutes: explores the whole table of docs/variants.md"]
fn verdicts_follow_the_rule_and_every_program_has_its_mistakes() {
    let (all, rows): (Vec<About>, _) = (listed().collect(), table().unwrap());
    let mut wrong = Vec::new();
    for row in &rows {
        for (contract, cells) in CONTRACTS.into_iter().zip(row.cells) {
            for (order, cell) in ORDERS.into_iter().zip(cells) {
                let about = all.iter().find(|a| a.name == row.program).expect("a program");
                if !follows((about, row.scheme, row.variant, contract, order), cell) {
                    wrong.push(format!(
                        "{} {} {contract} {order:?}: {cell:?}",
                        row.program,
                        row.variant.name()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for about in programs() {
        let has = |v: Variant| rows.iter().any(|r| (r.program, r.variant) == (about.name, v));
        for v in Variant::RUNTIME.iter().filter(|v| v.applies(about.schemes[0])) {
            assert!(has(*v), "{} lacks {}", about.name, v.name());
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
