//! The rules of loose-ordering consistency that one handwritten run shows.

use super::stage::{body, count, pm};
use super::{Machines, Rule, Seen, expect};
use crate::loc::log::format::{Content, Name, Record, groups};
use fencepost_kernel::{Image, Mem, Val, WriteCause};
use fencepost_machine::RunReport;
use std::collections::BTreeSet;

/// Of the versions in a window only the last is logged.
pub const ONLY_LAST_VERSIONS: Rule = Rule {
    name: "loc-only-last-versions",
    broken_by: "loc.nothing-merged",
    holds: only_last_versions,
};
/// Every rule of this paper.
pub const RULES: &[Rule] = &[ONLY_LAST_VERSIONS];

/// Every block and record that the log ever held, by the name of the transaction.
pub fn logged(report: &RunReport) -> (BTreeSet<(u64, Name)>, BTreeSet<String>) {
    let (mut image, mut blocks, mut records) = (Image::default(), BTreeSet::new(), BTreeSet::new());
    for r in report.log.records() {
        image.set_line(r.line, &r.data);
        if r.cause != WriteCause::Log {
            continue;
        }
        for group in groups(&image) {
            match group.content {
                Content::Blocks(tags) => blocks.extend(tags.iter().map(|t| (t.home.0, t.name))),
                Content::Records(all) => records.extend(all.iter().map(|r| format!("{r:?}"))),
            }
        }
    }
    (blocks, records)
}

/// Figure 3: T1 writes A, B, C and D, T2 writes A, T3 writes B, C and D, T4 another block.
const TRANSACTIONS: [&[u64]; 4] = [&[1, 2, 3, 4], &[1], &[2, 3, 4], &[5]];

/// Figure 3, literally, in a window of four: only the last versions reach the log, none of T1's blocks.
fn only_last_versions(on: &dyn Machines) -> Seen {
    let ran = |degree: u32| {
        let thread = body(|m| {
            for (value, lines) in (1..).zip(TRANSACTIONS) {
                while m.tx_begin().is_err() {}
                lines.iter().for_each(|line| m.store(pm(*line), Val::lit(value)));
                m.tx_commit();
            }
            m.tx_flush();
        });
        on.with("loc-wal", &[&format!("design.loc-wal.speculation_degree={degree}")])?
            .run(vec![thread])
    };
    let (in_window, alone) = (ran(4)?, ran(1)?);
    let blocks = |r: &RunReport| Ok::<_, String>((count(r, "log_blocks")?, count(r, "blocks_merged")?));
    let (window, single) = (blocks(&in_window)?, blocks(&alone)?);
    let text = format!(
        "Figure 3: {} blocks logged and {} of T1 left out in a window of four; {} logged and {} left out in windows of one",
        window.0, window.1, single.0, single.1
    );
    expect((window, single) == ((5, 4), (9, 0)), || text.clone())?;
    let (blocks, records) = logged(&in_window);
    let of = |n: u16| blocks.iter().filter(|b| b.1 == Name::Order(n)).count();
    let of = [of(1), of(2), of(3), of(4)];
    expect(of == [0, 1, 3, 1], || format!("blocks of T1 to T4: {of:?}"))?;
    let pair = |x, y, n| format!("{:?}", Record::Pair { x, y, n });
    let wanted = [
        pair(1, 2, 1),
        pair(1, 3, 3),
        format!("{:?}", Record::Count { x: 1, n: 4 }),
    ];
    expect(records == wanted.into(), || format!("records of the log: {records:?}"))?;
    Ok(text)
}
