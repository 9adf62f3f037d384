//! Requests per second of one host core that a memory controller simulates, by medium and load.
//! `-- trace [N]` runs only the bare traces, of N requests.

use fencepost_kernel::{LineAddr, LineData, Ps, Stream, WriteCause};
use fencepost_machine::memory::{Controller, ControllerSpec, MediaSpec, ReadId, TraceOp, run_trace, trace_controller};
use fencepost_machine::seam::{QueuePlan, Write, WriteId};
use std::time::Instant;

const REQUESTS: u64 = 1_000_000;

/// Pushes requests of `sequential` percent consecutive lines, half of them writes, `per_step` at each event.
fn run(media: &MediaSpec, sequential: u64, per_step: u64) -> f64 {
    let mut rng = Stream::new(1, "bench");
    let mut c = Controller::new(&ControllerSpec::default(), media, &QueuePlan::default(), true).expect("valid preset");
    let (mut now, mut sent, mut line, mut out) = (Ps::ZERO, 0, 0, Vec::new());
    let start = Instant::now();
    while sent < REQUESTS {
        for _ in 0..per_step {
            line = if rng.chance(sequential, 100) {
                line + 1
            } else {
                rng.below(1 << 22)
            };
            let taken = if sent % 2 == 0 {
                c.push_read(now, ReadId(sent), LineAddr(line)).is_ok()
            } else {
                let write = Write {
                    line: LineAddr(line),
                    data: LineData::default(),
                    queue: 0,
                    epoch: None,
                    cause: WriteCause::Persist,
                    hw_thread: None,
                    delay: Ps(5000),
                };
                c.push_write(now, WriteId(sent), write).is_ok()
            };
            if !taken {
                break;
            }
            sent += 1;
        }
        now = c.next_event().expect("work is pending");
        c.advance(now, &mut out);
        out.clear();
    }
    REQUESTS as f64 / start.elapsed().as_secs_f64()
}

/// Requests back to back, seven of ten reads: millions of cycles, and of requests per second of the host.
fn trace(spec: &ControllerSpec, random: bool, length: u64) -> (f64, f64) {
    let mut rng = Stream::new(1, "trace");
    let requests: Vec<_> = (0..length)
        .map(|i| {
            let op = if rng.chance(7, 10) {
                TraceOp::Read
            } else {
                TraceOp::Write
            };
            (op, LineAddr(if random { rng.below(1 << 27) } else { i }))
        })
        .collect();
    let media = MediaSpec::preset("ddr4-2400").expect("known name");
    let start = Instant::now();
    let r = run_trace(spec, &media, requests).expect("valid preset");
    let rate = length as f64 / start.elapsed().as_secs_f64();
    (r.cycles as f64 / 1e6, rate / 1e6)
}

fn main() {
    let mut words = std::env::args().skip_while(|a| a != "trace");
    let only_traces = words.next().is_some();
    let requests = words.next().and_then(|n| n.parse().ok()).unwrap_or(REQUESTS);
    for (what, random) in [("random", true), ("streaming", false)] {
        let (cycles, rate) = trace(&trace_controller(), random, requests);
        println!("ddr4-2400, {what} trace: {cycles:.2} M cycles, {rate:.2} M requests a second");
    }
    if only_traces {
        return;
    }
    println!(
        "{:12} {:>14} {:>14} {:>14}",
        "medium", "light, random", "full, random", "full, streams"
    );
    for word in ["ddr3-1600", "ddr4-2400", "pcm", "pwq", "fgc-pcm"] {
        let media = MediaSpec::preset(word).expect("known word");
        let rates = [(0, 1), (0, 16), (90, 16)].map(|(seq, n)| run(&media, seq, n) / 1e6);
        println!(
            "{word:12} {:>12.2} M {:>12.2} M {:>12.2} M",
            rates[0], rates[1], rates[2]
        );
    }
}
