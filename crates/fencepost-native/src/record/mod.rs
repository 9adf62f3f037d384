//! Recording a native program.

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
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod shared;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod turn;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod waits;

pub use calls::{Call, call, reads_all};
pub use decode::{Class, Operand, Register, classify};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use effects::{Effect, call_name, effect};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use journal::{Journal, read_journal};
pub use log::{Event, pieces};
pub use ranges::{Mapping, Mappings};
pub use reads::{Reads, View};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use schedule::Schedule;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use shared::{FAILED, MOST_FILES, Shared, SharedFile};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use turn::{Turn, Woken};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use waits::{Waits, waits};
