//! Where SQLite's files lie in persistent memory.

use crate::layout::Layout;
use fencepost_kernel::{Addr, Span};
use fencepost_sqlite::{File, PAGE_BYTES};

/// A file's room, as much as it may ever need; none for files that are not kept.
#[derive(Copy, Clone, Debug)]
pub(super) struct Files {
    pages: Span,
    journal: Span,
    wal: Span,
}

impl Files {
    /// A database of so many pages, and bytes of a rollback journal and of a write-ahead log.
    pub(super) fn new(layout: &mut Layout, pages: u64, (journal, wal): (u64, u64)) -> Files {
        let mut area = |len: u64| Span {
            at: match len {
                0 => Addr::pm(0),
                _ => layout.pm_aligned(len, PAGE_BYTES),
            },
            len,
        };
        Files {
            pages: area(pages * PAGE_BYTES),
            journal: area(journal),
            wal: area(wal),
        }
    }
    pub(super) fn area(&self, file: File) -> Span {
        match file {
            File::Pages => self.pages,
            File::Journal => self.journal,
            File::Wal => self.wal,
        }
    }
    /// Whether SQLite keeps a journal of its own.
    pub(super) fn journaled(&self) -> bool {
        self.journal.len > 0
    }
    /// Where the pages begin.
    pub(super) fn base(&self) -> Addr {
        self.pages.at
    }
    /// The first pages: `bytes` of them, or all.
    pub(super) fn span(&self, bytes: u64) -> Span {
        Span {
            at: self.pages.at,
            len: bytes.min(self.pages.len),
        }
    }
    /// Everything: of the pages, the first `bytes`.
    pub(super) fn spans(&self, bytes: u64) -> Vec<Span> {
        [self.span(bytes), self.journal, self.wal]
            .into_iter()
            .filter(|s| s.len > 0)
            .collect()
    }
}
