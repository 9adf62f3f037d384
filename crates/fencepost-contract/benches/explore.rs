//! How fast crash states are explored. `cargo bench -p fencepost-contract --bench explore` prints one line a case.

#[path = "../tests/main/explore_common/mod.rs"]
mod common;

use common::sps::{BARRIERS, Sps, Variant, X86};
use common::{lines, random_trace};
use fencepost_contract::ContractKind;
use fencepost_contract::explore::{CrashCheck, Explorer, ProgramRun, Report, plain, steps};
use fencepost_kernel::{Image, Stream};
use std::time::Instant;

fn timed<T>(f: impl FnOnce() -> T) -> (T, f64) {
    let begun = Instant::now();
    let result = f();
    (result, begun.elapsed().as_secs_f64())
}
fn line(what: &str, report: &Report, seconds: f64) {
    let rate = report.recoveries as f64 / seconds;
    let Report {
        crash_points,
        recoveries,
        steps,
        merges,
        verdict,
        ..
    } = report;
    println!(
        "{what:<46} {crash_points:>6} points {recoveries:>8} recoveries {steps:>9} steps {merges:>7} merges \
         {:>9.2} ms {rate:>10.0} recoveries/s  {verdict}",
        seconds * 1e3
    );
}

fn main() {
    for k in [10, 64, 256, 1024] {
        let space = lines::space(k, true);
        let (report, t) = timed(|| Explorer::new(&space).explore(&mut steps(&lines::by_steps(k))).unwrap());
        line(&format!("{k} independent lines, steps"), &report, t);
        let (report, t) = timed(|| {
            Explorer::new(&space)
                .explore(&mut plain(lines::with_cuts(k, true)))
                .unwrap()
        });
        line(&format!("{k} independent lines, plain with cuts"), &report, t);
    }
    let space = lines::space(14, true);
    let (report, t) = timed(|| {
        Explorer::new(&space)
            .explore(&mut plain(lines::with_cuts(14, false)))
            .unwrap()
    });
    line("14 independent lines, plain, no cuts", &report, t);

    small_programs();
    for (kind, variant) in [
        (ContractKind::None, Variant::Right),
        (ContractKind::Px86Pcommit, Variant::Right),
        (ContractKind::Px86, Variant::NoDataFlush),
        (ContractKind::Px86, Variant::NoLogFence),
    ] {
        let program = Sps {
            cells: 250,
            threads: 1,
            variant,
        };
        let run = ProgramRun {
            dialect: X86,
            threads: 1,
            ops: 1000,
            ack_every: false,
        };
        let (report, t) = timed(|| CrashCheck::new(kind).program(&program, run).unwrap());
        line(&format!("1000 swaps, {variant:?}, {kind}"), &report, t);
    }
    for kind in [ContractKind::Px86, ContractKind::Eadr, ContractKind::StrictSc] {
        let program = Sps {
            cells: 250,
            threads: 4,
            variant: Variant::Right,
        };
        let run = ProgramRun {
            dialect: X86,
            threads: 4,
            ops: 250,
            ack_every: false,
        };
        let (report, t) = timed(|| CrashCheck::new(kind).program(&program, run).unwrap());
        line(&format!("4 x 250 swaps, undo log, {kind}"), &report, t);
    }
    large();
    for (kind, dialect) in [
        (ContractKind::Px86, X86),
        (ContractKind::Epoch, BARRIERS),
        (ContractKind::StrictTso, BARRIERS),
    ] {
        for ops in [125, 250, 500, 1000] {
            let program = Sps {
                cells: u64::from(ops) / 4,
                threads: 1,
                variant: Variant::Right,
            };
            let run = ProgramRun {
                dialect,
                threads: 1,
                ops,
                ack_every: false,
            };
            let (report, t) = timed(|| CrashCheck::new(kind).program(&program, run).unwrap());
            line(&format!("{ops} swaps, undo log, {kind}"), &report, t);
        }
    }
}

/// A long execution over little data: what depends on the length must not depend on its square.
fn large() {
    let program = Sps {
        cells: 100,
        threads: 1,
        variant: Variant::Right,
    };
    let run = ProgramRun {
        dialect: X86,
        threads: 1,
        ops: 10_000,
        ack_every: false,
    };
    let (report, t) = timed(|| CrashCheck::new(ContractKind::Px86).program(&program, run).unwrap());
    line("10000 swaps of 100 cells, 110000 stores, px86", &report, t);
}

/// Many short executions, each explored from scratch: recoveries per second, everything included.
fn small_programs() {
    let mut rng = Stream::new(5, "bench");
    let mut total: Option<Report> = None;
    let mut cases = Vec::new();
    for _ in 0..2_000 {
        let trace = random_trace(&mut rng, 12, 6);
        let space = fencepost_contract::Contract::from(ContractKind::Px86).space(&trace, &Image::default());
        let mut recovery = common::Nosy::random(&mut rng, 6);
        recovery.bad = 255;
        cases.push((space, recovery));
    }
    let ((), t) = timed(|| {
        for (space, recovery) in &cases {
            let report = Explorer::new(space).explore(&mut steps(recovery)).unwrap();
            match &mut total {
                Some(total) => total.join(report),
                None => total = Some(report),
            }
        }
    });
    line(
        "2000 random programs of 12 stores, px86",
        &total.expect("there are cases"),
        t,
    );
}
