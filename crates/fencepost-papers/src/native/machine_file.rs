//! A machine file that simulates this machine.

use super::core_file::{Width, fences, flush_holds, width};
use super::micro::{Sequence, simulated};
use super::runs::refused;
use fencepost_native::{Calibration, FlushWith};
use fencepost_run::LabError;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A measured machine and its file.
#[derive(Clone, Debug, Serialize)]
pub struct Calibrated {
    /// The file written.
    pub file: PathBuf,
    /// What was measured, in nanoseconds.
    pub measured: Calibration,
    /// How fences execute in the file, and the measurement that says so.
    pub fences: String,
    /// Sequences simulated on the file, beside their measurement.
    pub simulates: Vec<Simulates>,
}
/// One of them.
#[derive(Clone, Debug, Serialize)]
pub struct Simulates {
    /// The sequence.
    pub what: &'static str,
    /// Nanoseconds measured.
    pub measured: f64,
    /// Nanoseconds simulated.
    pub simulated: f64,
}

/// Measures this machine and writes its file; flushes are none of `without`.
pub fn calibrate(file: &Path, without: &[FlushWith]) -> Result<Calibrated, LabError> {
    let measured = fencepost_native::calibrate(without).map_err(refused)?;
    write(measured, file)
}

/// Writes the file of measurements. What no single measurement gives (the way to memory, the acknowledgement of a non-temporal store)
/// is set so that the measured sequences take as long simulated; nothing is set from a program.
pub(crate) fn write(measured: Calibration, file: &Path) -> Result<Calibrated, LabError> {
    // Tried out under another name: a file that cannot be made right is not left behind.
    let trial = Trial::new();
    let name = trial.0.to_string_lossy().into_owned();
    let mut open = Open::default();
    for _ in 0..3 {
        trial.put(&text(&measured, &open))?;
        open.step(&measured, &name)?;
    }
    let text = text(&measured, &open);
    trial.put(&text)?;
    let pairs = [
        ("store, flush, sfence on one line", measured.pair_hot, Sequence::Pair),
        ("movnti, sfence", measured.nt_fence, Sequence::NonTemporal),
        ("load from memory", measured.memory_load, Sequence::Load),
        // Nothing is set from these two: they tell how sequences of a program follow from the single ones.
        (
            "16 logged stores, a fence each",
            measured.transaction[0],
            Sequence::Logged(true),
        ),
        (
            "16 logged stores without them",
            measured.transaction[1],
            Sequence::Logged(false),
        ),
    ];
    let mut simulates = Vec::new();
    for (what, measured, sequence) in pairs {
        let simulated = simulated(&name, &[], sequence)?;
        simulates.push(Simulates {
            what,
            measured: measured.min,
            simulated,
        });
    }
    std::fs::write(file, text).map_err(|e| LabError::file("write", file, e))?;
    Ok(Calibrated {
        file: file.to_owned(),
        fences: fences(&measured).1,
        measured,
        simulates,
    })
}

/// A file of the temporary folder, removed when dropped.
struct Trial(PathBuf);
impl Trial {
    fn new() -> Trial {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        Trial(std::env::temp_dir().join(format!("fencepost-machine-{}-{n}.toml", std::process::id())))
    }
    fn put(&self, text: &str) -> Result<(), LabError> {
        std::fs::write(&self.0, text).map_err(|e| LabError::file("write", &self.0, e))
    }
}
impl Drop for Trial {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Picoseconds that follow from sequences as a whole.
#[derive(Copy, Clone, Debug)]
struct Open {
    /// `bus.to_memory`: a load pays it each way.
    to_memory: f64,
    /// `bus.transfer`: a flushed line pays it on its way from the private caches, and so does one that another core asks for.
    transfer: f64,
    /// `ack_latency` of the non-temporal path.
    ack: f64,
}
impl Default for Open {
    fn default() -> Open {
        Open {
            to_memory: 20_000.0,
            transfer: 50_000.0,
            ack: 50_000.0,
        }
    }
}
/// The way by which slopes are found, in picoseconds.
const NUDGE: f64 = 4000.0;
impl Open {
    /// One step of Newton's method on each; the simulated times are linear in them, but for the alignment to clocks.
    fn step(&mut self, measured: &Calibration, machine: &str) -> Result<(), LabError> {
        let towards = |now: f64, wanted: f64, sequence, keys: &[&str]| -> Result<f64, LabError> {
            let set = |ps: f64| keys.iter().map(|k| format!("{k}={}ps", ps.round())).collect::<Vec<_>>();
            let here = simulated(machine, &set(now), sequence)?;
            let slope = (simulated(machine, &set(now + NUDGE), sequence)? - here) / NUDGE;
            Ok(if slope > 0.0 {
                (now + (wanted - here) / slope).max(0.0)
            } else {
                now
            })
        };
        self.to_memory = towards(
            self.to_memory,
            measured.memory_load.min,
            Sequence::Load,
            &["bus.to_memory"],
        )?;
        self.transfer = towards(self.transfer, measured.pair_hot.min, Sequence::Pair, &["bus.transfer"])?;
        let ack = ["design.x86-adr.ack_latency"];
        self.ack = towards(self.ack, measured.nt_fence.min, Sequence::NonTemporal, &ack)?;
        Ok(())
    }
}

/// The largest cache of whole sets, a power of two of them, that has these ways and is not larger.
fn whole_sets(bytes: u64, ways: u32) -> u64 {
    let set = 64 * u64::from(ways.max(1));
    let sets = (bytes / set).max(1);
    set << sets.ilog2()
}

/// The text of the file.
fn text(m: &Calibration, open: &Open) -> String {
    let ps = |ns: f64| format!("{}ps", (ns * 1000.0).round().max(1.0));
    let level = |i: usize| m.caches.get(i.min(m.caches.len().saturating_sub(1))).copied();
    let level = |i: usize| level(i).map_or((32 << 10, 8, 1.0 + i as f64), |(bytes, ways, ns)| (bytes, ways, ns.min));
    let (l1, last) = (level(0), level(m.caches.len().saturating_sub(1)));
    let Width {
        dispatched: (width, dispatched),
        computed: (ipc, computed),
    } = width(m);
    let cache = |name: &str, (bytes, ways, _): (u64, u32, f64), ns: f64, mshrs: u32| {
        format!(
            "[{name}]\nsize = \"{}B\" # measured: as the kernel reports it\nways = {ways} # measured: as the kernel reports it\n\
             latency = \"{}\" # measured: dependent loads, less what the level before takes\nmshrs = {mshrs} # ours: not measured\n\
             writeback_buffer = 16 # ours: not measured\n\n",
            whole_sets(bytes, ways),
            ps(ns)
        )
    };
    let mut t = format!(
        "about = \"{}, measured; memory is DRAM\"\nextends = \"themis\"\n\n",
        m.cpu.replace('"', "")
    );
    t += "[memory]\ndram = \"ddr4-2400\" # ours: what the machine has is not known\npm = \"ddr4-2400\" # ours: the page cache lies in DRAM\n\n";
    let _ = write!(
        t,
        "[core]\ncores = {} # measured: hardware threads this process may use\nclock = \"{}Hz\" # measured: a chain of additions\n\
         dispatch_width = {width} # {dispatched}\ncommit_width = {width} # measured: as dispatch\n\
         compute_ipc = {ipc} # {computed}\nfence_execution = \"{}\" # measured: additions behind a fence\n\
         rob = 256 # ours: not measured; of present cores\nload_queue = 72 # ours: not measured\nstore_queue = 64 # ours: not measured\n\n",
        m.cores.min(64),
        (m.ghz * 1e9).round(),
        fences(m).0
    );
    t += &cache("l1", l1, l1.2, 12);
    if m.caches.len() > 2 {
        t += &cache("l2", level(1), level(1).2 - l1.2, 32);
    }
    let before = if m.caches.len() > 2 { level(1).2 } else { l1.2 };
    // Arbitration and snoop of the bus lie between the private caches and the last level.
    t += &cache("llc", last, (last.2 - before - BUS_NS).max(1.0), 64);
    let _ = write!(
        t,
        "[bus]\narbitration = \"500ps\" # ours\nsnoop = \"1500ps\" # ours\nto_memory = \"{}ps\" # measured: a load from memory takes {:.0} ns\n\
         transfer = \"{}ps\" # measured: store, flush and sfence take {:.0} ns; lines from another core's cache pay it too\n\n",
        open.to_memory.round(),
        m.memory_load.min,
        open.transfer.round(),
        m.pair_hot.min
    );
    for design in ["x86-adr", "x86-ideal", "themis"] {
        let _ = write!(
            t,
            "[design.{design}]\nack_latency = \"{}ps\" # measured: a non-temporal store and sfence take {:.0} ns\n\
             drain_gap = \"{}\" # measured: a stream of whole lines\nflush_holds = {} # measured: store, flush and load of a line take {:.0} ns, {:.0} without the load\n\n",
            open.ack.round(),
            m.nt_fence.min,
            ps(m.nt_stream.min),
            flush_holds(m),
            m.flush_load.min,
            m.flush_stream.min
        );
    }
    t
}
/// Arbitration and snoop, as the file has them.
const BUS_NS: f64 = 2.0;

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use fencepost_native::{Computing, Times};

    pub(crate) fn ns(min: f64) -> Times {
        Times { min, median: min }
    }
    /// A machine of round numbers.
    pub(crate) fn invented() -> Calibration {
        Calibration {
            cpu: "an \"invented\" CPU".into(),
            flush_instruction: "clwb",
            cores: 2,
            ghz: 2.5,
            adds_per_ns: 10.0,
            caches: vec![
                (32 << 10, 8, ns(2.0)),
                (512 << 10, 8, ns(6.0)),
                (24 << 20, 12, ns(20.0)),
            ],
            memory_load: ns(110.0),
            fence: ns(1.0),
            pair_hot: ns(150.0),
            pair_random: ns(150.0),
            flush_stream: ns(7.0),
            flush_load: ns(160.0),
            flush_clean: ns(140.0),
            nt_fence: ns(100.0),
            nt_line_fence: ns(100.0),
            nt_stream: ns(3.0),
            nt_record: ns(1.0),
            lock: ns(8.0),
            fence_over: vec![(0, ns(100.0)), (256, ns(100.0)), (1024, ns(110.0))],
            flush_over: vec![(0, ns(150.0))],
            transaction: [ns(2000.0), ns(400.0)],
            computing: Computing {
                instructions: Some(1550.0),
                time: ns(200.0),
                cycles: 500.0,
            },
            batches: 1,
            disturbed: 0,
        }
    }
    #[test]
    fn the_file_simulates_what_was_measured() {
        let file = std::env::temp_dir().join(format!("fencepost-machine-test-{}.toml", std::process::id()));
        let c = write(invented(), &file).unwrap();
        // The sequences that something is set from.
        for s in &c.simulates[..3] {
            assert!((s.simulated / s.measured - 1.0).abs() < 0.03, "{s:?}");
        }
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        // 24 MiB in 12 ways are 32,768 sets.
        assert!(text.contains(&format!("size = \"{}B\"", 24 << 20)) && text.contains("fence_execution = \"buffered\""));
    }
    #[test]
    fn a_cache_has_a_power_of_two_of_sets() {
        assert_eq!(whole_sets(24 << 20, 12), 24 << 20);
        assert_eq!(whole_sets(40 << 20, 16), 32 << 20);
    }
}
