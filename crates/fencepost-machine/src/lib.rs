//! The simulated machine: cores, caches, coherence, the persist seam, memory controllers and media.
//!
//! A [`Machine`] is built from a [`MachineSpec`], a [`seam::Design`] and a [`Workload`]; [`Machine::run`] gives a
//! [`RunReport`]. Time is integer picoseconds, one event queue drives everything, components are woken and never
//! polled, and the same inputs give the same run to the byte.
//!
//! # Components
//!
//! Each owns its state, asks the rest of the machine through one trait (`Outside`) and is tested alone. Imports point down this list:
//!
//! | module | what it is | asks |
//! |---|---|---|
//! | `machine` | composition, event loop, report | |
//! | `core` | hardware threads: dispatch, reorder buffer, store queue, fences, commit | `core::Outside` |
//! | `hierarchy` | private and shared caches, miss registers, write-back buffers, bus, cleans | `hierarchy::Outside` |
//! | [`seam`] | what a design may be asked, and what it may do | |
//! | `frontend` | program threads as coroutines that hand over operations; dataflow threads for litmus tests | |
//! | [`network`] | clients, links, the server's adapter | `network::Outside` |
//! | [`memory`] | controllers, scheduling, bank timing, media | |
//!
//! # One store, from the program to the persist log
//!
//! 1. The program calls [`SimMem`]; functional memory has the value at once, and the operation waits in the thread's mailbox
//!    (`frontend`).
//! 2. `core::dispatch` gives it an entry of the reorder buffer and one of the store queue; `core::commit` retires it in order.
//! 3. `core::stores` looks its line up (`hierarchy::miss`). A miss gets a register and asks for the bus; `hierarchy::grant`
//!    moves the coherence state, `hierarchy::read` fetches the bytes, `hierarchy::fill` installs the line and hands the waiting
//!    store back.
//! 4. The store performs: coherent memory has the value, the way is dirty, and the design hears of it
//!    ([`seam::Design::performed`]).
//! 5. The line leaves: as a victim (`hierarchy::leave`), by a flush or the design's own clean (`hierarchy::clean`), or the design
//!    writes the bytes itself ([`seam::Cx::write`]). `hierarchy::outgoing` hands it to the controller.
//! 6. The controller queues it, schedules it and writes it to the media; where its queue is durable, acceptance is
//!    durability. It reports [`memory::MemEvent::Durable`], and `machine::memory` appends the record to the persist log.
//!
//! # Cores and hardware threads
//!
//! A *hardware thread* (`HwThread`, the short form that RISC-V uses) runs one program thread: a logical processor of x86, a PE
//! of Arm. It owns its reorder buffer and store queue. A *core* (`CoreId`) is one or several of them that share private
//! caches: hyper-threads of x86, threads of a multithreaded Arm core. Without multithreading the two numbers are equal.

mod core;
pub mod frontend;
mod hierarchy;
mod machine;
pub mod memory;
pub mod network;
pub mod seam;
mod spec;

pub use core::{Account, Disorder, Passage, Race, Stalled};
pub use frontend::{SimMem, ThreadBody};
pub use hierarchy::StaleBytes;
pub use machine::{Before, Counters, Machine, Resident, RunError, RunReport, Stuck, ThreadReport, Workload};
pub use spec::{BusSpec, CacheSpec, CoreSpec, Fences, MachineSpec, MemorySpec, Pipeline, SpecError, StoreOrder};
