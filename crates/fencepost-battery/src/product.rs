//! Every program of the registry on machines and media: small structures, four to eight threads, aborts where the design has
//! them, power failures after every durable event.

use super::found::{Extent, Found};
use fencepost_designs::DesignInfo;
use fencepost_programs::programs;
use fencepost_run::config::Resolved;
use fencepost_run::config::clients::program_of;
use fencepost_run::config::machine::MachineConfig;
use fencepost_run::config::presets::{Kind, names};
use fencepost_run::request::Request;
use fencepost_run::result::Check;
use fencepost_run::run::run_resolved;

/// Caches of a few lines, so that lines leave before and after they are logged.
const SMALL_CACHES: [&str; 2] = ["l1.size=1KiB", "llc.size=4KiB"];

/// Crash points that are examined of one run, evenly spread: SQLite writes pages.
const MOST_POINTS: u64 = 20_000;

/// A small checked run. `round` varies its seed, threads, caches and aborts.
///
/// # Errors
/// No such program or machine.
pub fn request(
    info: &DesignInfo,
    program: &str,
    machine: &str,
    media: Option<&str>,
    round: usize,
) -> Result<Request, String> {
    let about = program_of(program, info).map_err(|e| e.to_string())?;
    let hw_threads = MachineConfig::load(machine, media)
        .map_err(|e| e.to_string())?
        .spec
        .hw_threads();
    let mut sets: Vec<String> = (about.small.iter())
        .map(|(name, value)| format!("program.{program}.{name}={value}"))
        .collect();
    if round % 2 == 1 {
        sets.extend(SMALL_CACHES.map(str::to_owned));
    }
    if round % 3 != 2 && (info.params)().iter().any(|f| f.name == "abort_every") {
        sets.push(format!("design.abort_every={}", 2 + round % 3));
    }
    Ok(Request {
        program: program.into(),
        design: info.name.into(),
        machine: machine.into(),
        media: media.map(str::to_owned),
        threads: Some(u32::from(hw_threads).min(4 + round as u32 % 5)),
        ops: 8,
        warmup: 0,
        seed: 1 + round as u64,
        ack_every: round % 4 == 3,
        check: true,
        budget: Some(MOST_POINTS),
        sets,
        ..Request::default()
    })
}

/// The check of a run.
///
/// # Errors
/// The request is impossible, or the machine got stuck.
pub fn checked(info: &'static DesignInfo, request: &Request) -> Result<Check, String> {
    let resolved = Resolved::with_design(request, info).map_err(|e| e.to_string())?;
    let result = run_resolved(&resolved).map_err(|e| e.to_string())?;
    let stale = result.counters.get("stale_reads").copied().unwrap_or(0);
    if stale > 0 {
        return Err(format!("{stale} reads missed the newest bytes"));
    }
    let mut check = result.check.ok_or("no check was made")?;
    // Whatever software leaves out, hardware keeps its contract where it can.
    check.expected_violations &= !resolved.sound() || check.conforms == Some(true);
    Ok(check)
}

/// Programs on machines and media: the whole product, or each at least once.
pub fn check(info: &'static DesignInfo, d: usize, extent: Extent) -> Found {
    let programs: Vec<&str> = programs().iter().map(|p| p.name).collect();
    let (machines, media) = (names(Kind::Machine), names(Kind::Media));
    let combinations: Vec<(usize, usize, usize)> = if extent.whole_product {
        let pairs = (0..programs.len()).flat_map(|p| (0..machines.len()).map(move |m| (p, m)));
        pairs
            .flat_map(|(p, m)| (0..media.len()).map(move |n| (p, m, n)))
            .collect()
    } else {
        // From design to design every program meets another machine and medium.
        let most = programs.len().max(machines.len()).max(media.len());
        (0..most)
            .map(|i| (i % programs.len(), (i + d) % machines.len(), (i + 3 * d) % media.len()))
            .collect()
    };
    let mut found = Found::default();
    for (round, (p, m, n)) in combinations.into_iter().enumerate() {
        let run = request(info, programs[p], machines[m], Some(media[n]), round + d).map(|r| Request {
            budget: Some(extent.points),
            ..r
        });
        let checked = run.clone().and_then(|r| checked(info, &r));
        found.runs += 1;
        let wrong = match checked {
            Err(why) => Some(why),
            Ok(c) if !c.as_expected() => Some(c.witnesses.first().map_or_else(String::new, |w| w.why.clone())),
            Ok(c) if !c.violated() && c.points < c.points_total.min(extent.points) => {
                Some("crash points were left out".into())
            }
            Ok(c) => {
                if c.points < c.points_total {
                    let (program, machine) = (programs[p], machines[m]);
                    let examined = format!("{} of {} crash points", c.points, c.points_total);
                    found
                        .capped
                        .push(format!("{program} on {machine}, {}: {examined}", media[n]));
                }
                found.reordered += c.reordered;
                found.crash_points += c.points;
                None
            }
        };
        if let Some(why) = wrong {
            let sets = run
                .map(|r| format!("threads {:?}, seed {}, {:?}", r.threads, r.seed, r.sets))
                .unwrap_or_default();
            found.wrong.push(format!(
                "{} on {}, {} ({sets}): {why}",
                programs[p], machines[m], media[n]
            ));
        }
    }
    found
}
