//! A log in memory.
//!
//! *Writes*: block groups, each of up to seven data blocks and a metadata block that tags them ([`mod@format`]); blocks of lines that the last
//! level evicts wait for a group of their own, those of a closed window follow (`closing`), then its records.
//! *Durable*: a transaction is committed when as many of its blocks are durable as its TxCnt says, those that a committed successor
//! overwrote included; with a commit record, when that is durable, which is written after all blocks are.
//! *Recovery* counts in the same way ([`recover`]). The log's head, a line of its own, says which groups are over: those whose transactions'
//! lines are all home ([`groups`]).

mod closing;
pub mod format;
pub mod groups;
pub mod recover;

use super::config::{InPlace, LocFault, LogParams, PAIR_BYTES};
use super::cost::item;
use super::lines::Captured;
use super::stats;
use super::store::{Durable, Progress, Store};
use super::tables::{Phase, Tables};
use super::txs::{Carrier, Key};
use crate::info::CostItem;
use closing::Closing;
use fencepost_kernel::decision;
use fencepost_kernel::params::ParamError;
use fencepost_kernel::{LineAddr, LineData, planted};
use fencepost_machine::seam::{Cx, Recovery, WriteId};
use format::{Area, DATA_BLOCKS, GROUP_LINES, Name};
use groups::{Block, Meaning, MemLog, Written};

/// Bytes of the log area of the paper's machine.
const LOG_BYTES: u64 = 32 << 20;

/// What makes a transaction committed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    /// A record that is written when all of its blocks are durable.
    ByRecord,
    /// As many of its blocks are durable as one of them says.
    ByCount,
}

/// The log as a store.
#[derive(Clone, Debug)]
pub struct LogStore {
    params: LogParams,
    committed: Committed,
    /// A planted fault: pairs are written first, and count although the successor is not committed.
    pairs_first: bool,
    fault: LocFault,
    /// The area is known with the first call.
    log: Option<MemLog>,
    closing: Closing,
}

impl LogStore {
    /// A log that is empty.
    ///
    /// # Errors
    /// A size that cannot work.
    pub fn new(params: &LogParams, committed: Committed, fault: LocFault) -> Result<LogStore, ParamError> {
        params.check()?;
        let mut params = params.clone();
        let atomic = !planted!(
            "loc.group-not-atomic",
            "a block group is one atomic write where transactions are committed by count"
        );
        params.group_atomic &= atomic;
        Ok(LogStore {
            params,
            committed,
            pairs_first: fault == LocFault::PairFirst,
            fault,
            log: None,
            closing: Closing::default(),
        })
    }
    fn log(&mut self, cx: &dyn Cx) -> &mut MemLog {
        let params = &self.params;
        self.log.get_or_insert_with(|| {
            let (base, len) = cx.log_area();
            MemLog::new(Area::new(base, len), params.log_path, params.group_atomic)
        })
    }
    /// Whether something waits for a place in the log.
    fn has_more(&self, tables: &Tables) -> bool {
        let Some(log) = &self.log else { return false };
        self.closing.has_more(tables) || log.waiting.len() >= self.group_worth_writing(tables)
    }
    /// Blocks of evicted lines that are written as one group: as many as fit, any at all while a window closes.
    fn group_worth_writing(&self, tables: &Tables) -> usize {
        match tables.phase == Phase::Logging || tables.draining {
            true => 1,
            false => DATA_BLOCKS.min(self.params.log_buffer as usize),
        }
    }
    /// Puts one group of blocks together, if there is reason to: evicted lines first, then the closing window's.
    fn put_blocks(&mut self, tables: &mut Tables, cx: &mut dyn Cx) -> bool {
        let enough = self.group_worth_writing(tables);
        let waiting = &mut self.log(cx).waiting;
        let n = waiting.len().min(DATA_BLOCKS);
        if decision!("loc.group-waits-for-more", n < enough && self.closing.todo.is_empty()) {
            return false;
        }
        let mut blocks: Vec<Block> = self.log(cx).waiting.drain(..n).collect();
        self.closing.add_blocks(tables, cx, &mut blocks);
        if blocks.is_empty() {
            return false;
        }
        let first = self.params.first_name;
        for b in &mut blocks {
            let tx = tables.txs.tx(b.key);
            b.name = match tx.order {
                Some(order) => Name::order(order, first),
                None => Name::early(tx.id.0, first),
            };
            tx.early += u32::from(tx.order.is_none());
        }
        cx.count(stats::BLOCKS, blocks.len() as u64);
        let at = self.log(cx).put_blocks(&blocks);
        blocks.iter().zip(at).for_each(|(b, at)| lies_at(tables, b, at));
        if n > 0 {
            cx.kick(None); // Lines that could not leave for want of buffer space.
        }
        true
    }
    /// Puts the next group of the closing window's records together, once they are due: after all blocks are on their way, and
    /// for a commit record after they are durable.
    fn put_records(&mut self, tables: &Tables, cx: &mut dyn Cx) -> bool {
        let blocks_out = self.closing.todo.is_empty() && self.log(cx).waiting.is_empty();
        let due = blocks_out && (self.committed == Committed::ByCount || tables.window_durable());
        let Some(records) = self
            .closing
            .next_records(tables, due || self.pairs_first, self.params.first_name)
        else {
            return false;
        };
        let of = tables.window.clone();
        self.log(cx).put_records(records, of);
        true
    }
}

/// The block of a version has its place in the log.
fn lies_at(tables: &mut Tables, block: &Block, at: LineAddr) {
    let Some(l) = tables.lines.get_mut(&block.home) else {
        return;
    };
    let captured = l.chain.iter_mut().filter_map(|v| v.captured.as_mut());
    let waits = captured.filter(|c| c.by == block.key && c.at.is_none());
    waits.for_each(|c| c.at = Some(at));
}

impl Store for LogStore {
    const UNTIL_HOME: bool = true;

    fn strict(&self) -> bool {
        self.params.in_place != InPlace::Lazy
    }
    fn overlaps(&self) -> bool {
        self.params.in_place == InPlace::Overlap
    }
    fn take(&mut self, tables: &Tables, cx: &mut dyn Cx, line: LineAddr, by: Key, data: &LineData) -> Option<LineAddr> {
        let hw_thread = tables.txs.get(by).expect("the transaction is live").hw_thread;
        self.log(cx).waiting.push_back(Block {
            key: by,
            hw_thread,
            name: Name::Early(0),
            home: line,
            data: *data,
            count: 0,
        });
        None
    }
    /// A block that still waits for a group can be taken back.
    fn take_back(&mut self, cx: &mut dyn Cx, line: LineAddr, taken: &Captured) -> bool {
        let (Some(log), None) = (&mut self.log, taken.at) else {
            return false;
        };
        log.waiting.retain(|b| (b.key, b.home) != (taken.by, line));
        cx.kick(None); // Lines that could not leave for want of buffer space.
        true
    }
    fn forget(&mut self, cx: &mut dyn Cx, key: Key) {
        self.log(cx).waiting.retain(|b| b.key != key);
    }
    fn refuses(&self) -> bool {
        let waiting = self.log.as_ref().map_or(0, |log| log.waiting.len());
        waiting >= self.params.log_buffer as usize
    }
    fn supplies(&self, taken: &Captured) -> bool {
        match (&self.log, taken.at) {
            (_, None) => true,
            (Some(log), Some(at)) => log.holds(at),
            (None, Some(_)) => false,
        }
    }

    fn close(&mut self, tables: &mut Tables, _: &mut dyn Cx) {
        let broken = self.closing.broken.take();
        self.closing = Closing::of(tables, self.committed == Committed::ByRecord);
        self.closing.broken = broken.or(self.closing.broken.take());
    }
    /// Puts groups together and hands them over, as far as the log and the controller have space.
    fn hand_over(&mut self, tables: &mut Tables, cx: &mut dyn Cx) -> bool {
        loop {
            let log = self.log(cx);
            if !log.hand_over(cx) || !log.ready() {
                return log.space() == 0 && self.has_more(tables);
            }
            let first_records = self.pairs_first && self.put_records(tables, cx);
            if first_records || self.put_blocks(tables, cx) || self.put_records(tables, cx) {
                cx.count(stats::GROUPS, 1);
            } else {
                return false;
            }
        }
    }
    fn progress(&self, tables: &Tables) -> Progress {
        let committed = tables.txs.committed_prefix(&tables.window, self.pairs_first);
        let complete = committed == tables.window.len() && self.closing.all_durable() && tables.window_durable();
        Progress { committed, complete }
    }

    /// The window's blocks fill half of the log, or half of the log is full.
    fn wants_close(&self, tables: &Tables) -> bool {
        self.log.as_ref().is_some_and(|log| {
            let groups = (tables.window_blocks() / DATA_BLOCKS + 2) as u64;
            groups * 2 >= log.capacity() || log.space() * 2 <= log.capacity()
        })
    }
    /// A quarter of the log is full.
    fn wants_checkpoint(&self) -> bool {
        let quarter_full = |log: &MemLog| log.space() * 4 <= log.capacity() * 3;
        self.log.as_ref().is_some_and(quarter_full)
    }
    /// Running transactions hold all of it and need more.
    fn grow(&mut self, tables: &Tables, cx: &mut dyn Cx) -> bool {
        let more = self.has_more(tables);
        let log = self.log(cx);
        if !more || !log.settled() || log.space() > 0 {
            return false;
        }
        log.expand();
        cx.count(stats::EXPANSIONS, 1);
        true
    }
    /// The log's head moves past groups whose transactions are over.
    fn reclaim(&mut self, tables: &Tables, cx: &mut dyn Cx) {
        let txs = &tables.txs;
        self.log(cx).reclaim(txs.first_live(), |k| txs.get(k).is_some());
    }
    fn truncated(&self) -> bool {
        self.log.as_ref().is_none_or(|log| !log.head_behind())
    }

    fn accepted(&mut self, line: LineAddr) {
        if let Some(log) = &mut self.log {
            log.arrived(line);
        }
    }
    fn durable(&mut self, tables: &mut Tables, cx: &mut dyn Cx, id: WriteId) -> Durable {
        let meaning = match self.log(cx).durable(cx, id) {
            Written::Head => return Durable::Head,
            Written::Part => return Durable::Part,
            Written::Group(meaning) => meaning,
        };
        match meaning {
            Meaning::Blocks(blocks) => {
                for (key, carries) in blocks {
                    let Some(tx) = tables.txs.get_mut(key) else { continue };
                    tx.durable += 1;
                    tx.count_durable |= carries;
                }
            }
            Meaning::Records(keys) => {
                if !self.closing.records_durable() {
                    return Durable::Content;
                }
                for key in keys {
                    let Some(tx) = tables.txs.get_mut(key) else { continue };
                    tx.records_durable = true;
                    tx.count_durable |= tx.carrier == Carrier::Record;
                }
            }
        }
        Durable::Content
    }

    fn idle(&self) -> bool {
        self.log.as_ref().is_none_or(MemLog::idle)
    }
    fn recover(&self, memory: &mut Recovery<'_>) {
        recover::recover(memory, self.fault, self.params.first_name);
    }
    fn cost(&self, degree: u32, pairs: u32) -> Vec<CostItem> {
        let mut items = Vec::new();
        if degree > 1 {
            let bits = u64::from(pairs) * PAIR_BYTES * 8;
            let note = format!("{pairs} dependency pairs of {PAIR_BYTES} bytes");
            items.push(item("volatile buffer for dependency pairs", bits, Some(bits), note));
        }
        let note = format!(
            "in persistent memory, not on the chip; {:.1} % of it is metadata, one block of {GROUP_LINES}",
            format::metadata_share() * 100.0
        );
        items.push(item("memory log area", LOG_BYTES * 8, Some((32 << 20) * 8), note));
        items
    }
    fn broken_rule(&self) -> Option<String> {
        let of_log = self.log.as_ref().and_then(MemLog::broken);
        of_log.or(self.closing.broken.as_ref()).cloned()
    }
    fn explain(&self) -> String {
        let log = self.log.as_ref().map_or(String::new(), MemLog::explain);
        format!("; {} blocks to log{log}", self.closing.todo.len())
    }
}
