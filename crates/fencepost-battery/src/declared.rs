//! What a design declares is there and fits together.

use super::found::Found;
use fencepost_designs::info::{MachineShape, raw};
use fencepost_designs::page::PAGE_HEADINGS;
use fencepost_designs::{DesignInfo, Environment};
use fencepost_kernel::Logging;
use fencepost_kernel::params::Raw;

/// Page, dialect, contract, parameters, storage cost, variants and faults.
pub fn check(info: &'static DesignInfo) -> Found {
    let mut wrong = Vec::new();
    let mut must = |holds: bool, what: &str| {
        if !holds {
            wrong.push(what.to_owned());
        }
    };
    let page = info.page();
    must(
        page.title.contains(&format!("`{}`", info.name)),
        "the page's title does not name it",
    );
    let headings: Vec<&str> = page.sections.iter().map(|s| s.0.as_str()).collect();
    must(
        headings == PAGE_HEADINGS,
        "the page lacks a heading, or has them in another order",
    );
    must(
        page.sections.iter().all(|s| s.1.len() > 5),
        "a section of the page is empty",
    );
    must(
        !info.summary.is_empty() && !info.summary.contains('\n'),
        "the summary is not one line",
    );

    let sound = Environment::ALL.iter().any(|e| (info.sound)(*e));
    must(
        sound || (info.faults.is_empty() && info.variants.is_empty()),
        "it is sound nowhere, so that no fault or variant can be tried",
    );
    for environment in Environment::ALL {
        let dialect = (info.dialect)(environment);
        must(dialect.name == info.name, "the dialect has another name");
        let transactions = dialect.logging == Logging::Hardware;
        must(
            transactions == info.promise.honours.transactions,
            "dialect and promise differ about transactions",
        );
    }
    let builds = |values: &[(String, Raw)]| (info.build)(values, MachineShape::default()).is_ok();
    must(builds(&[]), "its defaults do not build");
    must(
        !builds(&[("no-such-parameter".into(), Raw::Int(1))]),
        "it takes a parameter that does not exist",
    );
    must(builds(&raw(info.smallest)), "its smallest sizes do not build");
    must(
        info.variants.iter().all(|v| builds(&raw(v))),
        "a variant does not build",
    );
    must(
        info.faults.iter().all(|f| builds(&raw(f.values))),
        "a fault does not build",
    );
    for field in (info.params)() {
        let given = [(field.name.to_owned(), Raw::Text(field.default.clone()))];
        must(builds(&given), "a default cannot be given");
        must(!field.doc.is_empty(), "a parameter has no sentence");
    }
    let cost = (info.cost)(&[], MachineShape::default());
    must(
        cost.is_ok_and(|c| c.iter().all(|i| i.bits > 0)),
        "its storage cost cannot be computed",
    );
    Found {
        runs: 1,
        wrong: wrong.into_iter().map(|w| format!("declared: {w}")).collect(),
        ..Found::default()
    }
}
