//! Recovery from the memory log (section III-C): it reads bytes, and writes them in two stages, so that it may be cut short anywhere.
//!
//! 1. Count the BLK-TAGs of every transaction; one whose count equals its TxCnt is marked.
//! 2. From the tail to the head: a pair whose successor is marked adds its blocks to the predecessor's count.
//! 3. The first transaction that is not marked cuts off itself and all after it. Then, which the paper leaves out: a
//!    transaction whose successor lies behind the cut has lost the blocks that the successor held, and is cut off too.
//! 4. The newest blocks that remain of each line are written home. When all of them are durable, the log's head empties the log.

use super::super::config::LocFault;
use super::format::{Content, Found, Head, Name, Record, groups};
use fencepost_kernel::units::LOG_BASE;
use fencepost_kernel::{HwThread, LineAddr, LineData, planted};
use fencepost_machine::seam::Recovery;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// A transaction as the log shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Logged {
    /// Blocks found: where they go and where they lie, oldest first.
    pub blocks: Vec<(LineAddr, LineAddr)>,
    /// TxCnt, if a tag or a record carries it.
    pub count: Option<u32>,
    /// Successors and how many blocks each holds.
    pub pairs: Vec<(u64, u32)>,
}

/// Everything the groups of a log say about transactions from the head's first on, by position in commit order.
pub fn transactions(found: &[Found], first: u64, first_name: u32) -> BTreeMap<u64, Logged> {
    let at = |low: u16| Name::position(low, first, first_name);
    let mut txs: BTreeMap<u64, Logged> = BTreeMap::new();
    let mut names: BTreeMap<(HwThread, u16), u64> = BTreeMap::new();
    for group in found {
        let Content::Records(records) = &group.content else {
            continue;
        };
        for r in records {
            match *r {
                Record::Pair { x, y, n } => txs.entry(at(x)).or_default().pairs.push((at(y), n)),
                Record::Count { x, n } => txs.entry(at(x)).or_default().count = Some(n),
                Record::Early { x, hw_thread, early } => {
                    names.insert((hw_thread, early), at(x));
                }
            }
        }
    }
    for group in found {
        let Content::Blocks(tags) = &group.content else {
            continue;
        };
        for (i, tag) in tags.iter().enumerate() {
            let position = match tag.name {
                Name::Order(low) => Some(at(low)),
                Name::Early(id) => names.get(&(tag.hw_thread, id)).copied(),
            };
            let Some(position) = position else { continue };
            let tx = txs.entry(position).or_default();
            tx.blocks.push((tag.home, LineAddr(group.at.0 + i as u64)));
            if tag.count > 0 {
                tx.count = Some(tag.count);
            }
        }
    }
    txs
}

/// Which pairs count.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Those whose successor is committed.
    OfCommitted,
    /// All: a planted fault.
    All,
    /// Those of committed successors, read from the head to the tail: a planted fault.
    HeadFirst,
}

/// Position of the last committed transaction; `first - 1` if none is.
pub fn last_committed(txs: &BTreeMap<u64, Logged>, first: u64, count: Pairs) -> u64 {
    let all = count == Pairs::All;
    let mut marked: BTreeMap<u64, bool> = BTreeMap::new();
    let mut order: Vec<(&u64, &Logged)> = txs.iter().rev().collect();
    if count == Pairs::HeadFirst {
        order.reverse();
    }
    for (position, tx) in order {
        let ignored = planted!(
            "loc.pairs-ignored",
            "the blocks of a committed successor count for its predecessor"
        );
        let counts = |p: &&(u64, u32)| !ignored && (all || marked.get(&p.0) == Some(&true));
        let merged = tx.pairs.iter().filter(counts);
        let found = tx.blocks.len() as u32 + merged.map(|p| p.1).sum::<u32>();
        let complete = tx.count == Some(found);
        let believed = planted!(
            "loc.count-ignored",
            "a transaction is committed when its blocks equal its count"
        );
        marked.insert(*position, complete || believed);
    }
    let mut end = first;
    while marked.get(&end) == Some(&true) {
        end += 1;
    }
    let hole_skipped = planted!(
        "loc.hole-skipped",
        "nothing after the first uncommitted transaction is committed"
    );
    if hole_skipped {
        let last = marked.iter().filter(|m| *m.1).map(|m| *m.0).max();
        return last.unwrap_or(0).max(end - 1);
    }
    if all {
        return end - 1;
    }
    loop {
        let torn = txs
            .range(first..end)
            .find(|(_, tx)| tx.pairs.iter().any(|p| p.0 >= end));
        match torn {
            Some((position, _)) => end = *position,
            None => return end - 1,
        }
    }
}

/// Transactions of a window that a planted fault looks at.
const SHORT: u64 = 2;

/// Brings memory to the state after the last committed transaction and empties the log.
pub fn recover(memory: &mut Recovery<'_>, fault: LocFault, first_name: u32) {
    let image = memory.image();
    let (head, found) = (Head::read(image), groups(image));
    let Some(newest) = found.last().map(|g| g.sid) else {
        return;
    };
    let txs = transactions(&found, head.first, first_name);
    let count = match fault {
        LocFault::PairFirst => Pairs::All,
        LocFault::PairOrder => Pairs::HeadFirst,
        _ => Pairs::OfCommitted,
    };
    let mut last = last_committed(&txs, head.first, count);
    if fault == LocFault::WindowShort {
        last = last.min(head.first + SHORT - 1);
    }
    // Of a line that several transactions wrote, the newest.
    #[expect(
        clippy::range_plus_one,
        reason = "where none committed, `last` lies before the first, and such a range would panic"
    )]
    let committed = txs.range(head.first..last + 1).flat_map(|(_, tx)| &tx.blocks);
    let newest_first: Vec<(LineAddr, LineAddr)> = committed.copied().rev().collect();
    let mut seen = FxHashSet::default();
    let mut homes: Vec<(LineAddr, LineData)> = (newest_first.into_iter())
        .filter(|(home, _)| seen.insert(*home))
        .map(|(home, at)| (home, image.line(at)))
        .collect();
    homes.sort_unstable_by_key(|w| w.0);
    let emptied = Head {
        start: newest + 1,
        first: last + 1,
    };
    match fault {
        LocFault::LogEmptiedFirst => write_head(memory, &emptied),
        LocFault::CommittedEarly => {
            write_head(
                memory,
                &Head {
                    first: last + 1,
                    ..head
                },
            );
            memory.barrier();
        }
        _ => {}
    }
    for (home, data) in homes {
        memory.write(home, data);
    }
    if fault != LocFault::LogEmptiedFirst {
        memory.barrier();
        write_head(memory, &emptied);
    }
}
fn write_head(memory: &mut Recovery<'_>, head: &Head) {
    let words = head.pack();
    memory.write(LOG_BASE.line(), LineData { words, by: [None; 8] });
}

#[cfg(test)]
mod tests {
    use super::super::format::BlkTag;
    use super::*;

    fn tx(blocks: usize, count: u32, pairs: &[(u64, u32)]) -> Logged {
        Logged {
            blocks: vec![(LineAddr(0), LineAddr(0)); blocks],
            count: (count > 0).then_some(count),
            pairs: pairs.to_vec(),
        }
    }
    fn last(txs: &[Logged]) -> u64 {
        last_committed(&(1u64..).zip(txs.iter().cloned()).collect(), 1, Pairs::OfCommitted)
    }
    /// Two threads that wrote blocks before they committed, each under its own number 5.
    #[test]
    fn early_blocks_of_two_threads_under_one_number_are_told_apart() {
        let group = |sid, content| Found {
            sid,
            at: LineAddr(100 * sid),
            content,
        };
        let block = |thread| BlkTag {
            home: LineAddr(7),
            hw_thread: HwThread(thread),
            name: Name::Early(5),
            count: 1,
        };
        let name = |x, thread| Record::Early {
            x,
            hw_thread: HwThread(thread),
            early: 5,
        };
        let found = [
            group(1, Content::Blocks(vec![block(0)])),
            group(2, Content::Blocks(vec![block(3)])),
            group(3, Content::Records(vec![name(2, 0), name(1, 3)])),
        ];
        let txs = transactions(&found, 1, 0);
        let blocks = |position: u64| txs[&position].blocks.clone();
        assert_eq!(blocks(2), [(LineAddr(7), LineAddr(100))]);
        assert_eq!(blocks(1), [(LineAddr(7), LineAddr(200))]);
    }
    #[test]
    fn loc_sem1_committed_iff_the_logged_blocks_equal_a_txcnt() {
        assert_eq!(last(&[tx(3, 3, &[])]), 1);
        assert_eq!(last(&[tx(2, 3, &[])]), 0, "one block is missing");
        assert_eq!(last(&[tx(3, 0, &[])]), 0, "the block with the count is missing");
    }
    #[test]
    fn loc_sem2_with_overlap_the_successor_must_be_committed_and_the_counts_add_up() {
        assert_eq!(last(&[tx(2, 3, &[(2, 1)]), tx(1, 1, &[])]), 2);
        assert_eq!(last(&[tx(2, 3, &[(2, 1)]), tx(0, 1, &[])]), 0, "the successor is not");
        assert_eq!(last(&[tx(1, 3, &[(2, 1)]), tx(1, 1, &[])]), 0, "the counts do not");
        // A chain is followed from tail to head.
        assert_eq!(last(&[tx(0, 1, &[(2, 1)]), tx(0, 1, &[(3, 1)]), tx(1, 1, &[])]), 3);
    }
    #[test]
    fn loc_sem3_nothing_after_the_first_uncommitted_transaction() {
        assert_eq!(last(&[tx(1, 1, &[]), tx(0, 1, &[]), tx(1, 1, &[])]), 1);
        assert_eq!(last(&[tx(1, 1, &[]), Logged::default(), tx(1, 1, &[])]), 1);
        // The first's block lies in the third, which the second cuts off.
        assert_eq!(last(&[tx(0, 1, &[(3, 1)]), tx(0, 1, &[]), tx(1, 1, &[])]), 0);
    }
}
