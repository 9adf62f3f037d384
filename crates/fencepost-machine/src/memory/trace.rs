//! Drives a controller with a bare request stream, for comparison with other memory simulators.

use super::request::{QueuePlan, Write, WriteId};
use super::{CommandRecord, Controller, ControllerSpec, MediaSpec, MemEvent, ReadId, SpecError};
use fencepost_kernel::{LineAddr, LineData, Ps, WriteCause};

/// Kind of a traced request.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum TraceOp {
    /// Read of a line.
    Read,
    /// Write of a line.
    Write,
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

/// Sends requests back to back, in order: each enters its queue as soon as an entry is free.
pub fn run_trace(
    spec: &ControllerSpec,
    media: &MediaSpec,
    requests: impl IntoIterator<Item = (TraceOp, LineAddr)>,
) -> Result<TraceResult, SpecError> {
    let controller = Controller::new(spec, media, &QueuePlan::default(), false)?;
    let (result, _) = drive(controller, media, requests);
    Ok(result)
}

/// The same, with every command that was sent, in the order of time.
pub fn record_trace(
    spec: &ControllerSpec,
    media: &MediaSpec,
    requests: impl IntoIterator<Item = (TraceOp, LineAddr)>,
) -> Result<(TraceResult, Vec<CommandRecord>), SpecError> {
    let mut controller = Controller::new(spec, media, &QueuePlan::default(), false)?;
    controller.record_commands();
    let (result, mut controller) = drive(controller, media, requests);
    // Refreshes are noticed when the next request comes: in the order of time all the same.
    let commands = controller.take_commands();
    Ok((result, commands))
}

fn drive(
    mut controller: Controller,
    media: &MediaSpec,
    requests: impl IntoIterator<Item = (TraceOp, LineAddr)>,
) -> (TraceResult, Controller) {
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
    let result = TraceResult {
        requests: reads + writes,
        cycles: now.0.div_ceil(media.t_ck.0),
        time: now,
        reads,
        writes,
        row_hits: controller.stats().row_hits,
    };
    (result, controller)
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
                hw_thread: None,
                delay: Ps::ZERO,
            };
            controller.push_write(now, WriteId(id), write).is_ok()
        }
    }
}

/// Advances until the queue that refused a request has a free entry again.
fn until_free(controller: &mut Controller, mut now: Ps, op: TraceOp, out: &mut Vec<MemEvent>) -> Ps {
    let told = |e: &MemEvent| match op {
        TraceOp::Read => matches!(e, MemEvent::ReadSlotFree),
        TraceOp::Write => matches!(e, MemEvent::SlotFree { .. }),
    };
    loop {
        // A queue that is full always comes to report a free entry.
        now = controller.advance_to_report(out).unwrap_or(now);
        let free = out.iter().any(told);
        out.clear();
        if free {
            return now;
        }
    }
}

fn step(controller: &mut Controller, now: Ps, out: &mut Vec<MemEvent>) -> Ps {
    // Work is pending whenever this is called, and pending work always has a next event.
    let next = controller.next_event().unwrap_or(now);
    controller.advance(next, out);
    out.clear();
    next
}
