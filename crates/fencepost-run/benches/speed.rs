//! Host speed of the simulator: memory operations per second of one core.
//!
//! Two parts. *product*: every program on five designs over two media at eight threads. *fgc*: the programs of the per-task-committing
//! experiments on its two committing designs, at sixteen threads on its machine, each run followed by sps on eight threads; their
//! ratio says what sixteen threads cost on whatever host it is, as busy as it is.
//!
//! ```text
//! cargo bench -p fencepost-run --bench speed               # both, about 2 million memory operations a run
//! cargo bench -p fencepost-run --bench speed -- quick      # a tenth of that
//! cargo bench -p fencepost-run --bench speed -- fgc        # this part
//! cargo bench -p fencepost-run --bench speed -- cq sps     # these programs
//! ```
//!
//! A short run of each program says how many memory operations one of its operations has; the measured runs are then about equally
//! long. Counted is what runs execute, warm-up included; building the initial memory is not. The rate of a program is the geometric
//! mean over its runs, the last line of a part that over all runs.

use fencepost_programs::WHISPER;
use fencepost_run::LabError;
use fencepost_run::request::Request;
use fencepost_run::run::run;

const DESIGNS: [&str; 5] = ["volatile", "so", "delegated", "x86-adr", "themis"];
const MEDIA: [&str; 2] = ["pwq", "pcm"];
/// Designs of the part with sixteen threads, which runs the WHISPER suite.
const COMMITTING: [&str; 2] = ["global-commit", "per-task-commit"];
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
    fn of(sum: f64, runs: u32) -> f64 {
        (sum / f64::from(runs.max(1))).exp()
    }
    fn text(&self) -> String {
        let mean = |sum: f64| Means::of(sum, self.runs);
        format!("{:>8.1} {:>8.2}", mean(self.instructions), mean(self.memory))
    }
}

/// What runs: a machine (and perhaps its medium) with so many threads.
struct Place {
    machine: &'static str,
    media: Option<&'static str>,
    threads: u32,
}

/// What a run did in a second of a core, in millions, and how many memory operations it had after the warm-up.
struct Rates {
    instructions: f64,
    memory: f64,
    length: f64,
}

fn measured(program: &str, design: &str, place: &Place, ops: u32) -> Result<Rates, LabError> {
    let result = run(&Request {
        program: program.into(),
        design: design.into(),
        machine: place.machine.into(),
        media: place.media.map(Into::into),
        threads: Some(place.threads),
        ops,
        warmup: ops / 10,
        ..Request::default()
    })?;
    let host = result.host.expect("a run of this call");
    let (instructions, memory) = (host.minstr_per_s, host.mops_per_s);
    Ok(Rates {
        instructions,
        memory,
        length: result.instructions as f64 * memory / instructions,
    })
}

/// Operations of a thread in a run of about this length.
fn operations(program: &str, design: &str, place: &Place, length: f64) -> Result<u32, LabError> {
    let pilot = measured(program, design, place, PILOT)?;
    Ok((length * f64::from(PILOT) / pilot.length).clamp(1.0, 1e5) as u32)
}

/// All runs of a program, each on a line.
fn program(name: &str, length: f64) -> Result<Means, LabError> {
    let mut means = Means::default();
    let place = |medium| Place {
        machine: "dpo",
        media: Some(medium),
        threads: 8,
    };
    for design in DESIGNS {
        let ops = operations(name, design, &place(MEDIA[0]), length)?;
        for medium in MEDIA {
            let r = measured(name, design, &place(medium), ops)?;
            let (instructions, memory, all) = (r.instructions, r.memory, r.length);
            println!("{name:12} {design:10} {medium:5} {instructions:>8.1} {memory:>8.2} {all:>10.0}");
            means.add(&Means {
                instructions: instructions.ln(),
                memory: memory.ln(),
                runs: 1,
            });
        }
    }
    println!("{name:12} {:16} {}", "all", means.text());
    Ok(means)
}

/// Logarithms of a program's rates at sixteen threads, and of their ratios to sps at eight.
fn sixteen(name: &str, length: f64) -> Result<Vec<(f64, f64)>, LabError> {
    let (machine, sps) = ("fgc", "sps");
    let (wide, narrow) = (
        Place {
            machine,
            media: None,
            threads: 16,
        },
        Place {
            machine: "dpo",
            media: None,
            threads: 8,
        },
    );
    let beside = operations(sps, DESIGNS[1], &narrow, length)?;
    let mut rates = Vec::new();
    for design in COMMITTING {
        let ops = operations(name, design, &wide, length)?;
        let r = measured(name, design, &wide, ops)?;
        let eight = measured(sps, DESIGNS[1], &narrow, beside)?.memory;
        let (memory, ratio, all) = (r.memory, r.memory / eight, r.length);
        println!("{name:12} {design:16} {memory:>8.2} {eight:>8.2} {ratio:>8.2} {all:>10.0}");
        rates.push((memory.ln(), ratio.ln()));
    }
    Ok(rates)
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let (words, only): (Vec<&String>, Vec<&String>) = args.iter().partition(|a| *a == "quick" || *a == "fgc");
    let length = match words.iter().any(|w| *w == "quick") {
        true => LENGTH / 10.0,
        false => LENGTH,
    };
    let wanted = |name: &str| only.is_empty() || only.iter().any(|o| *o == name);
    if !words.iter().any(|w| *w == "fgc") {
        println!("program      design     medium  Minstr/s Mmemop/s    memops");
        let mut all = Means::default();
        for about in fencepost_programs::programs().iter().filter(|p| wanted(p.name)) {
            match program(about.name, length) {
                Ok(means) => all.add(&means),
                Err(e) => println!("{:12} does not run: {e}", about.name),
            }
        }
        println!("geometric mean of {} runs: {}", all.runs, all.text());
    }
    println!("program      design           Mmemop/s    sps/8    ratio    memops");
    let (mut memory, mut ratio, mut runs) = (0.0, 0.0, 0);
    for design in WHISPER.iter().filter(|w| wanted(w)) {
        match sixteen(design, length) {
            Ok(rates) => {
                for (m, r) in rates {
                    (memory, ratio, runs) = (memory + m, ratio + r, runs + 1);
                }
            }
            Err(e) => println!("{design:12} does not run: {e}"),
        }
    }
    let (memory, ratio) = (Means::of(memory, runs), Means::of(ratio, runs));
    println!("geometric mean of {runs} runs at 16 threads: {memory:.2}, {ratio:.2} times sps at 8 threads");
}
