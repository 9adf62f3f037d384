//! Litmus tests on the real CPU, as litmus7 runs them: each thread is compiled to machine code, threads meet before every round, and
//! every round has memory of its own.
#![allow(unsafe_code, reason = "runs code that it has made")]

mod assemble;

use super::pinned::{Meeting, cpus, on_threads, pin};
use crate::error::NativeError;
use crate::litmus::{Left, Litmus};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rounds between two looks at what was left.
const BATCH: usize = 512;
/// Threads count where they meet.
const MOST_ROUNDS: u32 = 100_000_000;

/// Machine code that may be run.
struct Page {
    at: *mut c_void,
    len: usize,
}

// SAFETY: the page is not written after it was made.
unsafe impl Sync for Page {}

impl Page {
    fn new(code: &[u8]) -> Result<Page, NativeError> {
        let failed = |why: rustix::io::Errno| NativeError::File {
            action: "map",
            path: Path::new("code").to_owned(),
            why: why.into(),
        };
        let len = code.len().next_multiple_of(4096);
        let flags = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping that replaces none.
        let at = unsafe { mmap_anonymous(null_mut(), len, flags, MapFlags::PRIVATE) }.map_err(failed)?;
        let page = Page { at, len };
        // SAFETY: the mapping is at least as long as the code, and nothing else points there.
        unsafe {
            std::ptr::copy_nonoverlapping(code.as_ptr(), page.at.cast::<u8>(), code.len());
            mprotect(page.at, page.len, MprotectFlags::READ | MprotectFlags::EXEC).map_err(failed)?;
        }
        Ok(page)
    }
    /// Runs a thread of a test.
    ///
    /// # Safety
    /// The page holds code of [`assemble::assemble`]; `registers` and `words` hold what the test has.
    unsafe fn call(&self, registers: &[AtomicU64], words: &[AtomicU64]) {
        // SAFETY: the page begins with a function of this type.
        let thread: extern "sysv64" fn(*mut u64, *mut u64) = unsafe { std::mem::transmute(self.at) };
        thread(registers.as_ptr().cast_mut().cast(), words.as_ptr().cast_mut().cast());
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by this, and no code of it runs any more.
        let _ = unsafe { munmap(self.at, self.len) };
    }
}

/// Words that begin at a line of the cache.
#[repr(C, align(64))]
struct Line(#[allow(dead_code, reason = "read as part of a slice of words")] [AtomicU64; 8]);

fn lines(n: usize) -> Vec<Line> {
    (0..n).map(|_| Line(Default::default())).collect()
}

fn words(lines: &[Line]) -> &[AtomicU64] {
    // SAFETY: a line is eight words and nothing else.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), 8 * lines.len()) }
}

/// Runs a test so many rounds; what was left, and how often.
///
/// # Errors
/// The test names what it does not declare, or the system gives no memory.
pub fn litmus(test: &Litmus, rounds: u32) -> Result<BTreeMap<Left, u64>, NativeError> {
    check(test)?;
    let threads = test.threads.len();
    if rounds > MOST_ROUNDS {
        return Err(NativeError::Refused(format!("at most {MOST_ROUNDS} rounds")));
    }
    let pages = (0..threads).map(|t| Page::new(&assemble::assemble(test, t)));
    let pages: Vec<Page> = pages.collect::<Result<_, _>>()?;
    let per_round = test.places.iter().map(|p| p.0 + 1).max().unwrap_or(0);
    let own = |t: usize| test.registers[t].len().div_ceil(8);
    let memory = lines(per_round * BATCH);
    let registers: Vec<Vec<Line>> = (0..threads).map(|t| lines(own(t) * BATCH)).collect();
    let (meeting, cpus) = (Meeting::new(threads as u32), cpus());
    let mut left: BTreeMap<Left, u64> = BTreeMap::new();
    for batch in 0..rounds.div_ceil(BATCH as u32) {
        let meetings = batch * BATCH as u32;
        for n in 0..BATCH {
            let round = words(&memory[per_round * n..per_round * (n + 1)]);
            for (place, value) in test.places.iter().zip(&test.words) {
                round[8 * place.0 + place.1].store(*value, Ordering::Relaxed);
            }
            for (lines, (t, values)) in registers.iter().zip(test.registers.iter().enumerate()) {
                let round = words(&lines[own(t) * n..own(t) * (n + 1)]);
                values
                    .iter()
                    .zip(round)
                    .for_each(|(v, r)| r.store(*v, Ordering::Relaxed));
            }
        }
        on_threads(threads as u32, &|t| {
            pin(&cpus, t);
            let (t, mut dice) = (t as usize, u64::from(t) + 1 + u64::from(meetings) * 8);
            for n in 0..BATCH {
                let own_registers = words(&registers[t][own(t) * n..own(t) * (n + 1)]);
                let round = words(&memory[per_round * n..per_round * (n + 1)]);
                dice = dice
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                meeting.wait(meetings + n as u32 + 1);
                // Threads that always leave together would always meet the same way.
                (0..dice >> 60).for_each(|_| std::hint::spin_loop());
                // SAFETY: the page was made of this thread of the test, and the slices are as long as the test says.
                unsafe { pages[t].call(own_registers, round) };
            }
        });
        for n in 0..BATCH.min((rounds - meetings) as usize) {
            let round = words(&memory[per_round * n..per_round * (n + 1)]);
            let read = |t: usize| {
                let round = words(&registers[t][own(t) * n..own(t) * (n + 1)]);
                (round.iter().take(test.registers[t].len()))
                    .map(|r| r.load(Ordering::Relaxed))
                    .collect()
            };
            let state = Left {
                registers: (0..threads).map(read).collect(),
                words: (test.places.iter())
                    .map(|p| round[8 * p.0 + p.1].load(Ordering::Relaxed))
                    .collect(),
            };
            *left.entry(state).or_default() += 1;
        }
    }
    Ok(left)
}

/// Whether everything that steps name is there: what runs has no checks of its own.
fn check(test: &Litmus) -> Result<(), NativeError> {
    use crate::litmus::{Source, Step};
    let refused = |what: &str| Err(NativeError::Refused(format!("litmus test: {what}")));
    if test.threads.len() != test.registers.len() || test.words.len() != test.places.len() {
        return refused("threads and registers, or words and places, differ in number");
    }
    if test.places.iter().any(|p| p.1 >= 8 || p.0 >= 1 << 16) {
        return refused("a word has no place");
    }
    for (steps, registers) in test.threads.iter().zip(&test.registers) {
        let register = |r: u8| usize::from(r) < registers.len();
        let source = |s: Source| match s {
            Source::Register(r) => register(r),
            Source::Value(_) => true,
        };
        let word = |w: usize| w < test.places.len();
        let sound = |step: &Step| match *step {
            Step::Set { to, value } => register(to) && source(value),
            Step::Compute { to, a, b, .. } => register(to) && source(a) && source(b),
            Step::Load { to, word: w } => register(to) && word(w),
            Step::Store { word: w, value, .. } => word(w) && source(value),
            Step::Exchange { to, word: w, value } | Step::FetchAdd { to, word: w, value } => {
                register(to) && word(w) && source(value)
            }
            Step::CompareExchange { expected, word: w, new } => register(expected) && word(w) && source(new),
            Step::Mfence | Step::Sfence | Step::Lfence => true,
            Step::Flush { word: w } => word(w),
            Step::Jump { a, b, target, .. } => source(a) && source(b) && target <= steps.len(),
        };
        if !steps.iter().all(sound) {
            return refused("a step names what is not there");
        }
        let back = |(i, step): (usize, &Step)| matches!(step, Step::Jump { target, .. } if *target <= i);
        if steps.iter().enumerate().any(back) {
            return refused("jumps back do not run natively");
        }
    }
    Ok(())
}
