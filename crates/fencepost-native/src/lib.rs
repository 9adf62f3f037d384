//! The real CPU: persistent programs on a mapped file, and persistence over a real wire.
//!
//! [`run`] times a program of the registry with the processor's own flushes, non-temporal stores and fences; [`killed`] kills it at
//! random moments and recovers the file in another process; [`calibrate`] measures what those instructions cost. All unsafe code
//! and assembly of what is measured is here; each block says on what it relies.
//!
//! Only x86-64 Linux has the instructions and the mappings. Elsewhere the crate compiles, and every call is refused with the reason.

mod error;
pub mod litmus;
mod native_report;
mod wire;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod x86;

pub use error::NativeError;
pub use native_report::{
    Calibration, CheckReport, Computing, FlushWith, KillReport, Memory, PerOperation, Request, RunReport, Times,
    Variant,
};
pub use wire::{
    Belief, ClientsPlan, MOST_CHANNELS, Next, Noted, ProtocolTimes, ServerPlan, WireKills, WireLeft, WireProtocol,
    WireRequest, WireTimes, WireTransport,
};

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use x86::{
    Children, Judge, calibrate, clflush_and_mfence, flush_instruction, litmus::litmus as run_litmus, logged_stores,
    remove_temporary_files, wire_clients, wire_killed, wire_server, wire_timed,
};
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(test)))]
pub use x86::{killed, run, until_killed};

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod elsewhere {
    use crate::{Calibration, FlushWith, KillReport, NativeError, Request, RunReport, Times};
    use crate::{ClientsPlan, ServerPlan, WireKills, WireLeft, WireRequest, WireTimes};
    use std::path::Path;
    use std::process::Command;
    use std::time::Duration;

    /// The flush instruction that this CPU has. Never here.
    pub fn flush_instruction(_: &[FlushWith]) -> Result<&'static str, NativeError> {
        Err(NativeError::Host)
    }
    /// Runs a litmus test. Refused here.
    pub fn run_litmus(
        _: &crate::litmus::Litmus,
        _: u32,
    ) -> Result<std::collections::BTreeMap<crate::litmus::Left, u64>, NativeError> {
        Err(NativeError::Host)
    }
    /// Times a program. Refused here.
    pub fn run(_: &Request) -> Result<RunReport, NativeError> {
        Err(NativeError::Host)
    }
    /// Kills a program and recovers its file. Refused here.
    pub fn killed(_: &Request, _: u32, _: &dyn Fn(&Path, &Path) -> Command) -> Result<KillReport, NativeError> {
        Err(NativeError::Host)
    }
    /// What a killed child runs. Refused here.
    pub fn until_killed(_: &Request, _: &Path) -> Result<(), NativeError> {
        Err(NativeError::Host)
    }
    /// How processes of a wire are started.
    pub struct Children<'a> {
        /// A server.
        pub server: &'a dyn Fn(&WireRequest, &ServerPlan) -> Command,
        /// Clients.
        pub clients: &'a dyn Fn(&WireRequest, &ClientsPlan) -> Command,
    }
    /// Says what is wrong with what was left, if anything is.
    pub type Judge<'a> = &'a dyn Fn(&WireRequest, &WireLeft) -> Option<String>;
    /// Serves clients. Refused here.
    pub fn wire_server(_: &WireRequest, _: &ServerPlan) -> Result<(), NativeError> {
        Err(NativeError::Host)
    }
    /// Runs clients. Refused here.
    pub fn wire_clients(_: &WireRequest, _: &ClientsPlan) -> Result<(), NativeError> {
        Err(NativeError::Host)
    }
    /// Times clients. Refused here.
    pub fn wire_timed(
        _: &WireRequest,
        _: u32,
        _: (Duration, Option<&Path>),
        _: &Children<'_>,
        _: Judge<'_>,
    ) -> Result<WireTimes, NativeError> {
        Err(NativeError::Host)
    }
    /// Kills servers and clients. Refused here.
    pub fn wire_killed(
        _: &[WireRequest],
        _: u32,
        _: (u64, Option<&Path>),
        _: &Children<'_>,
        _: Judge<'_>,
    ) -> Result<WireKills, NativeError> {
        Err(NativeError::Host)
    }
    /// Times logged stores. Refused here.
    pub fn logged_stores(_: &[FlushWith]) -> Result<[Times; 2], NativeError> {
        Err(NativeError::Host)
    }
    /// Times `clflush` and `mfence`. Refused here.
    pub fn clflush_and_mfence() -> Result<Times, NativeError> {
        Err(NativeError::Host)
    }
    /// Removes what native runs left for the time of the command. There are none here.
    pub fn remove_temporary_files() {}
    /// Measures this machine. Refused here.
    pub fn calibrate(_: &[FlushWith]) -> Result<Calibration, NativeError> {
        Err(NativeError::Host)
    }
}
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub use elsewhere::{
    Children, Judge, calibrate, clflush_and_mfence, flush_instruction, killed, logged_stores, remove_temporary_files,
    run, until_killed, wire_clients, wire_killed, wire_server, wire_timed,
};
