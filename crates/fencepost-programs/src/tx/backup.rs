//! Backups made by hand: how programs that order their own persists change several words at once.
//!
//! Rows are copied to the thread's log area, a word that counts them validates them, the rows change in place, the word is cleared:
//! four barriers. Recovery copies back what the word validates. Only raw transactions do any of this.

use super::log_step::{LogFlow, LogStep, mark, word};
use super::{COMMIT, Runtime, Tx};
use crate::choices::Variant;
use fencepost_kernel::{Addr, At, Mem, Mode, Val, Violation, Width};

/// Bytes in front of a backup: address and length of the row.
const BACKUP_HEAD: u64 = 16;

impl<M: Mem> Tx<'_, '_, M> {
    /// Copies `len` bytes at `at` (whole words) aside before they change.
    #[track_caller]
    #[inline(always)]
    pub fn back_up(&mut self, at: At<M::Dep>, len: u64) {
        if self.mode() != Mode::Raw {
            return;
        }
        let outer = self.enter();
        self.assert_fits((BACKUP_HEAD + len) / 8);
        let to = At::new(Addr(self.cursor));
        self.store(to, at.pointer(), Width::B8);
        self.store(to.field(8), Val::lit(len), Width::B8);
        let mut done = 0;
        while done < len {
            let old = self.pm.m.load(at.field(done));
            self.store(to.field(BACKUP_HEAD + done), old, Width::B8);
            done += 8;
        }
        self.cursor += BACKUP_HEAD + len;
        self.regions += 1;
        self.leave(outer);
    }
    /// Validates the backups: from here to [`Tx::drop_backups`] the rows may change.
    #[track_caller]
    #[inline(always)]
    pub fn backed_up(&mut self) {
        if self.mode() == Mode::Raw {
            let outer = self.enter();
            self.validate_backups();
            self.leave(outer);
        }
    }
    #[inline(always)]
    fn validate_backups(&mut self) {
        let shared = self.slip(Variant::SharedFence);
        if !shared {
            self.step();
        }
        if !self.slip(Variant::FlagNeverSet) {
            self.backup_flag(self.regions);
        }
        if shared {
            return;
        }
        self.step();
        if self.slip(Variant::WrongStoreOrder) {
            self.backup_flag(0);
            self.step();
        }
    }
    /// The rows have changed: makes them durable and the backups void.
    #[track_caller]
    #[inline(always)]
    pub fn drop_backups(&mut self) {
        if self.mode() != Mode::Raw {
            return;
        }
        let outer = self.enter();
        self.step();
        if !self.slip(Variant::WrongStoreOrder) {
            self.backup_flag(0);
            self.step();
        }
        self.leave(outer);
    }
    #[inline(always)]
    fn backup_flag(&mut self, rows: u64) {
        let flag = At::new(Addr(self.log + COMMIT));
        self.store(flag, Val::lit(rows), Width::B8);
    }
}

impl Runtime {
    /// Copies one backup that is valid back to its row.
    pub(super) fn restore_backup<M: Mem<Dep = ()>>(&self, m: &mut M, thread: u32, at: u64, left: u64) -> LogFlow {
        let log = self.log(thread);
        if left == 0 {
            mark(m, log, COMMIT, 0);
            return LogFlow::Next(LogStep::Thread(thread + 1));
        }
        let fits = at + BACKUP_HEAD <= self.log_bytes;
        let (row, len) = match fits {
            true => (word(m, log, at), word(m, log, at + 8)),
            false => (0, 0),
        };
        let whole = len > 0 && len.is_multiple_of(8) && len <= self.log_bytes - at - BACKUP_HEAD;
        if !whole || !self.outside_logs(Addr(row)) {
            return LogFlow::Broken(Violation::at(
                Addr(log.0 + at),
                "a backup is said to be whole before it is",
            ));
        }
        for i in (0..len).step_by(8) {
            let old = word(m, log, at + BACKUP_HEAD + i);
            m.store(At::new(Addr(row + i)), Val::lit(old));
        }
        LogFlow::Next(LogStep::Backup {
            thread,
            at: at + BACKUP_HEAD + len,
            left: left - 1,
        })
    }
}
