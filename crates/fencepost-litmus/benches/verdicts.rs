//! Tests a second of CPU time, reading included: the named tests of each instruction set under its model.

use cpu_time::ProcessTime;
use fencepost_litmus::generate::{Size, suite};
use fencepost_litmus::{Arch, Model, Outcome, parse};

fn main() {
    let size = Size { edges: 6, threads: 3 };
    for arch in [Arch::X86, Arch::Ppc, Arch::Arm, Arch::AArch64] {
        let tests = suite(arch, size);
        let (start, mut states, mut rounds) = (ProcessTime::now(), 0, 0);
        while start.elapsed().as_secs() < 2 {
            for (name, text) in &tests {
                let test = parse(text).unwrap_or_else(|e| panic!("{name}: {e}"));
                let outcome = Outcome::of(&test, Model::of(arch)).unwrap_or_else(|e| panic!("{name}: {e}"));
                states += outcome.states.len();
            }
            rounds += 1;
        }
        let rate = (rounds * tests.len()) as f64 / start.elapsed().as_secs_f64();
        println!(
            "{arch}: {rate:.0} tests a second ({} tests, {states} states in {rounds} rounds)",
            tests.len()
        );
    }
}
