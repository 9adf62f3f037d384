//! The closed window on its way into the log: which blocks and records are left to write.

use super::format::{DATA_BLOCKS, GROUP_RECORDS, MAX_TAG_COUNT, Name, Record};
use super::groups::Block;
use crate::loc::lines::Captured;
use crate::loc::tables::{Phase, Tables};
use crate::loc::txs::{Carrier, Key};
use fencepost_kernel::LineAddr;
use fencepost_kernel::decision;
use fencepost_machine::seam::Cx;
use std::collections::VecDeque;

/// A block of the closed window that has not been taken into the log.
#[derive(Copy, Clone, Debug)]
pub(super) struct Todo {
    key: Key,
    line: LineAddr,
    /// Carries the transaction's TxCnt.
    last: bool,
}

/// What is left of the closed window.
#[derive(Clone, Debug, Default)]
pub(super) struct Closing {
    /// Blocks.
    pub todo: VecDeque<Todo>,
    /// Whether the records have been put together.
    records_out: bool,
    /// Records that wait for a group: each list fills one.
    records: VecDeque<Vec<Record>>,
    /// Groups of records that are not durable.
    records_left: u32,
    /// A rule that was broken.
    pub broken: Option<String>,
}

impl Closing {
    /// The window as it is closed: every transaction has its TxCnt now, and what will carry it. With a commit record a record always does.
    pub(super) fn of(tables: &mut Tables, record: bool) -> Closing {
        let mut closing = Closing::default();
        for key in tables.window.clone() {
            let lines = tables.txs.tx(key).lines.clone();
            let own: Vec<LineAddr> = lines
                .into_iter()
                .filter(|l| tables.unlogged(key, *l).is_some())
                .collect();
            let tx = tables.txs.tx(key);
            let count = tx.blocks + own.len() as u32 + tx.merged();
            tx.count = Some(count);
            let written = tx.lines.len();
            if (count as usize) < written {
                closing.broken = Some(format!(
                    "a transaction that wrote {written} lines counts {count} blocks of its own and of successors"
                ));
            }
            if decision!("loc.commit-record", record || own.is_empty() || count > MAX_TAG_COUNT) {
                tx.carrier = Carrier::Record;
            }
            let tagged = tx.carrier == Carrier::Tag;
            let n = own.len();
            let todo = own.into_iter().enumerate().map(|(i, line)| Todo {
                key,
                line,
                last: tagged && i + 1 == n,
            });
            closing.todo.extend(todo);
        }
        closing
    }
    /// Whether anything waits for a place in the log.
    pub(super) fn has_more(&self, tables: &Tables) -> bool {
        let records = !self.records.is_empty() || (tables.phase == Phase::Logging && !self.records_out);
        records || !self.todo.is_empty()
    }
    /// Whether everything has been handed over and the records are durable.
    pub(super) fn all_durable(&self) -> bool {
        self.todo.is_empty() && self.records_out && self.records_left == 0
    }

    /// Fills a group up with blocks of the window.
    pub(super) fn add_blocks(&mut self, tables: &mut Tables, cx: &mut dyn Cx, group: &mut Vec<Block>) {
        while group.len() < DATA_BLOCKS {
            let Some(todo) = self.todo.pop_front() else { break };
            group.extend(take(tables, cx, todo));
        }
    }

    /// The next group of records; they are put together when they are `due`.
    pub(super) fn next_records(&mut self, tables: &Tables, due: bool, first_name: u32) -> Option<Vec<Record>> {
        if tables.phase == Phase::Logging && !self.records_out {
            if !due {
                return None;
            }
            self.records_out = true;
            let records = records(tables, first_name);
            self.records = records.chunks(GROUP_RECORDS).map(<[Record]>::to_vec).collect();
            self.records_left = self.records.len() as u32;
        }
        self.records.pop_front()
    }
    /// A group of records is durable; whether it was the last.
    pub(super) fn records_durable(&mut self) -> bool {
        self.records_left = self.records_left.saturating_sub(1);
        self.records_left == 0
    }
}

/// A block of the window, unless its version has been logged meanwhile.
fn take(tables: &mut Tables, cx: &mut dyn Cx, todo: Todo) -> Option<Block> {
    let Some(index) = tables.unlogged(todo.key, todo.line) else {
        if todo.last {
            tables.txs.tx(todo.key).carrier = Carrier::Record;
        }
        return None;
    };
    let data = tables.bytes(cx, todo.line, index);
    let taken = Captured {
        by: todo.key,
        at: None,
        data,
    };
    tables.captured(todo.line, index, taken);
    tables.unfreeze(cx, todo.line, index);
    let tx = tables.txs.tx(todo.key);
    Some(Block {
        key: todo.key,
        hw_thread: tx.hw_thread,
        name: Name::Early(0),
        home: todo.line,
        data,
        count: if todo.last { tx.count.unwrap_or(0) } else { 0 },
    })
}

/// Every record of the window.
fn records(tables: &Tables, first_name: u32) -> Vec<Record> {
    let low = |key: Key| match tables.txs.order(key).map(|o| Name::order(o, first_name)) {
        Some(Name::Order(low)) => low,
        _ => 0,
    };
    let mut records = Vec::new();
    for key in &tables.window {
        let Some(tx) = tables.txs.get(*key) else { continue };
        let x = low(*key);
        records.extend(tx.pairs.iter().map(|(y, n)| Record::Pair { x, y: low(*y), n: *n }));
        if tx.carrier == Carrier::Record {
            let n = tx.count.unwrap_or(0);
            records.push(Record::Count { x, n });
        }
        if let (true, Name::Early(early)) = (tx.early > 0, Name::early(tx.id.0, first_name)) {
            let hw_thread = tx.hw_thread;
            records.push(Record::Early { x, hw_thread, early });
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window is in the log once nothing of it waits for a place, its records have been put together, and all of those are durable.
    #[test]
    fn a_window_is_durable_when_nothing_of_it_is_left() {
        let block = Todo {
            key: 1,
            line: LineAddr(1),
            last: true,
        };
        for (waiting, put_together, left) in [(0, true, 0), (1, true, 0), (0, false, 0), (0, true, 1), (1, false, 2)] {
            let closing = Closing {
                todo: std::iter::repeat_n(block, waiting).collect(),
                records_out: put_together,
                records_left: left,
                ..Closing::default()
            };
            assert_eq!(closing.all_durable(), (waiting, put_together, left) == (0, true, 0));
        }
    }
}
