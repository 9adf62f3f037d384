//! Drives a controller with a bare request stream, for comparison with other memory simulators.

use super::{Controller, ControllerSpec, MediaSpec, ReadId, SpecError};
use crate::seam::{QueuePlan, Write, WriteId};
use fencepost_kernel::{Addr, LineAddr, LineData, Ps, WriteCause};

/// Kind of a traced request.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum TraceOp {
    /// Read of a line.
    Read,
    /// Write of a line.
    Write,
}

/// Why a line of a request file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected \"R 0xADDRESS\" or \"W 0xADDRESS\", found \"{found}\"")]
pub struct TraceError {
    /// The line.
    pub found: String,
}

/// Reads one line of a request file: `R 0x1f40` or `W 8000`, hexadecimal with the prefix, decimal without. Blank lines
/// and comments (`#`) are `None`.
pub fn parse_request(line: &str) -> Result<Option<(TraceOp, LineAddr)>, TraceError> {
    let text = line.split('#').next().unwrap_or("").trim();
    if text.is_empty() {
        return Ok(None);
    }
    let fail = || TraceError {
        found: line.trim().chars().take(60).collect(),
    };
    let mut words = text.split_whitespace();
    let op = match words.next() {
        Some("R" | "r") => TraceOp::Read,
        Some("W" | "w") => TraceOp::Write,
        _ => return Err(fail()),
    };
    let address = words.next().ok_or_else(fail)?;
    let address = match address.strip_prefix("0x").or_else(|| address.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => address.parse(),
    };
    match (address, words.next()) {
        (Ok(a), None) => Ok(Some((op, Addr(a).line()))),
        _ => Err(fail()),
    }
}

/// What a request stream took.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TraceResult {
    /// Requests made.
    pub requests: u64,
    /// Clocks of the medium until the last read returned and the last write was stored.
    pub cycles: u64,
    /// The same as time.
    pub time: Ps,
    /// Reads made.
    pub reads: u64,
    /// Writes made.
    pub writes: u64,
    /// Column accesses to an open row.
    pub row_hits: u64,
}

/// The controller of a bare request stream: the default policies without the processor-side pipeline latency, which
/// DRAM simulators do not count, and for throughput alone: nothing is served for its age, and a row that was opened is
/// used before the bus turns.
pub fn trace_controller() -> ControllerSpec {
    ControllerSpec {
        static_latency: Ps::ZERO,
        finish_open_rows: true,
        write_wait_max: Ps::ZERO,
        read_wait_max: Ps::ZERO,
        ..ControllerSpec::default()
    }
}

/// Sends requests back to back, in order: each enters its queue as soon as there is room.
pub fn run_trace(
    spec: &ControllerSpec,
    media: &MediaSpec,
    requests: impl IntoIterator<Item = (TraceOp, LineAddr)>,
) -> Result<TraceResult, SpecError> {
    let mut controller = Controller::new(spec, media, &QueuePlan::default(), false)?;
    let (mut now, mut out, mut reads, mut writes) = (Ps::ZERO, Vec::new(), 0, 0);
    for (op, line) in requests {
        while !push(&mut controller, now, op, line, reads + writes) {
            now = until_free(&mut controller, now, op, &mut out);
        }
        match op {
            TraceOp::Read => reads += 1,
            TraceOp::Write => writes += 1,
        }
    }
    while !controller.is_empty() {
        now = step(&mut controller, now, &mut out);
    }
    Ok(TraceResult {
        requests: reads + writes,
        cycles: now.0.div_ceil(media.t_ck.0),
        time: now,
        reads,
        writes,
        row_hits: controller.stats().row_hits,
    })
}

fn push(controller: &mut Controller, now: Ps, op: TraceOp, line: LineAddr, id: u64) -> bool {
    match op {
        TraceOp::Read => controller.push_read(now, ReadId(id), line).is_ok(),
        TraceOp::Write => {
            let write = Write {
                line,
                data: LineData::default(),
                queue: 0,
                epoch: None,
                cause: WriteCause::Eviction,
                hart: None,
                delay: Ps::ZERO,
            };
            controller.push_write(now, WriteId(id), write).is_ok()
        }
    }
}

/// Advances until the queue that refused a request has a free entry again.
fn until_free(controller: &mut Controller, mut now: Ps, op: TraceOp, out: &mut Vec<super::MemEvent>) -> Ps {
    loop {
        now = controller.next_event().unwrap_or(now);
        controller.advance(now, out);
        let free = out.drain(..).fold(false, |free, e| match op {
            TraceOp::Read => free | matches!(e, super::MemEvent::ReadSlotFree),
            TraceOp::Write => free | matches!(e, super::MemEvent::SlotFree { .. }),
        });
        if free {
            return now;
        }
    }
}

fn step(controller: &mut Controller, now: Ps, out: &mut Vec<super::MemEvent>) -> Ps {
    // Work is pending whenever this is called, and pending work always has a next event.
    let next = controller.next_event().unwrap_or(now);
    controller.advance(next, out);
    out.clear();
    next
}
