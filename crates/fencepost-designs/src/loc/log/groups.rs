//! Groups of the log: put together, handed to the controller, durable whole, and over when the durable head has passed them.

use super::format::{Area, BlkTag, Content, DATA_BLOCKS, Head, Name, Record, encode};
use crate::loc::txs::Key;
use fencepost_kernel::decision;
use fencepost_kernel::{HwThread, LineAddr, LineData, Ps, WriteCause, planted};
use fencepost_machine::seam::{Cx, Write, WriteId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// A block on its way into the log.
#[derive(Clone, Debug)]
pub struct Block {
    /// Transaction.
    pub key: Key,
    /// Its hardware thread.
    pub hw_thread: HwThread,
    /// How its tag names it.
    pub name: Name,
    /// Home line.
    pub home: LineAddr,
    /// Bytes.
    pub data: LineData,
    /// TxCnt, on the transaction's last block.
    pub count: u32,
}

/// What a durable group means.
#[derive(Clone, Debug)]
pub enum Meaning {
    /// A block of each of these transactions, and whether it carries the TxCnt.
    Blocks(Vec<(Key, bool)>),
    /// The records of these transactions.
    Records(Vec<Key>),
}

#[derive(Clone, Debug)]
struct Group {
    sid: u64,
    slot: u64,
    /// Lines not yet durable.
    open: u32,
    meaning: Meaning,
    node: Vec<(LineAddr, LineData)>,
}

/// What became durable.
#[derive(Clone, Debug)]
pub enum Written {
    /// A whole group.
    Group(Meaning),
    /// The head.
    Head,
    /// Part of something.
    Part,
}

/// The log of one machine.
#[derive(Clone, Debug)]
pub struct MemLog {
    area: Area,
    log_path: Ps,
    group_atomic: bool,
    next: u64,
    /// Slots never used so far; the rest of the area follows in turn.
    fresh: u64,
    /// Slots below the durable head, with the groups that they held, in the order in which they were used.
    free: VecDeque<(u64, u64)>,
    /// Groups that are over, with their slots: free once the durable head has passed them.
    over: VecDeque<(u64, u64)>,
    /// Lines of the newest group that the controller has not taken.
    handing: VecDeque<(LineAddr, LineData)>,
    /// Lines between here and the controller's queue.
    transit: FxHashSet<LineAddr>,
    groups: VecDeque<Group>,
    writes: FxHashMap<WriteId, u64>,
    /// Blocks of lines that left the caches, waiting for a group.
    pub waiting: VecDeque<Block>,
    head: Head,
    head_write: Option<(WriteId, u64)>,
    head_stale: bool,
    /// Where the durable head says that the log begins.
    durable_start: u64,
    /// A slot was written whose group the durable head still holds for valid.
    broken: Option<String>,
}

impl MemLog {
    /// An empty log in `area`, to which a block takes `log_path`.
    pub fn new(area: Area, log_path: Ps, group_atomic: bool) -> MemLog {
        MemLog {
            area,
            log_path,
            group_atomic,
            next: 1,
            fresh: 0,
            free: VecDeque::new(),
            over: VecDeque::new(),
            handing: VecDeque::new(),
            transit: FxHashSet::default(),
            groups: VecDeque::new(),
            writes: FxHashMap::default(),
            waiting: VecDeque::new(),
            head: Head { start: 1, first: 1 },
            head_write: None,
            head_stale: false,
            durable_start: 1,
            broken: None,
        }
    }
    /// A rule of the log that was broken.
    pub fn broken(&self) -> Option<&String> {
        self.broken.as_ref()
    }
    /// Groups that the area holds.
    pub fn capacity(&self) -> u64 {
        self.area.groups
    }
    /// Groups that may still be written before the head moves.
    pub fn space(&self) -> u64 {
        self.area.groups - self.fresh + self.free.len() as u64
    }
    /// Twice the area: everything in it is held by transactions that need more of it (section IV-B: the area "can be
    /// dynamically expanded").
    pub fn expand(&mut self) {
        self.area.groups *= 2;
    }
    /// Whether no group is on its way to memory, and the durable head is not behind.
    pub fn settled(&self) -> bool {
        self.handing.is_empty() && !self.groups.iter().any(|g| g.open > 0) && !self.head_behind()
    }
    /// Whether the next group can be put together.
    pub fn ready(&self) -> bool {
        self.handing.is_empty() && self.space() > 0
    }
    /// Whether this line of the log has not reached the controller's queue yet.
    pub fn holds(&self, line: LineAddr) -> bool {
        self.handing.iter().any(|h| h.0 == line) || self.transit.contains(&line)
    }
    /// A line of the log reached the controller's queue.
    pub fn arrived(&mut self, line: LineAddr) {
        self.transit.remove(&line);
    }
    /// Whether nothing is on its way, the head included.
    pub fn idle(&self) -> bool {
        let open = self.groups.iter().any(|g| g.open > 0);
        self.handing.is_empty() && self.waiting.is_empty() && !open && self.head_write.is_none() && !self.head_stale
    }

    /// Where it stands, for a stuck machine.
    pub fn explain(&self) -> String {
        let open = self.groups.iter().filter(|g| g.open > 0).count();
        format!(
            "; log: {} of {} groups free, {open} not durable, {} lines to hand over, {} blocks of evicted lines wait",
            self.space(),
            self.area.groups,
            self.handing.len(),
            self.waiting.len()
        )
    }

    /// Puts a group of blocks together; returns where each lies.
    pub fn put_blocks(&mut self, blocks: &[Block]) -> Vec<LineAddr> {
        assert!(blocks.len() <= DATA_BLOCKS);
        let tag = |b: &Block| BlkTag {
            home: b.home,
            hw_thread: b.hw_thread,
            name: b.name,
            count: b.count,
        };
        let content = Content::Blocks(blocks.iter().map(tag).collect());
        let data = blocks.iter().map(|b| b.data).collect();
        let meaning = Meaning::Blocks(blocks.iter().map(|b| (b.key, b.count > 0)).collect());
        let slot = self.put(&content, data, meaning);
        (0..blocks.len()).map(|i| self.area.line(slot, i)).collect()
    }
    /// Puts a group of records together.
    pub fn put_records(&mut self, records: Vec<Record>, of: Vec<Key>) {
        self.put(&Content::Records(records), Vec::new(), Meaning::Records(of));
    }
    /// Returns the slot.
    fn put(&mut self, content: &Content, mut data: Vec<LineData>, meaning: Meaning) -> u64 {
        debug_assert!(self.ready());
        let sid = self.next;
        self.next += 1;
        let slot = match self.fresh < self.area.groups {
            true => {
                self.fresh += 1;
                self.fresh - 1
            }
            false => {
                let (held, slot) = self.free.pop_front().expect("there is space");
                if decision!("loc.log-wraps-on-held", held >= self.durable_start) {
                    let start = self.durable_start;
                    let why = || format!("group {sid} overwrites group {held}, and the durable head begins at {start}");
                    self.broken.get_or_insert_with(why);
                }
                slot
            }
        };
        let plain = |words| LineData { words, by: [None; 8] };
        let (meta, more) = encode(sid, content);
        data.extend(more.into_iter().map(plain));
        let mut node: Vec<_> = data
            .into_iter()
            .enumerate()
            .map(|(i, d)| (self.area.line(slot, i), d))
            .collect();
        let meta = (self.area.line(slot, DATA_BLOCKS), plain(meta));
        // Eight separate writes would go out in any order: the metadata may well be first.
        match self.group_atomic {
            true => node.push(meta),
            false => node.insert(0, meta),
        }
        self.handing.extend(node.iter().copied());
        let open = node.len() as u32;
        self.groups.push_back(Group {
            sid,
            slot,
            open,
            meaning,
            node,
        });
        slot
    }

    /// Hands lines to the controller until it refuses or there are none; true if there are none.
    pub fn hand_over(&mut self, cx: &mut dyn Cx) -> bool {
        while let Some((line, data)) = self.handing.front() {
            let Some(group) = self.groups.back() else { break };
            let part = self.group_atomic && group.node.len() > 1;
            let cause = if part { WriteCause::LogPart } else { WriteCause::Log };
            let sid = group.sid;
            let Ok(id) = cx.write(write(*line, *data, cause, self.log_path)) else {
                return false;
            };
            self.writes.insert(id, sid);
            self.transit.insert(*line);
            self.handing.pop_front();
        }
        self.write_head(cx)
    }
    /// A write of cause `Log` or `LogPart` became durable.
    pub fn durable(&mut self, cx: &mut dyn Cx, id: WriteId) -> Written {
        if let Some((_, start)) = self.head_write.filter(|h| h.0 == id) {
            self.head_write = None;
            self.durable_start = start;
            let passed = self.over.partition_point(|g| g.0 < start);
            self.free.extend(self.over.drain(..passed));
            return Written::Head;
        }
        let sid = self.writes.remove(&id);
        let first = self.groups.front().map_or(0, |g| g.sid);
        let Some(group) = sid.and_then(|s| self.groups.get_mut((s - first) as usize)) else {
            return Written::Part;
        };
        group.open -= 1;
        if group.open > 0 {
            return Written::Part;
        }
        let node = std::mem::take(&mut group.node);
        if self.group_atomic && node.len() > 1 {
            cx.durable_together(&node);
        }
        Written::Group(group.meaning.clone())
    }

    /// Groups whose transactions are all over are no longer valid; the head will say so.
    pub fn reclaim(&mut self, first: u64, live: impl Fn(Key) -> bool) {
        let over = |g: &Group| {
            g.open == 0
                && match &g.meaning {
                    Meaning::Blocks(b) => !b.iter().any(|b| live(b.0)),
                    Meaning::Records(k) => !k.iter().any(|k| live(*k)),
                }
        };
        let n = self.groups.iter().take_while(|g| over(g)).count();
        let over = self.groups.drain(..n).map(|g| (g.sid, g.slot));
        let reused_early = planted!(
            "loc.slot-reused-early",
            "a log slot is used again only after the head that passed it is durable"
        );
        match reused_early {
            true => self.free.extend(over),
            false => self.over.extend(over),
        }
        let start = self.groups.front().map_or(self.next, |g| g.sid);
        if decision!("loc.log-head-moves", start > self.head.start) {
            self.head = Head { start, first };
            self.head_stale = true;
        }
    }
    /// Whether the durable head is behind.
    pub fn head_behind(&self) -> bool {
        self.head_stale || self.head_write.is_some()
    }
    fn write_head(&mut self, cx: &mut dyn Cx) -> bool {
        if !self.head_stale || self.head_write.is_some() {
            return true;
        }
        let data = LineData {
            words: self.head.pack(),
            by: [None; 8],
        };
        match cx.write(write(self.area.head(), data, WriteCause::Log, self.log_path)) {
            Ok(id) => {
                self.head_write = Some((id, self.head.start));
                self.head_stale = false;
                true
            }
            Err(_) => false,
        }
    }
}

fn write(line: LineAddr, data: LineData, cause: WriteCause, delay: Ps) -> Write {
    Write {
        line,
        data,
        queue: 0,
        epoch: None,
        cause,
        hw_thread: None,
        delay,
    }
}
