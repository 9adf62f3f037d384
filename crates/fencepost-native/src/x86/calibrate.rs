//! What instructions cost on this machine.

use super::addresses::PARTS;
use super::cpu::{caches, name};
use super::instructions::sfence;
use super::mapping::Mapping;
use super::memory::Raw;
use super::pinned::{cpus, pin};
use crate::error::NativeError;
use crate::report::{Calibration, FlushWith};
use fencepost_kernel::{Addr, Bytes, Rmw, Stream, Width};
use fencepost_programs::layout::Footprint;
use std::hint::black_box;
use std::time::Instant;

/// Bytes of the working set that no cache holds, and of the one that random lines are taken from.
const LARGE: u64 = 256 << 20;
const RANDOM: u64 = 64 << 20;
/// Batches; the smallest counts.
const BATCHES: u32 = 40;

/// Measures this machine, on anonymous memory; `without` some flushes.
pub fn calibrate(without: &[FlushWith]) -> Result<Calibration, NativeError> {
    let flush = FlushWith::found(without)?;
    let (dram, pm) = (Bytes(4096), Bytes(LARGE));
    let mapping = Mapping::new(Footprint { dram, pm }, None)?;
    mapping.touch();
    #[allow(unsafe_code, reason = "the type cannot know that memory is mapped")]
    // SAFETY: `mapping` lives until the end; every address below lies inside it.
    let raw = unsafe { Raw::new(flush) };
    let all = cpus();
    std::thread::scope(|s| {
        let measured = s.spawn(|| {
            pin(&all, 0);
            measure(raw, flush, all.len() as u32)
        });
        measured.join().map_err(|_| NativeError::Child("failed".into()))
    })
}

fn at(offset: u64) -> Addr {
    Addr(PARTS[1] + offset % LARGE)
}

/// Nanoseconds of one call of `f`: the fastest batch of `n` calls.
fn fastest(n: u32, mut f: impl FnMut(u32)) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..BATCHES {
        let begun = Instant::now();
        (0..n).for_each(&mut f);
        best = best.min(begun.elapsed().as_nanos() as f64 / f64::from(n));
    }
    best
}

fn measure(raw: Raw, flush: FlushWith, cores: u32) -> Calibration {
    let store = |a: Addr, v: u32| raw.store(a, v.into(), Width::B8);
    let mut random = Stream::new(1, "lines");
    let lines: Vec<Addr> = (0..4096).map(|_| at(random.below(RANDOM / 64) * 64)).collect();
    let line = |i: u32| lines[i as usize % lines.len()];
    let empty = fastest(1000, |i| {
        black_box(i);
    });
    let net = |ns: f64| (ns - empty).max(0.0);
    let pair = |a: Addr, i: u32| {
        store(a, i);
        raw.flush(a);
        sfence();
    };
    let whole_line = |i: u32| (0..8).for_each(|w| raw.nt_store(at(u64::from(i) * 64 + w * 8), w));
    let record = |i: u32| (0..3).for_each(|w| raw.nt_store(at(u64::from(i) * 32 + w * 8), w));
    let (ghz, adds_per_ns) = (1.0 / chain(), independent());
    let sizes = caches();
    let mut levels = Vec::new();
    for (i, (bytes, ways)) in sizes.iter().enumerate() {
        // Well inside this level, well beyond the one before.
        let inside = sizes[..i]
            .last()
            .map_or(bytes / 2, |before| (before.0 * 2).max(bytes / 4));
        levels.push((*bytes, *ways, chase(raw, inside.min(LARGE / 4))));
    }
    Calibration {
        cpu: name(),
        flush_instruction: flush.word(),
        cores,
        ghz,
        adds_per_ns,
        caches: levels,
        memory_load: chase(raw, LARGE),
        fence: net(fastest(1000, |_| sfence())),
        pair_hot: net(fastest(200, |i| pair(at(4096), i))),
        pair_random: net(fastest(200, |i| pair(line(i), i))),
        flush_stream: net(fastest(2000, |i| {
            store(at(u64::from(i) * 64), i);
            raw.flush(at(u64::from(i) * 64));
        })),
        flush_clean: net(fastest(200, |i| {
            black_box(raw.load(line(i), Width::B8));
            raw.flush(line(i));
            sfence();
        })),
        nt_fence: net(fastest(200, |i| {
            raw.nt_store(at(4096), i.into());
            sfence();
        })),
        nt_line_fence: net(fastest(200, |i| {
            whole_line(i);
            sfence();
        })),
        nt_stream: net(fastest(4000, whole_line)),
        nt_record: net(fastest(4000, record)) / 3.0,
        lock: net(fastest(500, |_| {
            raw.rmw(at(8192), Rmw::Swap(1));
            raw.store_release(at(8192), 0);
        })),
        fence_over: [0, 256, 1024, 4096].map(|n| (n, net(fence_over(raw, n)))).to_vec(),
    }
}

/// One of a chain of dependent additions: a clock.
fn chain() -> f64 {
    let mut x = 1u64;
    fastest(20, |_| {
        for _ in 0..1000 {
            x = black_box_add(x);
        }
    }) / 1000.0
}
/// An addition that the compiler can neither fold nor leave out.
#[inline(always)]
fn black_box_add(mut x: u64) -> u64 {
    #[allow(unsafe_code, reason = "an instruction that must stay")]
    // SAFETY: an addition of registers.
    unsafe {
        std::arch::asm!("add {x}, 1", x = inout(reg) x, options(nomem, nostack));
    }
    x
}
/// Additions of eight independent chains.
#[inline(always)]
fn adds(n: u32, x: &mut [u64; 8]) {
    for _ in 0..n / 8 {
        for v in x.iter_mut() {
            *v = black_box_add(*v);
        }
    }
}
/// Independent additions per nanosecond.
fn independent() -> f64 {
    let mut x = [0; 8];
    4096.0 / fastest(20, |_| adds(4096, &mut x))
}
/// A non-temporal store, a fence, and `n` independent additions behind it.
fn fence_over(raw: Raw, n: u32) -> f64 {
    let mut x = [0; 8];
    fastest(100, |i| {
        raw.nt_store(at(4096), i.into());
        sfence();
        adds(n, &mut x);
    })
}

/// A dependent load of a random cycle through the lines of `bytes`.
fn chase(raw: Raw, bytes: u64) -> f64 {
    let n = (bytes / 64).max(2);
    let mut order: Vec<u64> = (0..n).collect();
    let mut random = Stream::new(2, "chase");
    // Sattolo's shuffle: one cycle through all lines.
    for i in (1..n).rev() {
        order.swap(i as usize, random.below(i) as usize);
    }
    for i in 0..n {
        raw.store(at(i * 64), order[i as usize] * 64, Width::B8);
    }
    let steps = n.clamp(2000, 20_000) as u32;
    let mut here = 0;
    (0..n.min(1 << 18)).for_each(|_| here = raw.load(at(here), Width::B8));
    fastest(steps, |_| here = raw.load(at(here), Width::B8))
}
