//! What a persist-ordering design promises, whether a recorded execution kept the promise, and what a power failure may
//! leave behind under it.
//!
//! A *contract* turns an execution ([`fencepost_kernel::Trace`]) into a [`CrashSpace`]: a persist-order graph over
//! the execution's stores ([`PersistGraph`]) plus, for every moment at which the power may fail, the stores that
//! have executed and the stores that must already be durable. A crash state is a downward-closed set of executed
//! stores that contains the must-set. One explorer serves every contract.
//!
//! ```
//! use fencepost_contract::{Contract, ContractKind};
//! use fencepost_kernel::{Addr, Image};
//!
//! // Thread 0 stores a value and, with no flush between, the flag that says it is there.
//! let log = fencepost_contract::recorded::parse("fencepost-log 1
//! 0 store pm+0x00 7
//! 0 store pm+0x40 1
//! ")?;
//! let lost = |kind: ContractKind| {
//!     let space = Contract::from(kind).space(&log.trace, &log.initial);
//!     let (_, mut cut) = space.cuts().last().unwrap();
//!     let flag = space.graph.location(Addr::pm(0x40)).unwrap();
//!     space.graph.include(&mut cut, space.graph.versions(flag)[0].node);
//!     space.graph.smallest_image(&cut).word(Addr::pm(0)) != 7
//! };
//! assert!(lost(ContractKind::Px86), "x86 may keep the flag and lose the value");
//! assert!(!lost(ContractKind::StrictTso));
//! # Ok::<(), fencepost_contract::recorded::LogError>(())
//! ```
//!
//! # Judging one's own code
//!
//! Code written against the kernel's memory interface is recorded, and its recovery runs on every crash state:
//!
//! ```
//! use fencepost_contract::ContractKind;
//! use fencepost_contract::explore::{CrashCheck, CrashMem, RecordMem, Recorder, Verdict, plain};
//! use fencepost_kernel::{Addr, At, CrashPoint, Fence, Flush, Mem, Val, Violation};
//!
//! const VALUE: Addr = Addr::pm(0x00);
//! const FLAG: Addr = Addr::pm(0x40);
//! fn publish(m: &mut RecordMem<'_>, fence: bool) {
//!     m.store(At::new(VALUE), Val::lit(7));
//!     m.flush(At::new(VALUE), Flush::Clwb);
//!     if fence {
//!         m.fence(Fence::Sfence);
//!     }
//!     m.store(At::new(FLAG), Val::lit(1));
//! }
//! fn recover(m: &mut CrashMem<'_>, _: &CrashPoint) -> Result<(), Violation> {
//!     match (m.load(At::new(FLAG)).v, m.load(At::new(VALUE)).v) {
//!         (1, 0) => Err(Violation::at(FLAG, "the flag is there, the value is not")),
//!         _ => Ok(()),
//!     }
//! }
//! let judge = |fence| {
//!     let record = move |schedule| Recorder::new(schedule).thread(move |m| publish(m, fence)).run();
//!     CrashCheck::new(ContractKind::Px86).each(record, |explorer, _| explorer.explore(&mut plain(recover)))
//! };
//! assert_eq!(judge(false)?.verdict, Verdict::Violated);
//! assert_eq!(judge(true)?.verdict, Verdict::Clean);
//! # Ok::<(), fencepost_contract::explore::CheckError>(())
//! ```
//!
//! This crate depends on the kernel only. It must not see the machine: a checker that shares code with what it
//! checks shares its mistakes.

pub mod conform;
pub mod contracts;
pub mod explore;
pub mod graph;
pub mod images;
pub mod recorded;
pub mod replica;

pub use conform::{ConformReport, Demands, Refusal, conform, race};
pub use contracts::{
    Consistency, Contract, ContractKind, ContractParams, ContractRow, LineOrder, Rules, SpaceBuilder, Vocabulary,
};
pub use graph::{
    Axiom, CrashSpace, Cut, Extent, FailurePoint, Grain, GraphBuilder, GraphError, History, LocationId, Must, NodeId,
    PersistGraph, Version, WhyLost, Write,
};
