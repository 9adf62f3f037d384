//! The memory of the host that a run needs.

use crate::config::Resolved;
use crate::error::{BadInput, LabError};
use fencepost_kernel::Bytes;

/// Refuses a run whose memory does not fit this host.
pub fn fits_host(resolved: &Resolved) -> Result<(), LabError> {
    match host_memory() {
        Some(have) => fits(resolved, have),
        None => Ok(()),
    }
}
fn fits(resolved: &Resolved, have: Bytes) -> Result<(), LabError> {
    let need = needed(resolved)?;
    if need.0 <= have.0 {
        return Ok(());
    }
    let mib = |b: Bytes| b.0.div_ceil(1 << 20);
    let e = BadInput::new(format!(
        "`{}` of these sizes needs about {} MiB of memory, and this machine has {} MiB",
        resolved.request.program,
        mib(need),
        mib(have)
    ));
    let hint = "make its structures smaller (--set program.NAME=VALUE), or take fewer operations or threads: its pools and logs \
                grow with them";
    Err(e.hint(hint).into())
}
/// Bytes of the host that the memory of a run takes: what the program laid out, once, with the writer of each word (4 bytes for 8).
/// Images of it share every page that does not differ.
fn needed(resolved: &Resolved) -> Result<Bytes, LabError> {
    let size = fencepost_programs::footprint(resolved.program_word(), &resolved.program);
    let size = size.map_err(|e| LabError::from(BadInput::new(e.to_string())))?;
    let all = size.dram.0.saturating_add(size.pm.0);
    Ok(Bytes(all.saturating_add(all / 2)))
}

/// Physical memory of this machine, or the limit of the control group where that is less; `None` where it cannot be known.
#[cfg(target_os = "linux")]
fn host_memory() -> Option<Bytes> {
    let info = rustix::system::sysinfo();
    let all = info.totalram.saturating_mul(info.mem_unit.into());
    let limit = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let limit = limit.and_then(|l| l.trim().parse().ok()).unwrap_or(u64::MAX);
    Some(Bytes(all.min(limit)))
}
#[cfg(not(target_os = "linux"))]
fn host_memory() -> Option<Bytes> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;

    fn resolved(program: &str, sets: &[&str]) -> Resolved {
        let request = Request {
            program: program.into(),
            sets: sets.iter().map(|s| (*s).to_owned()).collect(),
            ..Request::default()
        };
        Resolved::resolve(&request).unwrap()
    }
    #[test]
    fn what_does_not_fit_is_refused_and_the_hint_names_a_setting() {
        // 100,000 stock rows and 30,000 customers of each of 64 warehouses are more than a gigabyte whatever their rows' sizes.
        let large = resolved("tpcc", &["program.warehouses=64"]);
        let e = fits(&large, Bytes(1 << 30)).unwrap_err();
        assert_eq!(e.exit_code(), 2);
        assert!(e.to_string().contains("1024 MiB"), "{e}");
        assert!(fits(&large, Bytes(u64::MAX)).is_ok());
        assert!(fits(&resolved("cq", &[]), Bytes(1 << 30)).is_ok());
    }
}
