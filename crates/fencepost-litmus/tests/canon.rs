//! The whole canon of another tool's verdicts, where it is at hand: `FENCEPOST_LITMUS_CANON` names its directory, which holds
//! `verdicts.tsv` and a directory per instruction set.

use fencepost_litmus::{Model, Outcome, parse};
use std::path::Path;

#[test]
fn every_test_of_the_canon_agrees() {
    let Some(root) = std::env::var_os("FENCEPOST_LITMUS_CANON") else {
        eprintln!("FENCEPOST_LITMUS_CANON is not set: nothing compared");
        return;
    };
    let root = Path::new(&root);
    let table = std::fs::read_to_string(root.join("verdicts.tsv")).unwrap();
    let (mut compared, mut wrong) = (0, Vec::new());
    for row in table.lines().skip(1) {
        let cells: Vec<&str> = row.split('\t').collect();
        let (arch, model, name) = (cells[1], cells[2], cells[3]);
        let model = match model {
            "aarch64.cat" => Model::Aarch64,
            "arm.cat" => Model::Armv7,
            "armv7-mca(ours)" => Model::Armv7Mca,
            "ppc.cat" => Model::Ppc,
            "x86tso.cat" => Model::Tso,
            other => panic!("model {other}"),
        };
        let text = std::fs::read_to_string(root.join(arch).join(format!("{name}.litmus"))).unwrap();
        let test = parse(&text).unwrap_or_else(|e| panic!("{arch}/{name}: {e}"));
        let outcome = Outcome::of(&test, model).unwrap_or_else(|e| panic!("{arch}/{name}: {e}"));
        let got = [
            test.quantifier.kind().to_owned(),
            outcome.observation().to_owned(),
            outcome.verdict().to_owned(),
            outcome.states.len().to_string(),
            outcome.positive.to_string(),
            outcome.negative.to_string(),
        ];
        compared += 1;
        if got != cells[4..10] {
            wrong.push(format!(
                "{arch}/{name} {model}: {got:?}, the canon has {:?}",
                &cells[4..10]
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {compared} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(compared > 700);
}
