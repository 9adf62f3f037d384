//! Host speed of the simulator: instructions and memory operations per second of one core, over programs, designs
//! and media at eight threads. `cargo bench -p fencepost-lab --bench speed [-- OPS]`.

use fencepost_lab::request::Request;

const PROGRAMS: [&str; 2] = ["cq", "sps"];
const DESIGNS: [&str; 5] = ["volatile", "so", "so-adr", "delegated", "delegated-merge"];
const MEDIA: [&str; 3] = ["pwq", "ddr3-1600", "pcm"];

fn main() {
    let ops = std::env::args()
        .filter_map(|a| a.parse().ok())
        .next_back()
        .unwrap_or(2_000);
    let (mut instructions, mut memory, mut runs) = (0.0, 0.0, 0);
    println!(
        "{:8} {:16} {:10} {:>10} {:>10} {:>8}",
        "program", "design", "medium", "Minstr/s", "Mmemop/s", "seconds"
    );
    for program in PROGRAMS {
        for design in DESIGNS {
            for medium in MEDIA {
                let request = Request {
                    program: program.into(),
                    design: design.into(),
                    media: Some(medium.into()),
                    threads: Some(8),
                    ops,
                    ..Request::default()
                };
                let host = fencepost_lab::run::run(&request)
                    .expect("a bench configuration runs")
                    .host;
                instructions += host.minstr_per_s.ln();
                memory += host.mops_per_s.ln();
                runs += 1;
                let (mi, mo, s) = (host.minstr_per_s, host.mops_per_s, host.seconds);
                println!("{program:8} {design:16} {medium:10} {mi:>10.1} {mo:>10.2} {s:>8.3}");
            }
        }
    }
    let mean = |sum: f64| (sum / f64::from(runs)).exp();
    println!(
        "geometric mean over {runs} runs: {:.1} Minstr/s, {:.2} Mmemop/s",
        mean(instructions),
        mean(memory)
    );
}
