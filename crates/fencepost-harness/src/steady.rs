//! Steady state: data that stays in caches is there before measuring begins, and all threads are measured over the same operations.
//!
//! The caches hold the resident data when the run begins, each thread's share of it ([`resident_lines`]). A thread then runs its warm-up
//! operations and waits for the others. The machine begins to measure when the last thread has done its warm-up operations; nobody has
//! done more of them, so every thread is measured over exactly the operations asked for. Without warm-up operations the caches are empty
//! and nobody waits: a cold run.

use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, At, HwThread, LineAddr, Mem, Pm, Program, resident, run_thread};

/// The hottest of the program's resident data, as much as a cache of so many bytes holds, dealt out to the threads; the hottest line is
/// the last.
pub(crate) fn resident_lines<P: Program>(program: &P, threads: u32, cache: u64) -> Vec<(HwThread, LineAddr)> {
    let lines = resident(&program.resident(), cache, 0, 1);
    let hotter = (0..lines.len()).rev();
    let thread = |i: usize| HwThread((i % threads as usize) as u8);
    hotter.map(thread).zip(lines).collect()
}

/// How one thread comes to the measured part.
#[derive(Clone, Debug)]
pub struct WarmUp {
    /// This thread, of so many.
    pub thread: u32,
    /// All threads.
    pub threads: u32,
    /// Operations before the measured ones.
    pub ops: u32,
    /// Locks behind the program's volatile memory: one a thread, held until it arrives, and one that holds back the rest.
    locks: Addr,
}

impl WarmUp {
    /// Runs `ops` operations. Volatile memory from `free` on belongs to nobody.
    pub fn new((thread, threads): (u32, u32), ops: u32, free: u64) -> WarmUp {
        WarmUp {
            thread,
            threads,
            ops,
            locks: Addr(free.next_multiple_of(LINE_BYTES)),
        }
    }
    fn lock<D: Copy + Default>(&self, i: u32) -> At<D> {
        At::new(Addr(self.locks.0 + u64::from(i) * LINE_BYTES))
    }
    /// Runs operations `0..ops` of the thread, warm-up and measured.
    pub fn run<P: Program, M: Mem>(&self, program: &P, pm: &mut Pm<'_, M>, ops: u32) {
        if self.ops > 0 {
            pm.m.lock(self.lock(self.thread));
            run_thread(program, pm, self.thread, 0, self.ops);
            self.wait_for_all(pm.m);
        }
        run_thread(program, pm, self.thread, self.ops, ops);
    }
    /// Thread 0 waits for every other's lock; the others wait for that of thread 0. Waiting on locks costs no events.
    fn wait_for_all<M: Mem>(&self, m: &mut M) {
        if self.thread == 0 {
            for other in 1..self.threads {
                m.lock(self.lock(other));
                m.unlock(self.lock(other));
            }
            m.unlock(self.lock(0));
        } else {
            m.unlock(self.lock(self.thread));
            m.lock(self.lock(0));
            m.unlock(self.lock(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::{Dialect, Fence, Flush, Image, Rmw, Val, Width};
    use fencepost_programs::{Settings, Visit, programs, with_program};
    use std::collections::BTreeSet;

    /// Memory that notes which operations begin. Locks never wait: threads run one by one.
    struct Noted {
        image: Image,
        begun: Vec<u32>,
    }
    impl Mem for Noted {
        type Dep = ();
        fn load_n(&mut self, at: At<()>, width: Width) -> Val<()> {
            Val::lit(width.extract(self.image.word(at.addr), at.addr.0))
        }
        fn store_n(&mut self, at: At<()>, v: Val<()>, width: Width) {
            let value = width.insert(self.image.word(at.addr), at.addr.0, v.v);
            self.image.set_word(at.addr.word(), value, None);
        }
        fn nt_store(&mut self, at: At<()>, v: Val<()>) {
            self.store(at, v);
        }
        fn flush(&mut self, _: At<()>, _: Flush) {}
        fn fence(&mut self, _: Fence) {}
        fn rmw(&mut self, at: At<()>, op: Rmw) -> Val<()> {
            let old = self.load(at);
            match op {
                Rmw::Cas { expect, new } if old.v == expect => self.store(at, Val::lit(new)),
                Rmw::Cas { .. } => {}
                Rmw::Add(n) => self.store(at, Val::lit(old.v.wrapping_add(n))),
                Rmw::Swap(n) => self.store(at, Val::lit(n)),
            }
            old
        }
        fn load_acquire(&mut self, at: At<()>) -> Val<()> {
            self.load(at)
        }
        fn store_release(&mut self, at: At<()>, v: Val<()>) {
            self.store(at, v);
        }
        fn lock(&mut self, _: At<()>) {}
        fn unlock(&mut self, _: At<()>) {}
        fn op_begin(&mut self, op: u32) {
            self.begun.push(op);
        }
    }

    const LOGLESS: Dialect = Dialect {
        name: "structure and locks only",
        ..Dialect::PLAIN
    };
    const THREADS: u32 = 3;

    /// Runs the threads one after the other; the lines that are warmed, and those that the program declares.
    struct WarmsUp(u64);
    impl Visit for WarmsUp {
        type Out = (Vec<LineAddr>, BTreeSet<LineAddr>);
        fn visit<P: Program>(self, program: P) -> Self::Out {
            let mut m = Noted {
                image: Image::default(),
                begun: Vec::new(),
            };
            program.setup(&mut m);
            for thread in 0..THREADS {
                m.begun.clear();
                let warm_up = WarmUp::new((thread, THREADS), 2, self.0);
                warm_up.run(&program, &mut Pm::new(&mut m, LOGLESS), 5);
                assert_eq!(m.begun, [0, 1, 2, 3, 4], "every thread runs the same operations");
            }
            let lines = resident_lines(&program, THREADS, u64::MAX);
            assert!(
                lines
                    .iter()
                    .rev()
                    .zip(0..)
                    .all(|((hw_thread, _), i)| u32::from(hw_thread.0) == i % THREADS)
            );
            let spans = program.resident();
            let declared = spans
                .iter()
                .flat_map(|s| s.at.line().0..=Addr(s.at.0 + s.len.max(1) - 1).line().0);
            let lines = lines.into_iter().map(|(_, line)| line).collect();
            (lines, declared.map(LineAddr).collect())
        }
    }
    #[test]
    fn all_that_every_program_declares_is_warm_before_its_first_operation_and_no_line_twice() {
        for about in programs() {
            let settings = Settings {
                threads: THREADS,
                ops: 5,
                scheme: about.schemes[0],
                params: about.small_params(),
                ..Settings::default()
            };
            let free = fencepost_programs::footprint(about.name, &settings)
                .expect("small sizes")
                .dram
                .0;
            let (warm, declared) = with_program(about.name, &settings, WarmsUp(free)).expect("small sizes");
            assert_eq!(warm.len(), declared.len(), "{}", about.name);
            assert_eq!(BTreeSet::from_iter(warm), declared, "{}", about.name);
        }
    }
}
