//! Recorded persist logs as text: judge a run of another simulator, or of a real machine.
//!
//! One event a line, in the order in which events took effect. `#` starts a comment, blank lines are skipped, the
//! first line names the format. Numbers are decimal or `0x` hexadecimal.
//!
//! ```text
//! fencepost-log 1
//! persistent 0x7f0000000000 0x10000   # addresses from here on (length) are persistent memory
//! file 0 0x10000 pool                 # offsets from 0 on, so many bytes at most, are the content of the file `pool`; `length
//!                                     # 0x10000` behind the name: the word there is how long the file is
//! initial 0x7f0000000040 7            # a word's durable value before the run; others are 0
//!
//! 0 begin 0                           # thread 0 begins operation 0
//! 0 store 0x7f0000000000 1 @ list.c:12   # an 8-byte store, and where the program says so; ` < main list.c:40` adds who called
//! 0 store 0x7f0000000044 9 w4         # narrower: w1, w2 or w4 bytes
//! 0 nt    0x7f0000000080 3            # a non-temporal store
//! 1 load  0x7f0000000000              # a load of the newest value; `from 1` names another store, `from initial` none
//! 1 rmw   0x1000 5                    # an atomic read-modify-write that stored 5 (without a number: did not store)
//! 0 clwb  0x7f0000000000              # also clflushopt, clflush, cvap
//! 0 sfence                            # also mfence, dmb, dmb.st, dsb, pcommit, persist-barrier, new-strand
//! 0 sync  0x7f0000000000 4096         # the system said that the range is durable (`msync`, `fsync`), and has fenced
//! 0 work 120                          # thread 0 executed 120 instructions since its last line
//! 0 warm 0x7f0000000000*8 0x1000      # before the log begins thread 0 accessed these lines last, the newest last: 8 from the first on, one
//!                                     # at the second
//! durable 0x7f0000000000 : 0=1        # a line became durable; word 0 (of 8) holds 1, the rest is as it was
//! durable 0x7f0000000080 at 250ns cause eviction : 0=#3   # or name the store: the third one of the log
//! 0 end 0                             # operation 0 has executed ...
//! 0 ack 0                             # ... and is acknowledged as durable
//! ```
//!
//! Stores are numbered from 1 in the order of their lines (`rmw` counts if it stored). Words given by value, and words not
//! listed, stand for any store of that value: the log conforms if some consistent choice does. A non-temporal store stands
//! where it left for the write-combining buffer, in program order with the other stores of its thread; a `clflush` where the
//! line has been written back, a fence where it has completed. Addresses may also be written `pm+0x40`, the offset
//! into persistent memory; outside `persistent` ranges a plain address is volatile. Hardware transactions are
//! `tx-begin n`, `tx-commit n`, `tx-abort n`, `tx-flush`; per-task committing is `bind <address> <length> queue <q>`, `release <address> <length>` and
//! `commit-queue <q>`; `accepted <address> : 0=#1 ...` says that a line reached the memory controller.
//! Causes are `eviction`, `flush`, `persist`, `nt`, `log`, `log-part`, `home`, `remote`; with the two logs the words are
//! copies in a hardware log and must name their stores (`log-part` becomes durable with the `log` record that follows).
//!
//! A log may hold several executions of a program, one after another, each from its first line on: [`executions`] takes them apart.
//!
//! A store, load or rmw whose address, value or execution depends on an earlier read of its thread says so with `needs
//! <read>` at the end, once for each: `1 store pm+0x80 1 needs 2`. Reads (`load`, `rmw`) are numbered from 1 in the order
//! of their lines. Only `rcbsp` makes use of it; without it that contract promises less, never more.
//!
//! # Example
//!
//! A record is flushed but nobody waits before the flag that publishes it, and the flag's line is evicted early. That is
//! what x86 allows, and what strict persistency does not:
//!
//! ```
//! use fencepost_contract::{ContractKind, Demands, recorded};
//!
//! let log = recorded::parse("fencepost-log 1
//! 0 store pm+0x00 41 @ queue.c:10
//! 0 clwb  pm+0x00
//! 0 store pm+0x40 1  @ queue.c:12
//! durable pm+0x40 : 0=1
//! durable pm+0x00 : 0=41
//! ")?;
//! let report = log.conform(&ContractKind::Px86.into(), Demands { complete: true }).unwrap();
//! assert_eq!(report.reordered, 1);
//! let refusal = log.conform(&ContractKind::StrictTso.into(), Demands::default()).unwrap_err();
//! assert!(log.explain(&refusal).contains("queue.c:10"));
//! # Ok::<(), recorded::LogError>(())
//! ```

mod declared;
mod error;
mod fields;
mod header;
mod lines;
mod parse;
mod pmemcheck;
mod warm;
mod write;

pub use error::LogError;
pub use header::executions;
pub use parse::{parse, parse_over};
pub use pmemcheck::{from_pmemcheck, is_pmemcheck};
pub use write::write;

use write::{warm_text, write_with};

use crate::conform::{ConformReport, Demands, Given, Refusal, conform_given};
use crate::contracts::Contract;
use fencepost_kernel::{Addr, HwThread, Image, LineAddr, PersistRecord, StoreId, Trace};

/// A parsed log.
#[derive(Clone, Debug)]
pub struct RecordedLog {
    /// The execution, with its durable events.
    pub trace: Trace,
    /// What became durable.
    pub records: Vec<PersistRecord>,
    /// Of each record, a bit for every word that names its store; the other words are given by value.
    pub named: Vec<u8>,
    /// Memory that was durable before.
    pub initial: Image,
    /// The line of the log of each event, from 1.
    pub event_lines: Vec<usize>,
    /// Where each store comes from.
    pub origins: Vec<Origin>,
    /// Instructions that threads executed between the recorded events, in the order of the log.
    pub work: Vec<Work>,
    /// Bytes of persistent memory that the log declares with `persistent`; 0 if it declares none.
    pub persistent_bytes: u64,
    /// Files that persistent memory consists of, where the log names them.
    pub files: Vec<PersistentFile>,
    /// Lines that threads accessed before the log begins, the newest last: what caches hold then.
    pub warm: Vec<(HwThread, LineAddr)>,
}

/// A file whose content is a range of persistent memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistentFile {
    /// Its name, without a folder.
    pub name: String,
    /// Offset of its first byte in persistent memory.
    pub offset: u64,
    /// Its largest length in bytes.
    pub length: u64,
    /// Offset of the word that holds its length, where that changes: a line of its own, which becomes durable as any other.
    pub length_at: Option<u64>,
}

/// Instructions between recorded events.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Number of trace events before them.
    pub event: usize,
    /// The thread that executed them.
    pub thread: HwThread,
    /// How many.
    pub instructions: u32,
}

/// Where a store of a log comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Its line in the log, from 1.
    pub line: usize,
    /// What follows `@` there: the line of the program.
    pub source: Option<String>,
    /// What follows that after ` < ` each: who called, the nearest first.
    pub callers: Vec<String>,
}

impl RecordedLog {
    /// Checks the log against a contract.
    ///
    /// # Errors
    /// As [`conform`](crate::conform::conform()); [`RecordedLog::explain`] tells a refusal in lines of the log.
    pub fn conform(&self, contract: &Contract, demands: Demands) -> Result<ConformReport, Box<Refusal>> {
        let given = Given {
            named: &self.named,
            initial: &self.initial,
        };
        conform_given(&self.trace, &self.records, contract, demands, Some(&given))
    }
    /// The log as text again, with the origins that it names and the memory that it began with.
    pub fn to_text(&self) -> String {
        let origin = |s: StoreId| {
            let o = self.origins.get(s.index())?;
            let callers = o.callers.iter().map(|c| format!(" < {c}"));
            Some(o.source.clone()? + &callers.collect::<String>())
        };
        let files = self.files.iter().map(|f| {
            let at = f.length_at.map(|at| format!(" length {at:#x}")).unwrap_or_default();
            format!("file {:#x} {} {}{at}\n", f.offset, f.length, f.name)
        });
        let files = files.collect::<String>() + &warm_text(&self.warm);
        write_with(&self.trace, &self.records, &self.initial, &origin).replacen('\n', &format!("\n{files}"), 1)
    }
    /// Number of stores to persistent memory. Without any there is nothing to judge.
    pub fn persistent_stores(&self) -> usize {
        self.trace.stores.iter().filter(|s| s.addr.is_persistent()).count()
    }

    /// How the log names a store: its number, its line and, if known, its place in the program.
    pub fn name(&self, store: StoreId) -> String {
        let info = self.trace.store(store);
        let origin = &self.origins[store.index()];
        let source = origin.source.as_ref().map(|s| format!(", {s}")).unwrap_or_default();
        let (n, thread, addr, value) = (store.index() + 1, info.thread.0, info.addr, info.value);
        let is_length = |f: &&PersistentFile| f.length_at.is_some_and(|at| addr.word() == Addr::pm(at));
        let what = match self.files.iter().find(is_length) {
            Some(file) => format!("length of {} = {value}", file.name),
            None => format!("{addr} = {value:#x}"),
        };
        format!(
            "store {n} of thread {thread} ({what}, log line {}{source})",
            origin.line
        )
    }
    fn at(&self, event: usize) -> String {
        self.event_lines
            .get(event)
            .map_or("the end of the log".into(), |l| format!("log line {l}"))
    }

    /// A refusal told in lines of the log.
    pub fn explain(&self, refusal: &Refusal) -> String {
        let name = |s: &crate::conform::StoreAt| self.name(s.store);
        match refusal {
            Refusal::Order { missing, chain, event } => {
                let mut text = format!(
                    "{}: a store became durable too early; before it comes\n",
                    self.at(*event)
                );
                text.push_str(&format!("  {}", name(missing)));
                for link in chain {
                    let to = link.to.as_ref().map_or("a barrier of its thread".to_owned(), &name);
                    text.push_str(&format!("\n    --[{}]--> {to}", link.axiom));
                }
                text
            }
            Refusal::Must { missing, axiom, event } => {
                format!(
                    "{}: {axiom} promises that {} is durable, and it is not",
                    self.at(*event),
                    name(missing)
                )
            }
            Refusal::Reversed { older, newer, event } => {
                let older = older.as_ref().map_or("the initial value".to_owned(), &name);
                format!("{}: {older} comes back over {}", self.at(*event), name(newer))
            }
            Refusal::Value { store, found, event } => {
                format!(
                    "{}: the line holds {found:#x} in place of {}",
                    self.at(*event),
                    name(store)
                )
            }
            Refusal::Future { store, event } => format!("{}: {} has not performed yet", self.at(*event), name(store)),
            Refusal::Misplaced { store, line, event } => {
                format!("{}: {line} is not where {} belongs", self.at(*event), name(store))
            }
            Refusal::InPlace {
                store,
                axiom,
                state,
                event,
            } => format!(
                "{}: {axiom}: {} is written in place before its transaction is {state}",
                self.at(*event),
                name(store)
            ),
            Refusal::Lost { first, count } => format!("{count} stores are never durable, first {}", name(first)),
            Refusal::Unknown { what, event } => format!("{}: {what} does not exist", self.at(*event)),
        }
    }
}
