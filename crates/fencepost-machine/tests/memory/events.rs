//! `next_event` is exact: looking at every instant finds nothing that looking only then misses, and nothing earlier.

use super::util::*;
use fencepost_kernel::{Bytes, LineAddr, Ps, Stream};
use fencepost_machine::memory::*;
use fencepost_machine::seam::{QueuePlan, Write, WriteId};

/// Smallest unit of every time below.
const TICK: u64 = 500;

const SEEDS: u64 = 1500;

/// A random medium whose every time is a multiple of `TICK`.
fn random_media(rng: &mut Stream) -> MediaSpec {
    let mut t = |most: u64| Ps((1 + rng.below(most)) * TICK);
    let (wtr, ccd, rrd) = (t(16), t(12), t(12));
    MediaSpec {
        t_ck: t(4),
        t_rcd: t(40),
        t_rp: t(40),
        t_cl: t(30),
        t_cwl: t(20),
        t_ras: t(80),
        t_wr: t(40),
        t_wtr: wtr,
        t_wtr_l: wtr + t(6),
        t_rtp: t(16),
        t_rtw: t(6),
        t_rtrs: t(6),
        t_ccd: ccd,
        t_ccd_l: ccd + t(6),
        t_ccd_bank: t(30),
        t_rrd: rrd,
        t_rrd_l: rrd + t(6),
        t_faw: t(120),
        t_burst: t(12),
        // A multiple of the ticks of four ranks, so that everything happens on a tick.
        t_refi: t(1000) * 4 + Ps(400_000),
        t_rfc: t(400),
        read_pulse: t(100),
        write_pulse: t(300),
        channels: 1 << rng.below(2),
        ranks: 1 << rng.below(3),
        banks: 2 << rng.below(3),
        bank_groups: 1 << rng.below(2),
        row_size: Bytes(256),
        bank_xor: rng.chance(1, 2),
        page: if rng.chance(1, 3) {
            PagePolicy::Closed
        } else {
            PagePolicy::Open
        },
        writes: [WritePolicy::RowBuffer, WritePolicy::Through, WritePolicy::Buffered][rng.below(3) as usize],
        write_buffer: 1 + rng.below(6) as u16,
        durable_at: if rng.chance(1, 4) {
            DurableAt::Accept
        } else {
            DurableAt::Device
        },
        ..MediaSpec::default()
    }
}
fn random_spec(rng: &mut Stream) -> ControllerSpec {
    let high = 2 + rng.below(99) as u8;
    ControllerSpec {
        write_queue: 1 + rng.below(32) as u16,
        read_queue: 1 + rng.below(16) as u16,
        drain_high: high,
        drain_low: rng.below(high.into()) as u8,
        min_writes: rng.below(12) as u16,
        read_priority: rng.chance(1, 2),
        fill_idle: rng.chance(1, 2),
        finish_open_rows: rng.chance(1, 2),
        write_wait_max: Ps(rng.below(4) * 150_000),
        read_wait_max: Ps(rng.below(4) * 150_000),
        row_hits_max: rng.below(4) as u16,
        static_latency: Ps(rng.below(5) * TICK),
        coalesce: rng.chance(1, 2),
        slot_freed: if rng.chance(1, 2) {
            SlotFreed::Issue
        } else {
            SlotFreed::Done
        },
        rows_ahead: rng.chance(1, 2),
        ..ControllerSpec::default()
    }
}

/// No module in half of the cases; with a module, a cache in a third.
fn random_module(rng: &mut Stream, queues: u8) -> ModuleSpec {
    let cache_lines = rng.below(3) / 2 * rng.below(12);
    ModuleSpec {
        entries: rng.below(2) as u16 * u16::from(queues) * (1 + rng.below(8) as u16),
        transfer: Ps(rng.below(40) * TICK),
        slot: Ps(8 * TICK),
        dram_cache: Bytes(cache_lines * 64),
    }
}

enum Request {
    Read(LineAddr),
    Write(Write),
}

/// Requests with the times at which they are pushed (refused ones are simply lost, in both runs alike).
fn script(rng: &mut Stream, queues: u8) -> Vec<(u64, Request)> {
    let (mut now, mut epoch, mut script) = (0, 0, Vec::new());
    let (span, apart) = (1 + rng.below(60), rng.below(2));
    for i in 0..150 {
        if rng.chance(1, 2) {
            now += rng.below(span) * TICK;
        }
        let line = rng.below(64) * (1 + rng.below(2) * 3);
        if rng.chance(1, 2) {
            script.push((now, Request::Read(LineAddr(line))));
            continue;
        }
        epoch += u64::from(rng.chance(1, 4));
        let queue = rng.below(queues.into()) as u8;
        let w = Write {
            queue,
            delay: Ps(rng.below(4) * 10 * TICK),
            ..write(
                line * 2 + u64::from(queue) * apart,
                i,
                rng.chance(3, 4).then_some(epoch),
            )
        };
        script.push((now, Request::Write(w)));
    }
    script
}
fn push(c: &mut Controller, now: u64, id: u64, r: &Request) {
    match r {
        Request::Read(line) => drop(c.push_read(Ps(now), ReadId(id), *line)),
        Request::Write(w) => drop(c.push_write(Ps(now), WriteId(id), *w)),
    }
}

/// Runs the script, advancing only at `next_event`.
fn by_events(mut c: Controller, script: &[(u64, Request)]) -> Vec<(u64, MemEvent)> {
    let (mut log, mut out) = (Vec::new(), Vec::new());
    let mut until = |c: &mut Controller, end: Option<u64>| {
        while let Some(t) = c.next_event().filter(|t| end.is_none_or(|e| t.0 <= e)) {
            c.advance(t, &mut out);
            log.extend(out.drain(..).map(|e| (t.0, e)));
        }
    };
    for (i, (now, r)) in script.iter().enumerate() {
        until(&mut c, Some(*now));
        push(&mut c, *now, i as u64, r);
    }
    until(&mut c, None);
    c.flush_module(Ps(1_000_000_000));
    until(&mut c, None);
    assert_eq!(c.parked(), 0);
    assert!(c.is_empty(), "no next event, yet work is pending:\n{}", c.explain());
    log
}

/// Runs the script, looking at every tick, and having every channel look again.
fn by_ticks(mut c: Controller, script: &[(u64, Request)]) -> Vec<(u64, MemEvent)> {
    let (mut log, mut out, mut now, mut next) = (Vec::new(), Vec::new(), 0, 0);
    while next < script.len() || !c.is_empty() {
        c.look_again(Ps(now));
        c.advance(Ps(now), &mut out);
        log.extend(out.drain(..).map(|e| (now, e)));
        while next < script.len() && script[next].0 == now {
            push(&mut c, now, next as u64, &script[next].1);
            // As above, what is due at this time happens before the next request of the same time.
            c.look_again(Ps(now));
            c.advance(Ps(now), &mut out);
            log.extend(out.drain(..).map(|e| (now, e)));
            next += 1;
        }
        now += TICK;
    }
    now = 1_000_000_000;
    c.flush_module(Ps(now));
    while !c.is_empty() {
        c.look_again(Ps(now));
        c.advance(Ps(now), &mut out);
        log.extend(out.drain(..).map(|e| (now, e)));
        now += TICK;
    }
    log
}

#[test]
fn looking_at_every_instant_finds_the_same_events() {
    let mut total = 0;
    for seed in 0..SEEDS {
        let mut rng = Stream::new(seed, "next-event");
        let (media, spec) = (random_media(&mut rng), random_spec(&mut rng));
        let queues = 1 + rng.below(3) as u8;
        let plan = QueuePlan {
            queues,
            entries_each: rng.chance(1, 2).then(|| 1 + rng.below(8) as u16),
            ordered_issue: rng.chance(1, 2),
            ..QueuePlan::default()
        };
        let script = script(&mut rng, queues);
        let module = random_module(&mut rng, queues);
        let controller = || {
            let c = Controller::new(&spec, &media, &plan, true).unwrap();
            c.with_module(&module).unwrap()
        };
        let (events, ticks) = (by_events(controller(), &script), by_ticks(controller(), &script));
        total += events.len();
        for (i, (a, b)) in events.iter().zip(&ticks).enumerate() {
            assert_eq!(a, b, "seed {seed}, event {i}");
        }
        assert_eq!(events.len(), ticks.len(), "seed {seed}");
    }
    assert!(
        total > SEEDS as usize * 100,
        "{total} events: scripts that do nothing prove nothing"
    );
}

#[test]
fn advancing_late_gives_the_same_order_of_events() {
    for seed in 0..50 {
        let mut rng = Stream::new(seed, "late");
        let (media, spec) = (random_media(&mut rng), random_spec(&mut rng));
        let script = script(&mut rng, 1);
        let controller = || Controller::new(&spec, &media, &QueuePlan::default(), true).unwrap();
        let mut late = controller();
        let mut out = Vec::new();
        for (i, (now, r)) in script.iter().enumerate() {
            late.advance(Ps(*now), &mut out);
            push(&mut late, *now, i as u64, r);
        }
        late.advance(Ps(1_000_000_000), &mut out);
        let events: Vec<_> = by_events(controller(), &script).into_iter().map(|e| e.1).collect();
        assert_eq!(events, out, "seed {seed}");
    }
}
