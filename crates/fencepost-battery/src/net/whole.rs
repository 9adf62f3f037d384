//! Programs in the sizes in which users run them: all of them on every design that accepts them, with 3, 4 and 8 threads.

use crate::command::Command;
use crate::product;
use fencepost_designs::{DesignInfo, all as designs};
use fencepost_programs::programs;
use fencepost_run::config::Resolved;
use fencepost_run::config::presets::{Kind, names};
use fencepost_run::request::Request;

/// Threads of the runs.
pub const THREADS: [u32; 3] = [3, 4, 8];
/// Measured operations of each thread, and those before.
const OPS: u32 = 6;
const WARM_UP: u32 = 2;
/// Crash points that are examined of one run.
pub const POINTS: u64 = 8;

/// Every such run once, neighbours having little in common.
pub fn runs() -> Vec<Command> {
    let programs: Vec<&'static str> = programs().iter().map(|p| p.name).collect();
    let each = (0..programs.len()).flat_map(|p| (0..designs().len()).map(move |d| (p, d)));
    let each = each.flat_map(|(p, d)| THREADS.map(|t| (p, d, t)));
    let all = each.filter_map(|(p, d, t)| run(programs[p], &designs()[d], p + d, t));
    crate::commands::scattered(all.collect())
}

/// The run on a medium where the design keeps its promise. Machines with fewer hardware threads get cores.
fn run(program: &str, info: &'static DesignInfo, at: usize, threads: u32) -> Option<Command> {
    let (machines, media) = (names(Kind::Machine), names(Kind::Media));
    let machine = machines[(at + threads as usize) % machines.len()];
    let sound = (0..media.len()).find_map(|i| {
        let mut request = product::request(info, program, machine, Some(media[(i + at) % media.len()]), at).ok()?;
        request.sets = vec![format!("core.cores={}", threads.max(4))];
        request.threads = Some(threads);
        (request.ops, request.warmup) = (OPS, WARM_UP);
        request.budget = Some(POINTS);
        sound(info, &request).then_some(request)
    });
    sound.map(|request| Command::Run(info, request))
}

fn sound(info: &'static DesignInfo, request: &Request) -> bool {
    Resolved::with_design(request, info).is_ok_and(|r| r.sound())
}
