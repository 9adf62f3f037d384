//! Closing a window: its newest versions and its records go to the log, LastCommittedTxID follows.

use super::config::LocFault;
use super::engine::{Loc, Phase, Store, Todo};
use super::format::{DATA_BLOCKS, GROUP_RECORDS, MAX_TAG_COUNT, Name, Record};
use super::memlog::{Block, Meaning};
use super::stats;
use super::txs::{Carrier, Key};
use fencepost_kernel::{LineAddr, LineData};
use fencepost_machine::seam::Cx;

impl Loc {
    /// Whether the window's transactions should go to the log now.
    fn close_wanted(&self) -> bool {
        let space = match &self.store {
            Store::Log(Some(log)) => {
                let window = self.window.iter().filter_map(|k| self.txs.get(*k));
                let blocks: usize = window.map(|t| t.lines.len()).sum();
                (blocks / DATA_BLOCKS + 2) as u64 * 2 >= log.capacity() || log.space() * 2 <= log.capacity()
            }
            _ => false,
        };
        self.window.len() >= self.cfg.degree as usize
            || self.flush_wanted
            || self.draining
            || self.pair_entries >= self.cfg.pairs
            || self.txs.in_use() >= self.cfg.entries as usize
            || space
    }
    /// Closes the window if it is full, or wanted durable, and shares no line with a running transaction.
    pub(super) fn maybe_close(&mut self, cx: &mut dyn Cx) {
        if self.phase == Phase::Open && !self.window.is_empty() && self.close_wanted() {
            self.phase = Phase::Gathering;
        }
        if self.phase == Phase::Gathering && self.shared.is_empty() {
            self.begin_logging(cx);
        }
    }
    fn begin_logging(&mut self, cx: &mut dyn Cx) {
        self.phase = Phase::Logging;
        self.flush_wanted = false;
        self.records_out = false;
        for key in self.window.clone() {
            let lines = self.txs.tx(key).lines.clone();
            let own: Vec<LineAddr> = lines.into_iter().filter(|l| self.unlogged(key, *l).is_some()).collect();
            let record = self.cfg.record;
            let tx = self.txs.tx(key);
            let count = tx.blocks + own.len() as u32 + tx.merged();
            tx.count = Some(count);
            if record || own.is_empty() || count > MAX_TAG_COUNT {
                tx.carrier = Carrier::Record;
            }
            let tagged = tx.carrier == Carrier::Tag;
            let n = own.len();
            let todo = own.into_iter().enumerate().map(|(i, line)| Todo {
                key,
                line,
                last: tagged && i + 1 == n,
            });
            self.todo.extend(todo);
        }
        match self.cfg.non_volatile {
            true => self.move_to_llc(cx),
            false => self.pump(cx),
        }
    }
    /// Index of the version of `line` that is `key`'s to log, if it is not logged.
    pub(super) fn unlogged(&self, key: Key, line: LineAddr) -> Option<usize> {
        let chain = &self.lines.get(&line)?.chain;
        chain.iter().rposition(|v| v.last == Some(key) && v.captured.is_none())
    }
    /// The bytes of a committed version that is not logged.
    pub(super) fn bytes(&self, cx: &dyn Cx, line: LineAddr, index: usize) -> LineData {
        let frozen = self.lines[&line].chain[index].frozen;
        let kept = frozen.and_then(|(level, meta)| cx.version(level, line, meta));
        kept.unwrap_or_else(|| cx.coherent(line))
    }
    /// A committed version was logged: its way, if it had one of its own, is free.
    pub(super) fn unfreeze(&mut self, cx: &mut dyn Cx, line: LineAddr, index: usize) {
        let frozen = self.lines.get_mut(&line).and_then(|l| l.chain[index].frozen.take());
        if let Some((level, meta)) = frozen {
            cx.drop_version(level, line, meta);
        }
    }

    // ---- the memory log

    /// Goes on: groups are put together and handed over, the register follows, a full log grows if it must.
    pub(super) fn pump(&mut self, cx: &mut dyn Cx) {
        self.fill_log(cx);
        self.advance(cx);
        self.grow_log(cx);
    }
    /// Puts groups together and hands them over, as far as the log and the controller have room.
    fn fill_log(&mut self, cx: &mut dyn Cx) {
        loop {
            let Some(log) = self.log(cx) else { return };
            if !log.hand_over(cx) || !log.ready() {
                if log.space() == 0 && self.has_more() {
                    self.checkpoint_if_needed(cx);
                }
                return;
            }
            let first_records = self.cfg.fault == LocFault::PairFirst;
            if (first_records && self.put_records(cx)) || self.put_blocks(cx) || self.put_records(cx) {
                cx.count(stats::GROUPS, 1);
            } else {
                return;
            }
        }
    }
    /// Whether something waits for a place in the log.
    fn has_more(&self) -> bool {
        let waiting = match &self.store {
            Store::Log(Some(log)) => log.waiting.len(),
            _ => return false,
        };
        let records = !self.records.is_empty() || (self.phase == Phase::Logging && !self.records_out);
        records || !self.todo.is_empty() || waiting >= self.group_worth_writing()
    }
    /// Blocks of evicted lines that are written as one group: as many as fit, any at all while a window closes.
    fn group_worth_writing(&self) -> usize {
        match self.phase == Phase::Logging || self.draining {
            true => 1,
            false => DATA_BLOCKS.min(self.cfg.buffer as usize),
        }
    }
    /// Enlarges a full log of which nothing will become free: running transactions hold it and need more.
    fn grow_log(&mut self, cx: &mut dyn Cx) {
        let (more, at_home) = (self.has_more(), self.checkpoint.idle());
        let Some(log) = self.log(cx) else { return };
        if more && at_home && log.settled() && log.space() == 0 {
            log.expand();
            cx.count(stats::EXPANSIONS, 1);
            self.pump(cx);
        }
    }
    /// Puts one group of blocks together, if there is reason to: evicted lines first, then the closing window's.
    fn put_blocks(&mut self, cx: &mut dyn Cx) -> bool {
        let (enough, closing) = (self.group_worth_writing(), !self.todo.is_empty());
        let Some(log) = self.log(cx) else { return false };
        if !closing && log.waiting.len() < enough {
            return false;
        }
        let n = log.waiting.len().min(DATA_BLOCKS);
        let mut blocks: Vec<Block> = log.waiting.drain(..n).collect();
        let waited = blocks.len();
        while blocks.len() < DATA_BLOCKS {
            let Some(todo) = self.todo.pop_front() else { break };
            blocks.extend(self.take_block(cx, todo));
        }
        if blocks.is_empty() {
            return false;
        }
        for b in &mut blocks {
            let tx = self.txs.tx(b.key);
            b.name = match tx.order {
                Some(order) => Name::order(order),
                None => Name::early(tx.id.0),
            };
            tx.early += u32::from(tx.order.is_none());
        }
        cx.count(stats::BLOCKS, blocks.len() as u64);
        let Some(log) = self.log(cx) else { return false };
        let at = log.put_blocks(&blocks);
        for (b, at) in blocks.iter().zip(at) {
            self.lies_at(b, at);
        }
        if waited > 0 {
            cx.kick(None); // Lines that could not leave for want of buffer space.
        }
        true
    }
    /// A block of the closing window, unless its version has been logged meanwhile.
    fn take_block(&mut self, cx: &mut dyn Cx, todo: Todo) -> Option<Block> {
        let Some(index) = self.unlogged(todo.key, todo.line) else {
            if todo.last {
                self.txs.tx(todo.key).carrier = Carrier::Record;
            }
            return None;
        };
        let data = self.bytes(cx, todo.line, index);
        let tx = self.txs.tx(todo.key);
        tx.blocks += 1;
        let (hart, count) = (tx.hart, if todo.last { tx.count.unwrap_or(0) } else { 0 });
        let captured = super::lines::Captured {
            by: todo.key,
            at: None,
            data,
        };
        if let Some(l) = self.lines.get_mut(&todo.line) {
            l.chain[index].captured = Some(captured);
        }
        self.unfreeze(cx, todo.line, index);
        Some(Block {
            key: todo.key,
            hart,
            name: Name::Early(0),
            home: todo.line,
            data,
            count,
        })
    }
    /// The block of a version has its place in the log.
    fn lies_at(&mut self, block: &Block, at: LineAddr) {
        let Some(l) = self.lines.get_mut(&block.home) else {
            return;
        };
        let captured = l.chain.iter_mut().filter_map(|v| v.captured.as_mut());
        let waits = captured.filter(|c| c.by == block.key && c.at.is_none());
        waits.for_each(|c| c.at = Some(at));
    }
    /// Puts the closing window's records together, once they are due: after all blocks are on their way, and for a
    /// commit record after they are durable.
    fn put_records(&mut self, cx: &mut dyn Cx) -> bool {
        if self.phase != Phase::Logging || self.records_out {
            return self.next_records(cx);
        }
        let early = self.cfg.fault == LocFault::PairFirst;
        let blocks_out = self.todo.is_empty() && self.log(cx).is_some_and(|l| l.waiting.is_empty());
        let blocks_durable = self
            .window
            .iter()
            .all(|k| self.txs.get(*k).is_some_and(|t| t.durable == t.blocks));
        if !early && (!blocks_out || (self.cfg.record && !blocks_durable)) {
            return false;
        }
        self.records_out = true;
        let records = self.records();
        self.records = records.chunks(GROUP_RECORDS).map(<[Record]>::to_vec).collect();
        self.records_left = self.records.len() as u32;
        self.next_records(cx)
    }
    fn next_records(&mut self, cx: &mut dyn Cx) -> bool {
        let Some(chunk) = self.records.pop_front() else {
            return false;
        };
        let of = self.window.clone();
        let Some(log) = self.log(cx) else { return false };
        log.put_records(chunk, of);
        true
    }
    /// Every record of the window.
    fn records(&self) -> Vec<Record> {
        let low = |key: Key| match self.txs.order(key).map(Name::order) {
            Some(Name::Order(low)) => low,
            _ => 0,
        };
        let mut records = Vec::new();
        for key in &self.window {
            let Some(tx) = self.txs.get(*key) else { continue };
            let x = low(*key);
            records.extend(tx.pairs.iter().map(|(y, n)| Record::Pair { x, y: low(*y), n: *n }));
            if tx.carrier == Carrier::Record {
                let n = tx.count.unwrap_or(0);
                records.push(Record::Count { x, n });
            }
            if let (true, Name::Early(early)) = (tx.early > 0, Name::early(tx.id.0)) {
                let hart = tx.hart;
                records.push(Record::Early { x, hart, early });
            }
        }
        records
    }
    /// A group is durable.
    pub(super) fn group_durable(&mut self, cx: &mut dyn Cx, meaning: &Meaning) {
        match meaning {
            Meaning::Blocks(blocks) => {
                for (key, carries) in blocks {
                    let Some(tx) = self.txs.get_mut(*key) else { continue };
                    tx.durable += 1;
                    tx.count_durable |= carries;
                }
            }
            Meaning::Records(_) if self.records_left > 1 => self.records_left -= 1,
            Meaning::Records(keys) => {
                self.records_left = 0;
                for key in keys {
                    let Some(tx) = self.txs.get_mut(*key) else { continue };
                    tx.records_durable = true;
                    tx.count_durable |= tx.carrier == Carrier::Record;
                }
            }
        }
        self.fill_log(cx);
        self.advance(cx);
        self.reclaim(cx);
    }

    // ---- LastCommittedTxID

    fn advance(&mut self, cx: &mut dyn Cx) {
        if self.phase != Phase::Logging {
            return;
        }
        let believe = self.cfg.fault == LocFault::PairFirst;
        let n = self.txs.committed_prefix(&self.window, believe);
        let order = n.checked_sub(1).and_then(|i| self.txs.order(self.window[i]));
        if order.is_some_and(|o| o > self.txs.last_committed) {
            self.txs.last_committed = order.unwrap_or_default();
            cx.kick(None);
        }
        let all_out = self.todo.is_empty() && self.records_out && self.records_left == 0;
        let all_durable = self
            .window
            .iter()
            .all(|k| self.txs.get(*k).is_some_and(|t| t.durable == t.blocks));
        if n == self.window.len() && all_out && all_durable {
            self.window_complete(cx);
        }
    }
    pub(super) fn window_complete(&mut self, cx: &mut dyn Cx) {
        cx.count(stats::WINDOWS, 1);
        self.pair_entries = 0;
        let window = std::mem::take(&mut self.window);
        let mut lines: Vec<LineAddr> = Vec::new();
        for key in &window {
            lines.extend(&self.txs.tx(*key).lines);
        }
        lines.sort_unstable();
        lines.dedup();
        for line in &lines {
            self.prune(cx, *line);
        }
        self.phase = if self.strict() { Phase::InPlace } else { Phase::Open };
        self.window_logged(cx, window, lines.clone());
        lines.into_iter().for_each(|line| self.pending_again(cx, line));
        cx.kick(None);
        self.maybe_close(cx);
    }
    /// Forgets the versions of a line below the newest that is committed and logged.
    fn prune(&mut self, cx: &mut dyn Cx, line: LineAddr) {
        let last = self.txs.last_committed;
        let Some(l) = self.lines.get_mut(&line) else { return };
        let Some(newest) = l.logged(last) else { return };
        for v in l.chain.drain(..newest).collect::<Vec<_>>() {
            if let Some((level, meta)) = v.frozen {
                cx.drop_version(level, line, meta);
            }
            self.discard(cx, &v);
        }
    }
    /// A version's entry in the non-volatile cache is over.
    pub(super) fn discard(&mut self, cx: &mut dyn Cx, v: &super::lines::Version) {
        if let (Store::Nv(nv), Some(at)) = (&mut self.store, v.captured.as_ref().and_then(|c| c.at)) {
            nv.clear(cx, at);
        }
    }
}
