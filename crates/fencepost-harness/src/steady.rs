//! Steady state: data that stays in caches is there before measuring begins, and all threads are measured over the same operations.
//!
//! A thread first reads its share of the resident data, then runs its warm-up operations, then waits for the others. The machine
//! begins to measure when the last thread has done its warm-up operations; nobody has done more of them, so every thread is
//! measured over exactly the operations asked for. Without warm-up operations nothing is read and nobody waits: a cold run.

use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, At, LineAddr, Mem, Pm, Program, resident, run_thread};

/// How one thread comes to the measured part.
#[derive(Clone, Debug)]
pub struct WarmUp {
    /// This thread, of so many.
    pub thread: u32,
    /// All threads.
    pub threads: u32,
    /// Operations before the measured ones.
    pub ops: u32,
    /// Lines to read.
    lines: Vec<LineAddr>,
    /// Locks behind the program's volatile memory: one a thread, held until it arrives, and one that holds back the rest.
    locks: Addr,
}

impl WarmUp {
    /// Reads the hottest `cache` bytes of the program's resident data, shared among the threads, and runs `ops` operations. Volatile
    /// memory from `free` on belongs to nobody.
    pub fn new<P: Program>(program: &P, (thread, threads): (u32, u32), ops: u32, cache: u64, free: u64) -> WarmUp {
        let cold = ops == 0;
        WarmUp {
            thread,
            threads,
            ops,
            lines: if cold {
                Vec::new()
            } else {
                resident(&program.resident(), cache, thread, threads)
            },
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
            for line in &self.lines {
                pm.m.load(At::new(Addr(line.0 * LINE_BYTES)));
            }
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

    /// Memory that notes what is read before the first operation, and which operations begin. Locks never wait: threads run one by one.
    struct Noted {
        image: Image,
        read: BTreeSet<LineAddr>,
        begun: Vec<u32>,
    }
    impl Mem for Noted {
        type Dep = ();
        fn load_n(&mut self, at: At<()>, width: Width) -> Val<()> {
            if self.begun.is_empty() {
                self.read.insert(at.addr.line());
            }
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
        logging: fencepost_kernel::Logging::None,
        flush: None,
        order: &[],
        log_path: fencepost_kernel::LogPath::Temporal,
        log_to_data: &[],
        durable: &[],
        lock_acquire: &[],
        unlock_release: &[],
        order_is_durable: false,
        ranges: false,
    };
    const THREADS: u32 = 3;

    /// Runs the threads one after the other; the lines read before operations, and those that the program declares.
    struct WarmsUp(u64);
    impl Visit for WarmsUp {
        type Out = [BTreeSet<LineAddr>; 2];
        fn visit<P: Program>(self, program: P) -> Self::Out {
            let mut read = BTreeSet::new();
            let (mut image, free) = (Image::default(), self.0);
            for thread in 0..THREADS {
                let mut m = Noted {
                    image,
                    read: BTreeSet::new(),
                    begun: Vec::new(),
                };
                if thread == 0 {
                    program.setup(&mut m);
                    m.read.clear();
                }
                let warm_up = WarmUp::new(&program, (thread, THREADS), 2, u64::MAX, free);
                warm_up.run(&program, &mut Pm::new(&mut m, LOGLESS), 5);
                assert_eq!(m.begun, [0, 1, 2, 3, 4], "every thread runs the same operations");
                read.append(&mut m.read);
                image = m.image;
            }
            let spans = program.resident();
            let declared = spans
                .iter()
                .flat_map(|s| s.at.line().0..=Addr(s.at.0 + s.len.max(1) - 1).line().0);
            [read, declared.map(LineAddr).collect()]
        }
    }
    #[test]
    fn the_threads_read_all_that_every_program_declares_before_their_first_operation() {
        for about in programs() {
            let settings = Settings {
                threads: THREADS,
                ops: 5,
                scheme: about.schemes[0],
                params: about.small_params(),
                ..Settings::default()
            };
            let free = fencepost_programs::footprint(about.word, &settings)
                .expect("small sizes")
                .dram
                .0;
            let [read, declared] = with_program(about.word, &settings, WarmsUp(free)).expect("small sizes");
            assert_eq!(read, declared, "{}", about.word);
        }
    }
}
