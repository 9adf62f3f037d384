//! Recovery: back from the journal's tail to its head; entries of transactions that have not ended are undone, the newest first.
//!
//! A transaction's commit entry is its last, so on the way back it comes first. The head moves to the tail when all is restored: a
//! recovery that is cut short begins again. Free blocks and inodes are found when the file system is mounted, from what is reached.

use super::fs::FileSystem;
use super::journal::Kind;
use fencepost_kernel::planted;
use fencepost_kernel::units::PM_BASE;
use fencepost_kernel::{Addr, At, Flow, Mem, Val, Violation};

/// Where recovery stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FsRebuild {
    /// Nothing was looked at.
    Starts,
    /// About to look at the entry before this place.
    Back {
        /// The place.
        at: u64,
        /// Its round.
        generation: u64,
        /// The head.
        head: u64,
        /// The tail.
        tail: u64,
        /// Transactions that have ended, whose entries are not behind us yet.
        ended: Vec<u32>,
    },
}

impl FileSystem {
    /// One step: one entry.
    pub(super) fn rebuild_step<M: Mem<Dep = ()>>(&self, m: &mut M, state: FsRebuild) -> Flow<FsRebuild> {
        let broken = |why: &str| Flow::Done(Err(Violation::at(self.journal.span().at, why)));
        match state {
            FsRebuild::Starts => match self.journal.ends(m) {
                None => broken("the journal's head or tail is no place of it"),
                Some((tail, _, head)) if tail == head => Flow::Done(Ok(())),
                Some((tail, generation, head)) => Flow::Next(FsRebuild::Back {
                    at: tail,
                    generation,
                    head,
                    tail,
                    ended: Vec::new(),
                }),
            },
            FsRebuild::Back {
                at,
                generation,
                head,
                tail,
                mut ended,
            } => {
                if at == head {
                    self.journal.clear(m, tail);
                    return Flow::Done(Ok(()));
                }
                let (at, generation) = self.journal.before(at, generation);
                if let Some(entry) = self.journal.read(m, at, generation) {
                    let over = ended.contains(&entry.id);
                    let undone = !over || planted!("pmfs.ended-transaction-undone", "what has ended is not undone");
                    match entry.kind {
                        Kind::Commit if !over => {
                            let place = ended.partition_point(|id| *id < entry.id);
                            ended.insert(place, entry.id);
                        }
                        Kind::Undo if undone => {
                            let end = entry.at.0 - PM_BASE + entry.size;
                            if end > self.footprint.pm.0 {
                                return broken("an entry of the journal describes no part of the file system");
                            }
                            self.restore(m, entry.at, entry.payload, entry.size);
                        }
                        _ => {}
                    }
                }
                Flow::Next(FsRebuild::Back {
                    at,
                    generation,
                    head,
                    tail,
                    ended,
                })
            }
        }
    }
    fn restore<M: Mem<Dep = ()>>(&self, m: &mut M, to: Addr, from: Addr, size: u64) {
        let kept = planted!("pmfs.restores-too-little", "all bytes of an entry are restored");
        for offset in (0..size).step_by(8).skip(usize::from(kept)) {
            let old: Val<()> = m.load(At::new(from).field(offset));
            m.store(At::new(to).field(offset), old);
        }
    }
}
