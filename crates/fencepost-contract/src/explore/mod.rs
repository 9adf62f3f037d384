//! Exploration of every crash state that a contract allows.
//!
//! Recovery runs on *sets* of crash states ([`CrashMem`]): a load that can return several values splits the set, each
//! part narrowed to the states that return that value, and recovery is run for each. Continuations from equal states
//! of recovery, with equal views of the words they still read, are run once; that also holds between the crash points
//! of an execution. So the cost follows what recovery reads and distinguishes, not the number of crash states.
//!
//! Recovery comes as a chain of steps ([`Recovery`], [`steps`]), which all programs of the kernel's
//! [`fencepost_kernel::Program`] kind are ([`Oracle`]), or as plain Rust with `cut` marks ([`plain`]).
//!
//! # Judging one's own code
//!
//! Write the code against [`fencepost_kernel::Mem`] (generically or on [`RecordMem`]; behind `dyn Mem` the lines of the
//! program cannot be named), record it ([`Recorder`], any number of threads), choose a
//! contract, and say what must hold after a crash:
//!
//! ```
//! use fencepost_contract::ContractKind;
//! use fencepost_contract::explore::{CrashCheck, CrashMem, RecordMem, Recorder, Verdict, plain};
//! use fencepost_kernel::{Addr, At, CrashPoint, Fence, Flush, Mem, Val, Violation};
//!
//! const ENTRIES: u64 = 100;
//! let entry = |i: u64| At::new(Addr::pm(64 + i * 64));
//! let length = At::new(Addr::pm(0));
//!
//! // Appends to a log: the entry is made durable before the length that covers it.
//! let append = move |m: &mut RecordMem<'_>| {
//!     for i in 0..ENTRIES {
//!         m.store(entry(i), Val::lit(i + 1));
//!         m.flush(entry(i), Flush::Clwb);
//!         m.fence(Fence::Sfence);
//!         m.store(length, Val::lit(i + 1));
//!         m.flush(length, Flush::Clwb);
//!     }
//! };
//! let recover = |m: &mut CrashMem<'_>, _: &CrashPoint| {
//!     let length = m.load(length).v;
//!     for i in 0..length {
//!         m.cut(i << 32 | length); // everything that the rest of the loop uses
//!         if m.load(entry(i)).v != i + 1 {
//!             return Err(Violation::at(entry(i).addr, "an entry within the length is missing"));
//!         }
//!     }
//!     Ok(())
//! };
//!
//! let check = CrashCheck::new(ContractKind::Px86);
//! let report = check.each(
//!     |schedule| Recorder::new(schedule).thread(append).run(),
//!     |explorer, _| explorer.explore(&mut plain(recover)),
//! )?;
//! assert_eq!(report.verdict, Verdict::Clean);
//! # Ok::<(), fencepost_contract::explore::CheckError>(())
//! ```
//!
//! The example `judge_my_code` shows a mistake found, with the line at fault and the id that replays the crash state.
//! What a simulated run really left behind, prefix by prefix of its durable log, is checked by [`check_prefixes`].

mod again;
mod before;
mod bounded;
mod chain;
mod changes;
mod check;
pub(crate) mod count;
mod crash_report;
mod cuts;
mod edges;
mod enumerate;
mod explorer;
mod guard;
mod judged;
pub(crate) mod known;
mod log_points;
mod memo;
mod memory;
mod on_image;
pub(crate) mod order;
mod path;
mod picked;
mod plain;
mod prefixes;
mod record;
mod recovery;
mod replay_id;
mod run;
mod search;
mod steps;
mod stop;
mod walks;
mod watch;
mod witness;
mod work;

pub use check::{BadBudget, CheckError, CrashCheck, ProgramRun, SCHEDULES};
pub use crash_report::{AgainReport, Budget, Report, Verdict};
pub use edges::Edge;
pub use enumerate::{Enumerated, enumerate};
pub use explorer::{Explorer, Replayed};
pub use log_points::is_chosen;
pub use memory::{CrashMem, ImageMem, SetupMem};
pub use on_image::AnyOracle;
pub use picked::{Moment, Pick, Picked};
pub use plain::{PlainSubject, plain};
pub use prefixes::{BrokenPrefix, LostStore, PrefixCheck, PrefixReport, Recovered, check_prefixes};
pub use record::{Granularity, Order, RecordError, RecordMem, Recorder, Recording, Schedule, Waiter, record_program};
pub use recovery::{Oracle, Phase, Recovery, Steps};
pub use replay_id::{Deviation, ReplayError, ReplayId, check_letters};
pub use search::{ExploreError, Subject};
pub use steps::{StepSubject, steps};
pub use witness::{NamedStore, Witness};
