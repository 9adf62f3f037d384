//! A non-volatile last-level cache.
//!
//! *Writes*: a closed window's lines move down from the private levels, one after the other into the array; lines that the last level would evict
//! stay there. *Durable*: when the last line of the window is in the array, a register passes the window. *Recovery* reads the array's content as
//! [`image`] shows it: what is not newer than the register goes home, the rest is discarded.

pub mod image;

use super::config::{LocFault, NvParams};
use super::lines::{Captured, Moving};
use super::stats;
use super::store::{Progress, Store};
use super::tables::Tables;
use super::txs::Key;
use fencepost_kernel::{LineAddr, LineData, Ps};
use fencepost_machine::seam::{CleanKind, Cx, Recovery};
use image::Array;

/// Tag of the timer of the register's write.
const REGISTER_WRITTEN: u64 = 1;

/// What of the closed window is left.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Left {
    /// So many lines on their way, and the register.
    Lines(u32),
    /// Nothing.
    Nothing,
}

/// The cache as a store.
#[derive(Clone, Debug)]
pub struct NvCache {
    /// Time of one write of the array.
    write: Ps,
    array: Array,
    left: Left,
    /// Until when the array writes the lines it was given, one after the other.
    busy: Ps,
    fault: LocFault,
}

impl NvCache {
    /// A cache that holds nothing of transactions.
    pub fn new(params: &NvParams, fault: LocFault) -> NvCache {
        NvCache {
            write: params.nv_write,
            array: Array::default(),
            left: Left::Nothing,
            busy: Ps::ZERO,
            fault,
        }
    }
    /// The committed version of a line that the array does not have becomes an entry of it.
    fn take_committed(&mut self, tables: &mut Tables, cx: &mut dyn Cx, line: LineAddr) {
        let versions = tables.versions(line);
        let Some(index) = versions.iter().rposition(|v| v.order.is_some() && v.captured.is_none()) else {
            return;
        };
        let by = versions[index].last.expect("a committed version has an owner");
        let data = tables.bytes(cx, line, index);
        let at = self.take(tables, cx, line, by, &data);
        tables.captured(line, index, Captured { by, at, data });
        tables.unfreeze(cx, line, index);
    }
    /// A line of the closed window is down. The register follows the last of them.
    fn arrived(&mut self, cx: &mut dyn Cx) {
        let Left::Lines(n) = &mut self.left else { return };
        *n -= 1;
        if *n == 0 {
            cx.timer(self.busy.max(cx.now()) + self.write, REGISTER_WRITTEN);
        }
    }
}

impl Store for NvCache {
    const UNTIL_HOME: bool = false;

    fn take(&mut self, tables: &Tables, cx: &mut dyn Cx, line: LineAddr, by: Key, data: &LineData) -> Option<LineAddr> {
        cx.count(stats::BLOCKS, 1);
        self.busy = self.busy.max(cx.now()) + self.write;
        Some(self.array.put(cx, line, by, tables.txs.order(by), data))
    }
    fn take_back(&mut self, cx: &mut dyn Cx, _: LineAddr, taken: &Captured) -> bool {
        self.discard(cx, taken);
        true
    }
    fn discard(&mut self, cx: &mut dyn Cx, taken: &Captured) {
        if let Some(at) = taken.at {
            self.array.clear(cx, at);
        }
    }
    fn close(&mut self, tables: &mut Tables, cx: &mut dyn Cx) {
        let mut wanted = Vec::new();
        for key in &tables.window {
            let Some(tx) = tables.txs.get(*key) else { continue };
            let own = tx.lines.iter().filter(|l| tables.unlogged(*key, **l).is_some());
            wanted.extend(own.map(|l| (*key, tx.hw_thread, *l)));
        }
        let mut lines = 1; // Held until every line was asked for.
        for (key, hw_thread, line) in wanted {
            let Some(index) = tables.unlogged(key, line) else {
                continue;
            };
            let l = tables.lines.get_mut(&line).expect("the line has versions");
            if l.chain[index].frozen.is_none() && l.moving == Moving::No {
                l.moving = Moving::ToLlc;
                lines += 1;
                cx.clean(hw_thread, line, CleanKind::ToLlc, line.0);
            } else {
                self.take_committed(tables, cx, line);
            }
        }
        self.left = Left::Lines(lines);
        self.arrived(cx);
    }
    fn moved(&mut self, tables: &mut Tables, cx: &mut dyn Cx, line: LineAddr) {
        self.take_committed(tables, cx, line);
        self.arrived(cx);
    }
    /// The register is written: it passes the window.
    fn timer(&mut self, tables: &Tables, cx: &mut dyn Cx) {
        let Some(last) = tables.window.last().and_then(|k| tables.txs.order(*k)) else {
            return;
        };
        self.array.commit(cx, |k| tables.txs.order(k), last);
        self.left = Left::Nothing;
    }
    fn progress(&self, tables: &Tables) -> Progress {
        match self.left {
            Left::Lines(_) => Progress::default(),
            Left::Nothing => Progress {
                committed: tables.window.len(),
                complete: true,
            },
        }
    }
    fn recover(&self, memory: &mut Recovery<'_>) {
        image::recover(memory, self.fault);
    }
}
