//! Recording a native program: what a recorder knows, whatever observes the program.
//!
//! Which instructions store, flush and fence ([`classify`]), what each system call does to a recorded file ([`call`]), what a thread
//! has read and stored ([`Reads`], [`LastStores`]), and the lines that it writes ([`Event`]). What processes share (`Shared`,
//! `Journal`) and the turns of their threads are there on x86-64 Linux only.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod arity;
mod calls;
mod decode;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod effects;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod exclusion;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod journal;
mod log;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod members;
mod ranges;
mod reads;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod schedule;
mod seen;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod shared;
mod touched;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod turn;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod waits;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use arity::arity;
pub use calls::{Call, call, reads_all};
pub use decode::{Class, Operand, Register, classify};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use effects::{Effect, call_name, effect};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use journal::{Journal, read_journal};
pub use log::{Event, pieces, volatile};
pub use ranges::{Mapping, Mappings};
pub use reads::{Reads, View};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use schedule::Schedule;
pub use seen::{Clocks, LastStore, LastStores};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use shared::{FAILED, MOST_FILES, Shared, SharedFile};
pub use touched::{Place, Touched};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use turn::{Turn, Woken};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use waits::{Waits, waits};
