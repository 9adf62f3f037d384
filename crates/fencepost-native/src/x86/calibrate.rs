//! What instructions cost on this machine.

use super::addresses::PARTS;
use super::chain::{CHAINED, add, chain};
use super::computing::computing;
use super::cpu::{caches, name};
use super::instructions::{mfence, sfence};
use super::mapping::Mapping;
use super::memory::Raw;
use super::pinned::{cpus, pin};
use super::sample::{Sampler, repeated};
use crate::error::NativeError;
use crate::native_report::{Calibration, Computing, FlushWith, Times};
use fencepost_kernel::{Addr, Bytes, Rmw, Stream, Width};
use fencepost_programs::layout::Footprint;
use std::hint::black_box;

/// Bytes of the working set that no cache holds, and of the one that random lines are taken from.
const LARGE: u64 = 256 << 20;
const RANDOM: u64 = 64 << 20;
/// Lines that transactions of a log and data change in turn.
const CHANGED: u32 = 16;
/// Independent additions behind a fence.
const OVER: [u32; 4] = [0, 256, 1024, 4096];

/// Measures this machine, on anonymous memory; `without` some flushes.
pub fn calibrate(without: &[FlushWith]) -> Result<Calibration, NativeError> {
    FlushWith::found(without)?;
    let computing = computing()?;
    on_memory(without, LARGE, |raw, flush, cores| {
        measure(raw, flush, cores, computing)
    })
}
/// A transaction of 16 logged stores, with and without the fences between log and data, on anonymous memory.
pub fn logged_stores(without: &[FlushWith]) -> Result<[Times; 2], NativeError> {
    on_memory(without, 2 << 20, |raw, _, _| transactions(raw, &mut Sampler::new()))
}

/// A store, `clflush` of its line and `mfence`, on anonymous memory: the pair as it was before `clwb` and `sfence` took its place.
pub fn clflush_and_mfence() -> Result<Times, NativeError> {
    on_memory(&[FlushWith::Clwb, FlushWith::ClflushOpt], 2 << 20, |raw, _, _| {
        let pair = |i: u32| {
            raw.store(at(4096), i.into(), Width::B8);
            raw.flush(at(4096));
            mfence();
        };
        let [pair] = Sampler::new().times([repeated(pair)]);
        pair
    })
}

/// Runs `body` on a pinned thread, with accesses to `bytes` of memory, the flush, and the number of processors.
fn on_memory<T: Send>(
    without: &[FlushWith],
    bytes: u64,
    body: impl FnOnce(Raw, FlushWith, u32) -> T + Send,
) -> Result<T, NativeError> {
    let flush = FlushWith::found(without)?;
    let (dram, pm) = (Bytes(4096), Bytes(bytes));
    let mapping = Mapping::new(Footprint { dram, pm }, None)?;
    mapping.touch();
    #[allow(unsafe_code, reason = "the type cannot know that memory is mapped")]
    // SAFETY: `mapping` lives until the end; every address below lies inside it.
    let raw = unsafe { Raw::new(flush) };
    let all = cpus();
    std::thread::scope(|s| {
        let measured = s.spawn(|| {
            pin(&all, 0);
            body(raw, flush, all.len() as u32)
        });
        measured.join().map_err(|_| NativeError::Child("failed".into()))
    })
}

fn at(offset: u64) -> Addr {
    Addr(PARTS[1] + offset % LARGE)
}

#[expect(clippy::too_many_lines, reason = "one field after the other")]
fn measure(raw: Raw, flush: FlushWith, cores: u32, computing: Computing) -> Calibration {
    let mut s = Sampler::new();
    let [empty, chained, adds_4096] = s.times([
        repeated(|i| {
            black_box(i);
        }),
        repeated(|_| chain()),
        repeated(|_| {
            adds(4096, &mut [0; 8]);
        }),
    ]);
    let net = |t: Times| Times {
        min: (t.min - empty.min).max(0.0),
        median: (t.median - empty.median).max(0.0),
    };
    let sizes = caches();
    let mut levels = Vec::new();
    for (i, (bytes, ways)) in sizes.iter().enumerate() {
        // Well inside this level, well beyond the one before.
        let inside = match sizes[..i].last() {
            Some(before) => (before.0 * 4).min(bytes / 2),
            None => bytes / 2,
        };
        levels.push((*bytes, *ways, chase(raw, &mut s, inside.min(LARGE / 4))));
    }
    let memory_load = chase(raw, &mut s, LARGE);
    let store = |a: Addr, v: u32| raw.store(a, v.into(), Width::B8);
    let mut random = Stream::new(1, "lines");
    let lines: Vec<Addr> = (0..4096).map(|_| at(random.below(RANDOM / 64) * 64)).collect();
    let line = |i: u32| lines[i as usize % lines.len()];
    let pair = |a: Addr, i: u32| {
        store(a, i);
        raw.flush(a);
        sfence();
    };
    let whole_line = |i: u32| (0..8).for_each(|w| raw.nt_store(at(u64::from(i) * 64 + w * 8), w));
    let single = [
        repeated(|_| sfence()),
        repeated(|i| pair(at(4096), i)),
        repeated(|i| pair(line(i), i)),
        repeated(|i| {
            store(at(u64::from(i) * 64), i);
            raw.flush(at(u64::from(i) * 64));
        }),
        repeated(|i| {
            let near = at(u64::from(i) % 64 * 64);
            store(near, i);
            raw.flush(near);
            black_box(raw.load(near, Width::B8));
        }),
        repeated(|i| {
            black_box(raw.load(line(i), Width::B8));
            raw.flush(line(i));
            sfence();
        }),
        repeated(|i| {
            raw.nt_store(at(4096), i.into());
            sfence();
        }),
        repeated(|i| {
            whole_line(i);
            sfence();
        }),
        repeated(whole_line),
        repeated(|i| (0..3).for_each(|w| raw.nt_store(at(u64::from(i) * 32 + w * 8), w))),
        repeated(|_| {
            raw.rmw(at(8192), Rmw::Swap(1));
            raw.store_release(at(8192), 0);
        }),
    ];
    let [
        fence,
        pair_hot,
        pair_random,
        flush_stream,
        flush_load,
        flush_clean,
        nt_fence,
        nt_line_fence,
        nt_stream,
        record,
        lock,
    ] = s.times(single).map(net);
    let fence_over = OVER.map(|n| {
        repeated(move |i| {
            raw.nt_store(at(4096), i.into());
            sfence();
            adds(n, &mut [0; 8]);
        })
    });
    let flush_over = OVER.map(|n| {
        repeated(move |i| {
            pair(at(4096), i);
            adds(n, &mut [0; 8]);
        })
    });
    let (fence_over, flush_over) = (s.times(fence_over).map(net), s.times(flush_over).map(net));
    let over = |times: [Times; 4]| OVER.into_iter().zip(times).collect();
    let transaction = transactions(raw, &mut s).map(net);
    Calibration {
        cpu: name(),
        flush_instruction: flush.name(),
        cores,
        ghz: CHAINED / chained.min,
        adds_per_ns: 4096.0 / adds_4096.min,
        caches: levels,
        memory_load,
        fence,
        pair_hot,
        pair_random,
        flush_stream,
        flush_load,
        flush_clean,
        nt_fence,
        nt_line_fence,
        nt_stream,
        nt_record: Times {
            min: record.min / 3.0,
            median: record.median / 3.0,
        },
        lock,
        fence_over: over(fence_over),
        flush_over: over(flush_over),
        transaction,
        computing,
        batches: s.batches,
        disturbed: s.disturbed,
    }
}

/// Additions of eight independent chains.
#[inline(always)]
fn adds(n: u32, x: &mut [u64; 8]) {
    for _ in 0..n / 8 {
        for v in x.iter_mut() {
            *v = add(*v);
        }
    }
}

/// The transaction with and without its fences between log and data, in turn.
fn transactions(raw: Raw, s: &mut Sampler) -> [Times; 2] {
    s.times([
        repeated(|i| transaction::<true>(raw, i)),
        repeated(|i| transaction::<false>(raw, i)),
    ])
}
/// Changes every word of two lines: for each a record of three words past the caches, a fence if asked for, and the store; then both
/// lines flushed, and a commit word, each with a fence that always stays.
#[inline(always)]
fn transaction<const FENCES: bool>(raw: Raw, i: u32) {
    let log = 1 << 20;
    let line = |n: u32| u64::from((i.wrapping_mul(2) + n) % CHANGED) * 64;
    for word in 0..16 {
        let data = at(line(word / 8) + u64::from(word % 8) * 8);
        (0..3).for_each(|w| raw.nt_store(at(log + 64 + u64::from(word) * 32 + w * 8), i.into()));
        if FENCES {
            sfence();
        }
        raw.store(data, i.into(), Width::B8);
    }
    (0..2).for_each(|n| raw.flush(at(line(n))));
    sfence();
    raw.nt_store(at(log), i.into());
    sfence();
}

/// A dependent load of a random cycle through the lines of `bytes`.
fn chase(raw: Raw, s: &mut Sampler, bytes: u64) -> Times {
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
    let mut here = 0;
    (0..n.min(1 << 18)).for_each(|_| here = raw.load(at(here), Width::B8));
    s.time(|_| here = raw.load(at(here), Width::B8))
}
