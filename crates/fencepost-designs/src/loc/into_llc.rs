//! Closing a window where the last-level cache keeps its contents: lines move down, the register passes the window.

use super::engine::{Loc, NV_WRITTEN, Store, Todo};
use super::lines::Moving;
use fencepost_kernel::LineAddr;
use fencepost_machine::seam::{CleanKind, Cx};

impl Loc {
    /// Moves the closing window's lines from the private levels down.
    pub(super) fn move_to_llc(&mut self, cx: &mut dyn Cx) {
        self.to_llc = 1; // Held until every line was asked for.
        for Todo { key, line, .. } in std::mem::take(&mut self.todo) {
            let Some(index) = self.unlogged(key, line) else {
                continue;
            };
            let l = self.lines.get_mut(&line).expect("the line has versions");
            if l.chain[index].frozen.is_none() && l.moving == Moving::No {
                l.moving = Moving::ToLlc;
                self.to_llc += 1;
                let hart = self.txs.tx(key).hart;
                cx.clean(hart, line, CleanKind::ToLlc, line.0);
            } else {
                self.capture_committed(cx, line);
            }
        }
        self.moved(cx);
    }
    /// A line of the closing window reached the last level (or was found there, or nowhere).
    pub(super) fn reached_llc(&mut self, cx: &mut dyn Cx, line: LineAddr) {
        self.set_moving(line, Moving::No);
        self.capture_committed(cx, line);
        self.moved(cx);
    }
    /// The version of a line that the closing window has to log becomes an entry of the cache.
    fn capture_committed(&mut self, cx: &mut dyn Cx, line: LineAddr) {
        let chain = self.lines.get(&line).map_or(&[][..], |l| &l.chain);
        let Some(index) = chain.iter().rposition(|v| v.order.is_some() && v.captured.is_none()) else {
            return;
        };
        let by = chain[index].last.expect("a committed version has an owner");
        let data = self.bytes(cx, line, index);
        self.capture(cx, line, index, by, data);
        self.unfreeze(cx, line, index);
    }
    fn moved(&mut self, cx: &mut dyn Cx) {
        self.to_llc -= 1;
        if self.to_llc == 0 {
            // The register follows the last of the lines.
            cx.timer(self.nv_busy.max(cx.now()) + self.cfg.nv_write, NV_WRITTEN);
        }
    }
    /// The last line is in the non-volatile cache: the register passes the window.
    pub(super) fn nv_written(&mut self, cx: &mut dyn Cx) {
        let Some(last) = self.window.last().and_then(|k| self.txs.order(*k)) else {
            return;
        };
        if let Store::Nv(nv) = &mut self.store {
            let txs = &self.txs;
            nv.commit(cx, |k| txs.order(k), last);
        }
        self.txs.last_committed = last;
        self.window_complete(cx);
    }
}
