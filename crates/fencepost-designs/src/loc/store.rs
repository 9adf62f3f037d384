//! Where versions of lines survive a power failure: what the engine asks of a log in memory and of a non-volatile last-level cache.
//!
//! The engine says which versions are to survive and in which windows; the store says what it writes for them, in which order, how
//! far the window is committed and durable, and what recovery makes of a memory image. A store changes the tables that it is given; it
//! never calls the engine.

use super::lines::Captured;
use super::tables::Tables;
use super::txs::Key;
use crate::info::CostItem;
use fencepost_kernel::{LineAddr, LineData};
use fencepost_machine::seam::{Cx, Recovery, WriteId};
use std::fmt::Debug;

/// How far the closing window is.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// Its first transactions that recovery would find committed: so many.
    pub committed: usize,
    /// All of it is durable, and the store owes nothing more.
    pub complete: bool,
}

/// What of the store's became durable.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Durable {
    /// Blocks or records of transactions.
    Content,
    /// What says where the store's content begins.
    Head,
    /// Part of something.
    Part,
}

/// A place where versions survive. What has a default is what only one of the two needs.
#[allow(unused_variables)]
pub(super) trait Store: Debug {
    /// Whether transactions stay in their table until their lines are home, because recovery needs what the store has of them until
    /// then, so that somebody must write the lines home. Otherwise the lines go home when the cache evicts them.
    const UNTIL_HOME: bool;
    /// When lines must be home before the next window is made durable.
    fn strict(&self) -> bool {
        false
    }
    /// Whether the next transactions execute meanwhile.
    fn overlaps(&self) -> bool {
        false
    }

    // ---- one version

    /// Takes a version in, as a block of the transaction `by`. Where its bytes lie, if that is known yet.
    fn take(&mut self, tables: &Tables, cx: &mut dyn Cx, line: LineAddr, by: Key, data: &LineData) -> Option<LineAddr>;
    /// A version is written again after it was taken. Whether its block is undone; otherwise it stays, and counts.
    fn take_back(&mut self, cx: &mut dyn Cx, line: LineAddr, taken: &Captured) -> bool;
    /// A version is not needed any more: home or its successor is durable, or it was aborted.
    fn discard(&mut self, cx: &mut dyn Cx, taken: &Captured) {}
    /// A transaction was aborted: what waits of it is dropped.
    fn forget(&mut self, cx: &mut dyn Cx, key: Key) {}
    /// Whether no more versions of lines that the caches evict can be taken in now.
    fn refuses(&self) -> bool {
        false
    }
    /// Whether the store itself answers reads of a version, because memory does not have it yet.
    fn supplies(&self, taken: &Captured) -> bool {
        false
    }

    // ---- a window of committed transactions

    /// The window is closed: its newest versions, as far as they are not taken, are to become durable.
    fn close(&mut self, tables: &mut Tables, cx: &mut dyn Cx);
    /// Hands over to memory what can be. True if nothing more fits in before older windows are home.
    fn hand_over(&mut self, tables: &mut Tables, cx: &mut dyn Cx) -> bool {
        false
    }
    /// How far the closed window is.
    fn progress(&self, tables: &Tables) -> Progress;

    // ---- space

    /// Whether the window should be closed for want of space.
    fn wants_close(&self, tables: &Tables) -> bool {
        false
    }
    /// Whether windows should be written home for want of space.
    fn wants_checkpoint(&self) -> bool {
        false
    }
    /// Becomes larger if it must, when no window is on its way home and nothing more will become free; whether it did.
    fn grow(&mut self, tables: &Tables, cx: &mut dyn Cx) -> bool {
        false
    }
    /// Frees what only transactions held that have left the table.
    fn reclaim(&mut self, tables: &Tables, cx: &mut dyn Cx) {}
    /// Whether what was freed is known to be free by what is durable.
    fn truncated(&self) -> bool {
        true
    }

    // ---- what the machine tells

    /// The clean that [`Store::close`] asked for a line is done.
    fn moved(&mut self, tables: &mut Tables, cx: &mut dyn Cx, line: LineAddr) {}
    /// The timer that the store asked for.
    fn timer(&mut self, tables: &Tables, cx: &mut dyn Cx) {}
    /// A write of the store's has reached the controller.
    fn accepted(&mut self, line: LineAddr) {}
    /// A write of the store's is durable.
    fn durable(&mut self, tables: &mut Tables, cx: &mut dyn Cx, id: WriteId) -> Durable {
        Durable::Part
    }

    // ---- the rest of a design

    /// Whether nothing of the store's is on its way to memory.
    fn idle(&self) -> bool {
        true
    }
    /// What the hardware does to memory after a power failure.
    fn recover(&self, memory: &mut Recovery<'_>);
    /// The storage that it adds, with windows of `degree` transactions.
    fn cost(&self, degree: u32, pairs: u32) -> Vec<CostItem> {
        Vec::new()
    }
    /// A rule of the store that was broken.
    fn broken_rule(&self) -> Option<String> {
        None
    }
    /// How it stands, for a stuck machine.
    fn explain(&self) -> String {
        String::new()
    }
}
