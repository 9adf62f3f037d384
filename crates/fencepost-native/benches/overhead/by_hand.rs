//! Both loops.

use fencepost_kernel::{Build, Flavour, Mode, Pm, Program, Shape, run_batch};
use fencepost_native::FlushWith;
use fencepost_native::x86::choice::BASELINE;
use fencepost_native::x86::mapping::Mapping;
use fencepost_native::x86::memory::{Choice, Native, Raw};
use fencepost_native::x86::pinned::{cpus, pin};
use fencepost_programs::Settings;
use fencepost_programs::settings::Described;
use fencepost_programs::sps::Sps;
use std::arch::asm;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The inline undo log in an array, a record and a fence for each store.
struct Inline;
impl Choice for Inline {
    const FIXED: Option<&'static Build> = Some(&Build {
        dialect: BASELINE,
        mode: Mode::Undo {
            flavour: Flavour::Inline,
            shape: Shape::Array,
            grouped: false,
        },
    });
}

const BATCH: usize = 100;
const ROUNDS: usize = 400;
const ENTRIES: usize = 10_000;
const LOCKS: usize = 512;

/// A line of memory.
#[repr(C, align(64))]
struct Line([u64; 8]);
/// A lock on a line of its own.
#[repr(C, align(64))]
struct Lock(AtomicU64);

/// What the loop by hand works on.
struct Memory {
    cells: Box<[Line]>,
    log: Box<[Line]>,
    locks: Box<[Lock]>,
    seq: u64,
}

#[inline(always)]
unsafe fn stream(at: *mut u64, v: u64) {
    // SAFETY: the caller's word is valid and aligned.
    unsafe { asm!("movnti qword ptr [{}], {}", in(reg) at, in(reg) v, options(nostack, preserves_flags)) }
}
#[inline(always)]
unsafe fn write_back(at: *const u64) {
    // SAFETY: the caller's address is valid; `compare` has asked for clwb.
    unsafe { asm!("clwb byte ptr [{}]", in(reg) at, options(nostack, preserves_flags)) }
}
#[inline(always)]
fn fence() {
    // SAFETY: part of x86-64.
    unsafe { asm!("sfence", options(nostack, preserves_flags)) }
}
fn acquire(lock: &Lock) {
    while lock.0.swap(1, Ordering::Acquire) != 0 {
        std::hint::spin_loop();
    }
}

impl Memory {
    fn new() -> Memory {
        let line = |i: usize| Line([i as u64 + 1; 8]);
        Memory {
            cells: (0..ENTRIES).map(line).collect(),
            log: (0..64).map(line).collect(),
            locks: (0..LOCKS).map(|_| Lock(AtomicU64::new(0))).collect(),
            seq: 0,
        }
    }
    fn swap(&mut self, (a, b): (u64, u64)) {
        let (first, second) = (a.min(b) as usize % LOCKS, a.max(b) as usize % LOCKS);
        let (first, second) = (first.min(second), first.max(second));
        acquire(&self.locks[first]);
        if second != first {
            acquire(&self.locks[second]);
        }
        self.seq += 1;
        let (x, y) = (
            self.cells[a as usize].0.as_mut_ptr(),
            self.cells[b as usize].0.as_mut_ptr(),
        );
        let log = self.log.as_mut_ptr().cast::<u64>();
        // SAFETY: `x` and `y` are whole lines; the log holds a line and sixteen records of four words.
        unsafe {
            let mut record = log.add(8);
            let (mut of_x, mut of_y) = ([0; 8], [0; 8]);
            for i in 0..8 {
                of_x[i] = x.add(i).read_volatile();
                of_y[i] = y.add(i).read_volatile();
            }
            for (line, values) in [(x, of_y), (y, of_x)] {
                for (i, v) in values.into_iter().enumerate() {
                    let (at, old) = (line.add(i), line.add(i).read_volatile());
                    let check = (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ old;
                    stream(record, at as u64);
                    stream(record.add(1), old);
                    stream(
                        record.add(2),
                        self.seq << 32 | check.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32,
                    );
                    fence();
                    at.write_volatile(v);
                    record = record.add(4);
                }
            }
            write_back(x);
            write_back(y);
            fence();
            stream(log, self.seq);
            fence();
        }
        self.locks[first].0.store(0, Ordering::Release);
        self.locks[second].0.store(0, Ordering::Release);
    }
}

/// Times both and prints the ratio.
pub fn compare() {
    if FlushWith::found(&[]).ok() != Some(FlushWith::Clwb) {
        return println!("the loop by hand uses clwb, which this CPU lacks");
    }
    let settings = Settings {
        ops: (BATCH * ROUNDS) as u32,
        ..Settings::default()
    };
    let program = Sps::checked(&settings).expect("default settings");
    let mapping = Mapping::new(program.footprint(), None).expect("memory");
    mapping.touch();
    // SAFETY: `mapping` lives until the end; the CPU has clwb.
    let mut memory = Native::<Inline>::new(unsafe { Raw::new(FlushWith::Clwb) });
    program.setup(&mut memory);
    let mut pm = Pm::new(&mut memory, BASELINE);
    let mut hand = Memory::new();
    pin(&cpus(), 0);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let from = (round * BATCH) as u32;
        let inputs: Vec<_> = (from..from + BATCH as u32).map(|k| program.input(0, k)).collect();
        let pairs: Vec<(u64, u64)> = inputs.iter().map(|i| i.as_slice()[0]).collect();
        for side in [round % 2, 1 - round % 2] {
            let begun = Instant::now();
            match side {
                0 => run_batch(&program, &mut pm, 0, from, &inputs),
                _ => pairs.iter().for_each(|p| hand.swap(*p)),
            }
            let ns = begun.elapsed().as_nanos() as f64 / BATCH as f64;
            if side == 0 { &mut ours } else { &mut theirs }.push(ns);
        }
    }
    let best = |v: &[f64]| v.iter().copied().fold(f64::INFINITY, f64::min);
    let (o, t) = (best(&ours), best(&theirs));
    println!(
        "sps, inline undo log: native memory {o:.0} ns, by hand {t:.0} ns per swap, ratio {:.3}",
        o / t
    );
}
