//! Counts the instructions of the programs: what every compute site costs, and whole operations beside hand-written ones.
//!
//! ```text
//! cargo build --profile count -p fencepost-programs --bench instructions
//! target/count/deps/instructions-* sites   > crates/fencepost-programs/src/sites/measured.csv
//! target/count/deps/instructions-* compare > crates/fencepost-programs/src/sites/reference.csv
//! ```
//!
//! Both need valgrind, `compare` a C compiler too. The programs run on mapped memory on which every operation is one instruction, compiled
//! for one dialect and one way of logging at a time: this is the code that a native run executes.
//!
//! `sites` runs every program under every scheme and mode with `lackey`, which prints each instruction with its accesses. A compute marker
//! is a store to a byte of its own: the stream shows which instructions lie between two markers, and they are attributed to the
//! one that ends the stretch. Memory operations and markers are not counted. `compare` counts whole operations with `callgrind`,
//! as the difference of two runs, of our programs and of the C programs in `benches/reference`. Both take a program's name, to measure
//! it alone.

mod choice;
mod compare;
mod memory;
mod trace;

use choice::{Choice, Run, WAYS, runs};
use fencepost_kernel::{Pm, Program, run_batch};
use fencepost_programs::{Settings, Visit, footprint, with_program};
use memory::{Mapping, Memory, START, STOP, mark};
use std::io::Write;

/// Operations before the counted ones.
const WARM_UP: u32 = 20;
/// Inputs made for a counted run, whatever the number of its operations.
const MOST: u32 = 10_000;

/// Runs a program on mapped memory, compiled for the run's choice.
struct Execute {
    run: Run,
    ops: u32,
    traced: bool,
    settings: Settings,
}
impl Visit for Execute {
    type Out = ();
    fn visit<P: Program>(self, program: P) {
        let size = footprint(self.run.program, &self.settings).expect("a listed program");
        let _mapping = Mapping::new(size.dram.0, size.pm.0);
        program.setup(&mut Memory::<choice::Volatile, false>::new());
        let inputs: Vec<P::Input> = (0..self.settings.ops).map(|k| program.input(0, k)).collect();
        choice::dispatch(
            self.run.choice,
            &Stretch {
                program,
                inputs,
                ops: self.ops,
                traced: self.traced,
            },
        );
    }
}

/// The counted stretch of a run.
pub struct Stretch<P: Program> {
    program: P,
    inputs: Vec<P::Input>,
    ops: u32,
    traced: bool,
}
impl<P: Program> Stretch<P> {
    /// Runs it compiled for `C`.
    pub fn run<C: Choice>(&self) {
        if self.traced {
            self.batches::<C, true>();
        } else if C::COUNTED {
            self.batches::<C, false>();
        }
    }
    fn batches<C: Choice, const MARKED: bool>(&self) {
        let mut memory = Memory::<C, MARKED>::new();
        let mut pm = Pm::new(&mut memory, C::BUILD.dialect);
        let (warm, counted) = self.inputs.split_at(WARM_UP as usize);
        run_batch(&self.program, &mut pm, 0, 0, warm);
        if MARKED {
            mark(START);
        }
        run_batch(&self.program, &mut pm, 0, WARM_UP, &counted[..self.ops as usize]);
        if MARKED {
            mark(STOP);
        }
    }
}

fn execute(run: Run, ops: u32, inputs: u32, traced: bool, params: Vec<(String, fencepost_kernel::params::Raw)>) {
    let settings = Settings {
        ops: WARM_UP + inputs,
        scheme: run.scheme,
        params,
        ..Settings::default()
    };
    let execute = Execute {
        run,
        ops,
        traced,
        settings: settings.clone(),
    };
    with_program(run.program, &settings, execute).expect("a listed program");
}

/// The traced runs of a program, announced before each on standard output.
fn traced(program: &str) {
    println!("MARKS {:x}", memory::marks());
    for run in runs().into_iter().filter(|r| r.program == program) {
        println!("RUN {},{},{}", run.program, run.scheme.name(), run.mode.name());
        std::io::stdout().flush().expect("standard output");
        let ops = choice::traced_ops(run.program);
        execute(run, ops, ops, true, choice::small(run.program));
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["sites"] => trace::sites(None),
        ["sites", program] => trace::sites(Some(program)),
        ["compare"] => compare::compare(None),
        ["compare", program] => compare::compare(Some(program)),
        ["traced", program] => traced(program),
        ["counted", program, way, ops] => {
            let way = WAYS.iter().find(|w| w.name == way).expect("a way");
            let run = way.run(program).expect("a program that has it");
            execute(
                run,
                ops.parse().expect("a number"),
                MOST,
                false,
                choice::counted(run.program),
            );
        }
        _ => eprintln!("instructions sites | compare: see the head of the source"),
    }
}
