//! Measures what every compute site costs, on the native build of the programs.
//!
//! ```text
//! cargo build --release -p fencepost-programs --example measure_sites
//! valgrind --tool=lackey --trace-mem=yes --log-fd=1 target/release/examples/measure_sites run \
//!     | target/release/examples/measure_sites table > crates/fencepost-programs/src/sites/table.rs
//! ```
//!
//! `run` executes every program under every scheme on plain memory. A compute marker is a store to a byte of its own, and so
//! is the beginning and end of every memory operation: the tracer prints each instruction and each store, so the stream shows
//! which instructions lie between two markers and outside memory operations. `table` attributes them to the marker that ends the
//! stretch. What it costs to call a marker or a memory operation is measured the same way on stretches that hold
//! nothing else, and subtracted.

use fencepost_kernel::units::PM_BASE;
use fencepost_kernel::*;
use fencepost_programs::{Settings, Visit, footprint, programs, sites, with_program};
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
const WARM_UP: u32 = 5;
const OPS: u32 = 25;

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

/// Every program, or only the one called `only` (to look at its trace).
fn run(only: Option<&str>) {
    println!("MARKS {:x}", MARKS.as_ptr() as usize);
    std::io::stdout().flush().expect("standard output");
    calibrate();
    for about in programs().iter().filter(|a| only.is_none_or(|w| w == a.word)) {
        for scheme in about.schemes {
            for dialect in [ADR, TEMPORAL] {
                let (scheme, params) = (*scheme, small(about.word));
                let settings = Settings {
                    ops: 100,
                    scheme,
                    params,
                    ..Settings::default()
                };
                let size = footprint(about.word, &settings).expect("a listed program");
                with_program(about.word, &settings, Run(dialect, size.dram, size.pm)).expect("a listed program");
            }
        }
        // Nothing but structure and locks: the instructions that every scheme shares.
        let (scheme, params) = (about.schemes[0], small(about.word));
        let settings = Settings {
            ops: 100,
            scheme,
            params,
            ..Settings::default()
        };
        let size = footprint(about.word, &settings).expect("a listed program");
        let volatile = Dialect {
            logging: Logging::None,
            ..ADR
        };
        with_program(about.word, &settings, Run(volatile, size.dram, size.pm)).expect("a listed program");
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
    let (mut counting, mut inside, mut now) = (false, false, Seen::default());
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("standard input");
        if let Some(hex) = line.strip_prefix("MARKS ") {
            base = usize::from_str_radix(hex.trim(), 16).ok();
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
    print_table(&runs);
}

/// Every run counts alike: a site's cost is the median over the runs that met it of its mean in the run.
fn print_table(runs: &[BTreeMap<usize, Seen>]) {
    let (calibration, runs) = runs.split_first().expect("the trace holds the calibration");
    let stretch = |i: usize| calibration[&i].instructions as f64;
    let marker = stretch(EMPTY);
    let operation = (stretch(LOADS) + stretch(STORES) - 2.0 * marker) / (2 * CALIBRATION_OPS) as f64;
    println!("//! Generated; the command is at the head of `examples/measure_sites.rs`. Do not edit.");
    println!("//!");
    println!(
        "//! x86-64, release build; {marker:.0} instruction(s) a marker and {operation:.1} a call of a memory operation taken out."
    );
    println!();
    println!(
        "/// Site, instructions each time; how often and in how many runs it was met, smallest and largest mean of a run."
    );
    println!("pub(super) const INSTRUCTIONS: &[(&str, u32)] = &[");
    for (site, name) in sites::NAMES {
        let of_run = |s: &Seen| {
            let net = s.instructions as f64 - marker * s.times as f64 - operation * s.operations as f64;
            (net / s.times as f64).max(0.0)
        };
        let met: Vec<&Seen> = runs.iter().filter_map(|r| r.get(&(site.0 as usize))).collect();
        let (times, n) = (met.iter().map(|s| s.times).sum::<u64>(), met.len());
        if n == 0 {
            continue;
        }
        let mut means: Vec<f64> = met.iter().map(|s| of_run(s)).collect();
        means.sort_by(f64::total_cmp);
        let (low, median, high) = (means[0], means[n / 2].round(), means[n - 1]);
        println!("    (\"{name}\", {median}), // {times} times in {n} runs, {low:.0} to {high:.0}");
    }
    println!("];");
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("run") => run(std::env::args().nth(2).as_deref()),
        Some("table") => table(),
        _ => eprintln!("measure_sites run | measure_sites table: see the head of the source"),
    }
}
