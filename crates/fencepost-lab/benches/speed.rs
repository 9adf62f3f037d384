//! Host speed of the simulator: memory operations per second of one core, every program on five designs over two media at eight
//! threads.
//!
//! ```text
//! cargo bench -p fencepost-lab --bench speed               # all, about 2 million memory operations a run
//! cargo bench -p fencepost-lab --bench speed -- quick      # a tenth of that
//! cargo bench -p fencepost-lab --bench speed -- cq sps     # these programs
//! ```
//!
//! A short run of each program says how many memory operations one of its operations has; the measured runs are then about equally
//! long. Counted is what runs execute, warm-up included; building the initial memory is not. The rate of a program is the geometric
//! mean over its runs, the last line that over all runs.

use fencepost_lab::LabError;
use fencepost_lab::request::Request;
use fencepost_lab::run::run;

const DESIGNS: [&str; 5] = ["volatile", "so", "delegated", "x86-adr", "themis"];
const MEDIA: [&str; 2] = ["pwq", "pcm"];
const THREADS: u32 = 8;
/// Memory operations of one run.
const LENGTH: f64 = 2e6;
/// Operations of a thread in the run that says how long they are.
const PILOT: u32 = 20;

/// Sums of logarithms.
#[derive(Default)]
struct Means {
    instructions: f64,
    memory: f64,
    runs: u32,
}
impl Means {
    fn add(&mut self, other: &Means) {
        self.instructions += other.instructions;
        self.memory += other.memory;
        self.runs += other.runs;
    }
    fn text(&self) -> String {
        let mean = |sum: f64| (sum / f64::from(self.runs.max(1))).exp();
        format!("{:>8.1} {:>8.2}", mean(self.instructions), mean(self.memory))
    }
}

/// Instructions and memory operations, in millions per second, and memory operations after the warm-up.
fn measured(program: &str, design: &str, medium: &str, ops: u32) -> Result<[f64; 3], LabError> {
    let result = run(&Request {
        program: program.into(),
        design: design.into(),
        media: Some(medium.into()),
        threads: Some(THREADS),
        ops,
        warmup: ops / 10,
        ..Request::default()
    })?;
    let (instructions, memory) = (result.host.minstr_per_s, result.host.mops_per_s);
    let share = memory / instructions;
    Ok([instructions, memory, result.instructions as f64 * share])
}

/// All runs of a program, each on a line.
fn program(word: &str, length: f64) -> Result<Means, LabError> {
    let mut means = Means::default();
    for design in DESIGNS {
        let [.., pilot] = measured(word, design, MEDIA[0], PILOT)?;
        let ops = (length * f64::from(PILOT) / pilot).clamp(1.0, 1e5) as u32;
        for medium in MEDIA {
            let [instructions, memory, all] = measured(word, design, medium, ops)?;
            println!("{word:12} {design:10} {medium:5} {instructions:>8.1} {memory:>8.2} {all:>10.0}");
            means.add(&Means {
                instructions: instructions.ln(),
                memory: memory.ln(),
                runs: 1,
            });
        }
    }
    println!("{word:12} {:16} {}", "all", means.text());
    Ok(means)
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let (quick, only): (Vec<&String>, Vec<&String>) = args.iter().partition(|a| *a == "quick");
    let length = if quick.is_empty() { LENGTH } else { LENGTH / 10.0 };
    println!("program      design     medium  Minstr/s Mmemop/s    memops");
    let mut all = Means::default();
    for about in fencepost_programs::programs() {
        if !only.is_empty() && !only.iter().any(|o| *o == about.word) {
            continue;
        }
        match program(about.word, length) {
            Ok(means) => all.add(&means),
            Err(e) => println!("{:12} does not run: {e}", about.word),
        }
    }
    println!("geometric mean of {} runs: {}", all.runs, all.text());
}
