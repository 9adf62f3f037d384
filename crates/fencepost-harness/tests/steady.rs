//! How threads come to the measured part, whatever the program. Beside the crate and not in it: its own unit tests would compile it twice.

use fencepost_harness::{WarmUp, resident_lines};
use fencepost_kernel::{Addr, At, Dialect, Fence, Flush, Image, LineAddr, Mem, Pm, Program, Rmw, Val, Width};
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
