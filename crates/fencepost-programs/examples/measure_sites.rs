//! Measures what every compute site costs, on the native build of the programs.
//!
//! ```text
//! cargo build --release -p fencepost-programs --example measure_sites
//! valgrind --tool=lackey --trace-mem=yes --log-fd=1 target/release/examples/measure_sites run \
//!     | target/release/examples/measure_sites table > crates/fencepost-programs/src/sites/measured.csv
//! ```
//!
//! `run` executes every program under every scheme and mode on plain memory: one run each. A compute marker is a store to a byte of its own, and so
//! is the beginning and end of every memory operation: the tracer prints each instruction and each store, so the stream shows
//! which instructions lie between two markers and outside memory operations. `table` attributes them to the marker that ends the
//! stretch. What it costs to call a marker or a memory operation is measured the same way on stretches that hold
//! nothing else, and subtracted.

use fencepost_kernel::units::PM_BASE;
use fencepost_kernel::*;
use fencepost_programs::sites::{self, Mode};
use fencepost_programs::{Scheme, Settings, Visit, footprint, programs, with_program};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicU8, Ordering, compiler_fence};

/// One byte per site; behind them the calibration markers and the edges of memory operations.
static MARKS: [AtomicU8; 256] = [const { AtomicU8::new(0) }; 256];
const FIRST: usize = 200;
const EMPTY: usize = 201;
const LOADS: usize = 202;
const STORES: usize = 203;
const START: usize = 204;
const STOP: usize = 205;
const OPEN: usize = 206;
const CLOSE: usize = 207;
const CALIBRATION_OPS: u64 = 32;

/// One inlined store: what the tracer sees.
#[inline(always)]
fn mark(i: usize) {
    compiler_fence(Ordering::SeqCst);
    MARKS[i].store(1, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
}

/// Plain memory. Every operation is a call whose inside is not counted.
struct Plain {
    dram: Vec<u64>,
    pm: Vec<u64>,
}
impl Plain {
    #[inline(always)]
    fn word(&mut self, addr: Addr) -> &mut u64 {
        let (table, offset) = if addr.is_persistent() {
            (&mut self.pm, addr.0 - PM_BASE)
        } else {
            (&mut self.dram, addr.0)
        };
        &mut table[(offset / 8) as usize]
    }
    #[inline(always)]
    fn put(&mut self, addr: Addr, v: u64, width: Width) {
        let word = self.word(addr);
        *word = width.insert(*word, addr.0, v);
    }
}
impl Mem for Plain {
    type Dep = ();
    #[inline(never)]
    fn load_n(&mut self, at: At<()>, width: Width) -> Val<()> {
        mark(OPEN);
        let v = width.extract(*self.word(at.addr), at.addr.0);
        mark(CLOSE);
        Val::lit(v)
    }
    #[inline(never)]
    fn store_n(&mut self, at: At<()>, v: Val<()>, width: Width) {
        mark(OPEN);
        self.put(at.addr, v.v, width);
        mark(CLOSE);
    }
    #[inline(never)]
    fn nt_store(&mut self, at: At<()>, v: Val<()>) {
        mark(OPEN);
        self.put(at.addr, v.v, Width::B8);
        mark(CLOSE);
    }
    #[inline(never)]
    fn flush(&mut self, _: At<()>, _: Flush) {
        mark(OPEN);
        mark(CLOSE);
    }
    #[inline(never)]
    fn fence(&mut self, _: Fence) {
        mark(OPEN);
        mark(CLOSE);
    }
    fn rmw(&mut self, at: At<()>, op: Rmw) -> Val<()> {
        let old = self.load(at);
        match op {
            Rmw::Cas { expect, new } if old.v == expect => self.store(at, Val::lit(new)),
            Rmw::Cas { .. } => {}
            Rmw::Add(n) => self.store(at, old.map(|o| o.wrapping_add(n))),
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
    fn lock(&mut self, at: At<()>) {
        self.store(at, Val::lit(1));
    }
    fn unlock(&mut self, at: At<()>) {
        self.store(at, Val::lit(0));
    }
    #[inline(always)]
    fn compute(&mut self, site: Site) {
        mark(site.0 as usize);
    }
}

const SFENCE: &[Fence] = &[Fence::Sfence];
const ADR: Dialect = Dialect {
    name: "x86-adr",
    logging: Logging::Software,
    flush: Some(Flush::Clwb),
    order: SFENCE,
    log_path: LogPath::NonTemporal,
    log_to_data: SFENCE,
    durable: SFENCE,
    lock_acquire: &[],
    unlock_release: &[],
    order_is_durable: true,
};
const TEMPORAL: Dialect = Dialect {
    log_path: LogPath::Temporal,
    ..ADR
};
const VOLATILE: Dialect = Dialect {
    logging: Logging::None,
    ..ADR
};
const HARDWARE: Dialect = Dialect {
    logging: Logging::Hardware,
    ..ADR
};

struct Run(Dialect, Bytes, Bytes);
impl Visit for Run {
    type Out = ();
    fn visit<P: Program>(self, p: P) {
        let mut m = Plain {
            dram: vec![0; self.1.0 as usize / 8],
            pm: vec![0; self.2.0 as usize / 8],
        };
        p.setup(&mut m);
        let mut pm = Pm::new(&mut m, self.0);
        run_thread(&p, &mut pm, 0, 0, WARM_UP);
        mark(START);
        run_thread(&p, &mut pm, 0, WARM_UP, WARM_UP + OPS);
        mark(STOP);
    }
}
const WARM_UP: u32 = 20;
const OPS: u32 = 200;

/// Stretches that hold only markers, only loads, only stores.
fn calibrate() {
    let mut m = Plain {
        dram: vec![0; 1024],
        pm: Vec::new(),
    };
    mark(START);
    mark(FIRST);
    mark(EMPTY);
    for i in 0..CALIBRATION_OPS {
        m.load(At::new(Addr(i * 8)));
    }
    mark(LOADS);
    for i in 0..CALIBRATION_OPS {
        m.store(At::new(Addr(i * 8)), Val::lit(i));
    }
    mark(STORES);
    mark(STOP);
}

/// Sizes that keep the traced setup short; a step of a search costs the same in a small structure.
fn small(word: &str) -> Vec<(String, params::Raw)> {
    let ints: &[(&str, i64)] = match word {
        "sps" => &[("entries", 200)],
        "hash" => &[("buckets", 101), ("keys", 400), ("preload", 200)],
        "rbtree" | "bplustree" => &[("keys", 400), ("preload", 200)],
        _ => &[],
    };
    ints.iter()
        .map(|(n, v)| (n.to_string(), params::Raw::Int(*v)))
        .collect()
}

/// The runs: every program under every scheme in both ways of coupling, and once without and with hardware logging.
fn runs() -> Vec<(&'static str, Scheme, Mode, Dialect)> {
    let mut out = Vec::new();
    for about in programs() {
        for scheme in about.schemes {
            out.push((about.word, *scheme, Mode::PerStore, ADR));
            out.push((about.word, *scheme, Mode::Grouped, TEMPORAL));
        }
        out.push((about.word, about.schemes[0], Mode::None, VOLATILE));
        out.push((about.word, about.schemes[0], Mode::Hardware, HARDWARE));
    }
    out
}

/// Every program, or only the one called `only` (to look at its trace). The stream begins with what will be run.
fn run(only: Option<&str>) {
    println!("MARKS {:x}", MARKS.as_ptr() as usize);
    let wanted: Vec<_> = runs().into_iter().filter(|r| only.is_none_or(|w| w == r.0)).collect();
    for (word, scheme, mode, _) in &wanted {
        println!("RUN {word},{},{}", scheme.word(), mode.word());
    }
    std::io::stdout().flush().expect("standard output");
    calibrate();
    for (word, scheme, _, dialect) in wanted {
        let settings = Settings {
            ops: WARM_UP + OPS,
            scheme,
            params: small(word),
            ..Settings::default()
        };
        let size = footprint(word, &settings).expect("a listed program");
        with_program(word, &settings, Run(dialect, size.dram, size.pm)).expect("a listed program");
    }
}

/// What was seen to end at one marker.
#[derive(Default, Clone, Copy)]
struct Seen {
    times: u64,
    instructions: u64,
    operations: u64,
}

fn table() {
    let (mut base, mut seen, mut runs) = (None, BTreeMap::<usize, Seen>::new(), Vec::new());
    let mut names = Vec::new();
    let (mut counting, mut inside, mut now) = (false, false, Seen::default());
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("standard input");
        if let Some(hex) = line.strip_prefix("MARKS ") {
            base = usize::from_str_radix(hex.trim(), 16).ok();
        } else if let Some(name) = line.strip_prefix("RUN ") {
            names.push(name.trim().to_owned());
        } else if line.starts_with("I ") {
            now.instructions += u64::from(counting && !inside);
        } else if let (Some(rest), Some(base)) = (line.strip_prefix(" S "), base) {
            let address = rest
                .split(',')
                .next()
                .and_then(|a| usize::from_str_radix(a.trim(), 16).ok())
                .unwrap_or(0);
            match address.wrapping_sub(base) {
                START => (counting, inside, now) = (true, false, Seen::default()),
                STOP => {
                    counting = false;
                    runs.push(std::mem::take(&mut seen));
                }
                OPEN => inside = true,
                CLOSE => {
                    inside = false;
                    now.operations += u64::from(counting);
                }
                i if i < MARKS.len() && counting => {
                    let s = seen.entry(i).or_default();
                    s.times += 1;
                    s.instructions += now.instructions;
                    s.operations += now.operations;
                    now = Seen::default();
                }
                _ => {}
            }
        }
    }
    print_table(&names, &runs);
}

/// One line for every site of every run: how often it was met, and the mean of the instructions it stands for.
fn print_table(names: &[String], runs: &[BTreeMap<usize, Seen>]) {
    let (calibration, runs) = runs.split_first().expect("the trace holds the calibration");
    assert_eq!(names.len(), runs.len(), "a run is missing from the trace");
    let stretch = |i: usize| calibration[&i].instructions as f64;
    let marker = stretch(EMPTY);
    let operation = (stretch(LOADS) + stretch(STORES) - 2.0 * marker) / (2 * CALIBRATION_OPS) as f64;
    println!("# Generated; the command is at the head of examples/measure_sites.rs. Do not edit.");
    println!(
        "# x86-64, release build; taken out: {marker:.0} instruction(s) a marker, {operation:.1} a call of a memory operation."
    );
    println!("program,scheme,mode,site,times,instructions");
    for (name, run) in names.iter().zip(runs) {
        for (site, word) in sites::NAMES {
            if let Some(s) = run.get(&(site.0 as usize)) {
                let net = s.instructions as f64 - marker * s.times as f64 - operation * s.operations as f64;
                println!("{name},{word},{},{:.1}", s.times, (net / s.times as f64).max(0.0));
            }
        }
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("run") => run(std::env::args().nth(2).as_deref()),
        Some("table") => table(),
        _ => eprintln!("measure_sites run | measure_sites table: see the head of the source"),
    }
}
