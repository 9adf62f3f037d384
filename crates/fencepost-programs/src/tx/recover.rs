//! Recovery of every scheme, as steps: one record a step, and all a step needs to know is in its small state.
//!
//! Recovery is idempotent: a log is truncated only after everything it says has been restored, so recovery cut short
//! by another failure is simply begun again.

use super::block_log;
use super::log_step::{LogFlow, LogStep, mark, word};
use super::record::{self, UNIT, fold, seal};
use super::redo::COUNT_BITS;
use super::region::{self, MAX_INPUTS, SLOT};
use super::{APPLIED, COMMIT, RECORDS, Region, Runtime};
use crate::choices::{LogForm, Variant};
use fencepost_kernel::planted;
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, At, Flavour, Flow, Mem, Shape, Val, Violation};

const UNFINISHED: &str = "a transaction is committed before its log is whole";
const STRAY: &str = "a log record describes an address outside the structure";

impl Runtime {
    /// The operation (and which of its transactions) that a sequence number belongs to.
    pub fn op_of(seq: u32) -> (u32, u32) {
        ((seq - 1) / super::TX_PER_OP, (seq - 1) % super::TX_PER_OP)
    }
    /// First state of log recovery.
    pub fn recover_start(&self) -> LogStep {
        LogStep::Thread(0)
    }
    /// One step of log recovery. `resume(m, thread, seq, region)` re-executes an interrupted iDO region and finishes its operation.
    pub fn recover<M: Mem<Dep = ()>>(
        &self,
        m: &mut M,
        step: LogStep,
        resume: impl FnOnce(&mut M, u32, u32, &Region<()>) -> Result<(), Violation>,
    ) -> LogFlow {
        let first_only = matches!(step, LogStep::Thread(1..))
            && planted!("recover.first-log-only", "the log of every thread is recovered");
        match step {
            LogStep::Thread(1..) if first_only => LogFlow::Finished,
            LogStep::Thread(thread) if thread >= self.threads => LogFlow::Finished,
            LogStep::Thread(thread) => self.open_log(m, thread, resume),
            LogStep::Scan {
                thread,
                seq,
                end,
                previous,
            } => self.scan(m, thread, seq, end, previous),
            LogStep::Restore {
                thread,
                seq,
                end,
                units,
            } => self.restore(m, thread, seq, end, units),
            LogStep::Node { thread, node } => self.restore_node(m, thread, node),
            LogStep::Replay {
                thread,
                seq,
                index,
                count,
            } => self.replay(m, thread, seq, index, count),
            LogStep::Backup { thread, at, left } => self.restore_backup(m, thread, at, left),
        }
    }
    /// One step of a program whose recovery is its logs'.
    pub fn rebuild<M: Mem<Dep = ()>>(
        &self,
        m: &mut M,
        step: LogStep,
        resume: impl FnOnce(&mut M, u32, u32, &Region<()>) -> Result<(), Violation>,
    ) -> Flow<LogStep> {
        match self.recover(m, step, resume) {
            LogFlow::Next(step) => Flow::Next(step),
            LogFlow::Finished => Flow::Done(Ok(())),
            LogFlow::Broken(v) => Flow::Done(Err(v)),
        }
    }
    /// The same for a program without regions.
    pub fn rebuild_without_regions<M: Mem<Dep = ()>>(&self, m: &mut M, step: LogStep) -> Flow<LogStep> {
        let why = "a region record in a program without regions";
        self.rebuild(m, step, |_, _, _, _| {
            Err(Violation {
                why: why.into(),
                at: None,
            })
        })
    }
    fn open_log<M: Mem<Dep = ()>>(
        &self,
        m: &mut M,
        thread: u32,
        resume: impl FnOnce(&mut M, u32, u32, &Region<()>) -> Result<(), Violation>,
    ) -> LogFlow {
        let log = self.log(thread);
        let next = LogFlow::Next(LogStep::Thread(thread + 1));
        match self.scheme.form() {
            LogForm::ByHand if !self.backups => LogFlow::Finished,
            LogForm::ByHand => match word(m, log, COMMIT) {
                0 => next,
                left => LogFlow::Next(LogStep::Backup {
                    thread,
                    at: RECORDS,
                    left,
                }),
            },
            LogForm::Undo(_, Shape::Array) => {
                let committed = word(m, log, COMMIT) as u32;
                let stale = planted!(
                    "recover.ended-transaction-undone",
                    "a transaction that has ended is not undone"
                );
                match record::read(m, Addr(log.0 + RECORDS), self.flavour(), 0, |seq| {
                    seq > committed || stale
                }) {
                    Some(f) if f.previous == 0 => LogFlow::Next(LogStep::Scan {
                        thread,
                        seq: f.seq,
                        end: RECORDS + self.units(&f) * UNIT,
                        previous: self.units(&f),
                    }),
                    _ => next,
                }
            }
            LogForm::Undo(_, Shape::List) => match word(m, log, COMMIT) {
                0 => next,
                node => LogFlow::Next(LogStep::Node { thread, node }),
            },
            LogForm::Redo | LogForm::RedoBlock => {
                let (commit, applied) = (word(m, log, COMMIT), word(m, log, APPLIED) as u32);
                let (seq, count) = ((commit >> COUNT_BITS) as u32, commit & ((1 << COUNT_BITS) - 1));
                if seq <= applied {
                    next
                } else {
                    if self.variant == Variant::RecoveryEndsLogFirst {
                        mark(m, log, APPLIED, u64::from(seq));
                    }
                    LogFlow::Next(LogStep::Replay {
                        thread,
                        seq,
                        index: 0,
                        count,
                    })
                }
            }
            LogForm::Regions => self.resume_region(m, thread, resume),
        }
    }
    fn flavour(&self) -> Flavour {
        match self.scheme.form() {
            LogForm::Undo(flavour, _) => flavour,
            _ => Flavour::Inline,
        }
    }
    /// Units of an array record: payload, last word, and what stands before.
    fn units(&self, f: &record::Found) -> u64 {
        let around = match self.flavour() {
            Flavour::Inline => 2,
            Flavour::Library => 3,
        };
        record::units(around + f.words())
    }
    fn scan<M: Mem<Dep = ()>>(&self, m: &mut M, thread: u32, seq: u32, end: u64, previous: u64) -> LogFlow {
        let log = self.log(thread);
        let fits = end + UNIT <= self.log_bytes;
        let any = planted!(
            "recover.stale-id-accepted",
            "records of one transaction are restored, not those of older ones"
        );
        let found = if fits {
            record::read(m, Addr(log.0 + end), self.flavour(), 0, |s| s == seq || any)
        } else {
            None
        };
        match found {
            Some(f) if f.previous == previous => {
                let units = self.units(&f);
                LogFlow::Next(LogStep::Scan {
                    thread,
                    seq,
                    end: end + units * UNIT,
                    previous: units,
                })
            }
            _ => {
                let ended_first = planted!("recover.log-ended-first", "a log ends after what it restores");
                if ended_first {
                    mark(m, log, COMMIT, u64::from(seq));
                }
                LogFlow::Next(LogStep::Restore {
                    thread,
                    seq,
                    end,
                    units: previous,
                })
            }
        }
    }
    fn restore<M: Mem<Dep = ()>>(&self, m: &mut M, thread: u32, seq: u32, end: u64, units: u64) -> LogFlow {
        let log = self.log(thread);
        let at = end - units * UNIT;
        // Seen whole a moment ago by `scan`; recovery only writes data, so it still is.
        let Some(found) = record::read(m, Addr(log.0 + at), self.flavour(), 0, |s| s == seq) else {
            return LogFlow::Broken(Violation::at(
                Addr(log.0 + at),
                "an undo record changed during recovery",
            ));
        };
        if let Some(v) = self.stray(&found) {
            return LogFlow::Broken(v);
        }
        found.apply(m);
        let last = found.previous == 0
            || planted!(
                "recover.stops-early",
                "every record of an unfinished transaction is restored"
            );
        if last {
            mark(m, log, COMMIT, u64::from(seq));
            return LogFlow::Next(LogStep::Thread(thread + 1));
        }
        LogFlow::Next(LogStep::Restore {
            thread,
            seq,
            end: at,
            units: found.previous,
        })
    }
    fn restore_node<M: Mem<Dep = ()>>(&self, m: &mut M, thread: u32, node: u64) -> LogFlow {
        let log = self.log(thread);
        if node == 0 {
            mark(m, log, COMMIT, 0);
            return LogFlow::Next(LogStep::Thread(thread + 1));
        }
        let inside = node >= log.0 + RECORDS && node + UNIT <= log.0 + self.log_bytes && node.is_multiple_of(UNIT);
        let next = if inside { m.load(At::new(Addr(node))).v } else { 0 };
        // Nodes are laid out upwards, so a chain that does not descend is not one (and would not end).
        let found = match self.flavour() {
            _ if !inside || next >= node => None,
            Flavour::Inline => record::head(m, Addr(node + 8), Flavour::Inline),
            Flavour::Library => record::read(m, Addr(node + 8), Flavour::Library, fold(0, next), |s| s > 0),
        };
        let Some(found) = found else {
            return LogFlow::Broken(Violation::at(Addr(node), "a log node is spliced in before it is whole"));
        };
        if let Some(v) = self.stray(&found) {
            return LogFlow::Broken(v);
        }
        found.apply(m);
        LogFlow::Next(LogStep::Node { thread, node: next })
    }
    fn replay<M: Mem<Dep = ()>>(&self, m: &mut M, thread: u32, seq: u32, index: u64, count: u64) -> LogFlow {
        let log = self.log(thread);
        let replayed = index == count || planted!("recover.redo-left-out", "a committed transaction is replayed");
        if replayed {
            mark(m, log, APPLIED, u64::from(seq));
            return LogFlow::Next(LogStep::Thread(thread + 1));
        }
        if self.scheme.form() == LogForm::RedoBlock {
            return self.replay_block(m, thread, seq, index, count);
        }
        let at = RECORDS + index * UNIT;
        let fits = at + UNIT <= self.log_bytes;
        let found = if fits {
            record::read(m, Addr(log.0 + at), self.flavour(), 0, |s| s == seq)
        } else {
            None
        };
        let Some(found) = found else {
            return LogFlow::Broken(Violation::at(Addr(log.0 + at), UNFINISHED));
        };
        if let Some(v) = self.stray(&found) {
            return LogFlow::Broken(v);
        }
        found.apply(m);
        LogFlow::Next(LogStep::Replay {
            thread,
            seq,
            index: index + 1,
            count,
        })
    }
    fn replay_block<M: Mem<Dep = ()>>(&self, m: &mut M, thread: u32, seq: u32, index: u64, count: u64) -> LogFlow {
        let log = self.log(thread);
        let record = Addr(log.0 + block_log::name_at(index));
        let fits = block_log::copy_at(index) + LINE_BYTES <= self.log_bytes;
        let home = if fits {
            block_log::named(word(m, record, 0), seq)
        } else {
            None
        };
        let Some(home) = home else {
            return LogFlow::Broken(Violation::at(record, UNFINISHED));
        };
        if !self.outside_logs(home) {
            return LogFlow::Broken(Violation::at(record, STRAY));
        }
        let stored = word(m, record, 8);
        block_log::accesses(stored, |offset, width| {
            let copy = Addr(log.0 + block_log::copy_at(index) + offset);
            let new = m.load_n(At::new(copy), width);
            m.store_n(At::new(Addr(home.0 + offset)), new, width);
        });
        LogFlow::Next(LogStep::Replay {
            thread,
            seq,
            index: index + 1,
            count,
        })
    }
    pub(super) fn outside_logs(&self, a: Addr) -> bool {
        let logs_end = self.logs.0 + self.log_bytes * u64::from(self.threads);
        a.is_persistent() && !(a.0 >= self.logs.0 && a.0 < logs_end)
    }
    /// A record may only describe persistent memory outside the logs.
    fn stray(&self, found: &record::Found) -> Option<Violation> {
        (!self.outside_logs(found.addr)).then(|| Violation::at(found.payload, STRAY))
    }
    /// Recovery goes on to another region of the operation it finishes: logged first, as the operation itself would have, so that
    /// a power failure during recovery finds the inputs and not what recovery half overwrote.
    pub fn log_region<M: Mem<Dep = ()>>(&self, m: &mut M, thread: u32, seq: u32, region: &Region<()>) {
        let at = Addr(self.log(thread).0 + RECORDS + (region.position % 2) * SLOT);
        let head = region::head(seq, region.position, region.id, region.len);
        let mut check = fold(0, head);
        m.store(At::new(at), Val::lit(head));
        for (to, input) in (8..).step_by(8).zip(&region.inputs[..region.len]) {
            check = fold(check, input.v);
            m.store(At::new(at).field(to), *input);
        }
        m.store(At::new(at).field(8 + region.len as u64 * 8), Val::lit(seal(seq, check)));
    }
    /// Finds the newest whole region record of an unfinished transaction and finishes it.
    fn resume_region<M: Mem<Dep = ()>>(
        &self,
        m: &mut M,
        thread: u32,
        resume: impl FnOnce(&mut M, u32, u32, &Region<()>) -> Result<(), Violation>,
    ) -> LogFlow {
        let log = self.log(thread);
        let committed = word(m, log, COMMIT) as u32;
        let slots = [0, 1].map(|s| read_region(m, Addr(log.0 + RECORDS + s * SLOT), committed));
        let oldest = planted!("recover.older-region-resumed", "the newest whole region is resumed");
        let age = |seq: u32, position: u64| if oldest { (!seq, !position) } else { (seq, position) };
        let newest = slots.into_iter().flatten().max_by_key(|(seq, r)| age(*seq, r.position));
        if let Some((seq, region)) = newest {
            if let Err(v) = resume(m, thread, seq, &region) {
                return LogFlow::Broken(v);
            }
            mark(m, log, COMMIT, u64::from(seq));
        }
        LogFlow::Next(LogStep::Thread(thread + 1))
    }
}

fn read_region<M: Mem<Dep = ()>>(m: &mut M, at: Addr, committed: u32) -> Option<(u32, Region<()>)> {
    let head = word(m, at, 0);
    let (seq, position, id, len) = (
        (head >> 32) as u32,
        (head >> 16) & 0xffff,
        (head >> 8) as u8,
        (head & 0xff) as usize,
    );
    if seq <= committed || len > MAX_INPUTS || head != region::head(seq, position, id, len) {
        return None;
    }
    let mut region = Region {
        id,
        len,
        inputs: [Val::lit(0); MAX_INPUTS],
        position,
    };
    let mut check = fold(0, head);
    for i in 0..len {
        let v = word(m, at, 8 + i as u64 * 8);
        check = fold(check, v);
        region.inputs[i] = Val::lit(v);
    }
    (seal(seq, check) == word(m, at, 8 + len as u64 * 8)).then_some((seq, region))
}
