//! The lowest layer: what every other crate builds on.
//!
//! Units and ids, the event queue, seeded random streams, declared parameters, memory images, the memory
//! interface that programs are written against, the persist log, the execution trace and planted faults. Nothing here
//! knows a machine, a design, a contract or a program.

pub mod build;
mod cover;
pub mod crash;
pub mod dialect;
pub mod event;
pub mod fault;
pub mod fence;
pub mod honours;
pub mod image;
pub mod keyed;
pub mod ledger;
pub mod lists;
pub mod log;
pub mod mem;
pub mod ops;
pub mod params;
pub mod place;
pub mod pm;
pub mod private;
pub mod program;
pub mod ranges;
pub mod rare;
pub mod replica;
pub mod rng;
pub mod span;
pub mod stats;
pub mod stop;
pub mod trace;
pub mod units;

pub use build::{Build, Flavour, Mode, Shape};
pub use crash::{CrashPoint, Judged};
pub use dialect::{Dialect, LogPath, Logging};
pub use event::EventQueue;
pub use fence::{Fence, FenceProperties, OwnFence};
pub use honours::Honours;
pub use image::{Image, LineTable, Snapshot};
pub use keyed::Keyed;
pub use lists::{Buffered, Lines, Lists};
pub use log::{LineData, PersistLog, PersistRecord, WriteCause};
pub use mem::{At, Mem, Val};
pub use ops::{Flush, Outcome, QueueId, Rmw, Rollback, Site, TxId, Width};
pub use place::Place;
pub use pm::Pm;
pub use program::{Flow, OpRecord, Program, Violation, resident, run_batch, run_thread};
pub use ranges::Ranges;
pub use rare::RareCommits;
pub use replica::{EpochId, RemoteEpoch, ReplicaEvent, Transaction, Transactions};
pub use rng::Stream;
pub use span::{Footprint, Span};
pub use trace::{Dependence, StoreInfo, Trace, TraceEvent, TraceKind};
pub use units::{Addr, Bytes, CoreId, Divider, Hertz, HwThread, LineAddr, Ps, StoreId};
