//! A recorded log on the simulated machine.

use crate::body::{self, Together};
use crate::check::{CheckRequest, LoggedCheck, check};
use crate::log::{load, texts};
use crate::marks::{Marks, warnings};
use crate::translate::{has_clflush, translate};
use fencepost_contract::recorded::RecordedLog;
use fencepost_kernel::{HwThread, LineAddr};
use fencepost_machine::{Counters, Machine, Workload};
use fencepost_run::config::Resolved;
use fencepost_run::host::{Host, Stopwatch};
use fencepost_run::judge::nothing_to_judge;
use fencepost_run::outcome::stalls;
use fencepost_run::request::Request;
use fencepost_run::simulate::{build_design, refuse, warning};
use fencepost_run::{BadInput, LabError};
use rustc_hash::FxHashSet;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

/// A recorded log to be run on a design.
#[derive(Clone, Debug)]
pub struct LogRequest {
    /// The log.
    pub log: PathBuf,
    /// Memory before it; zero if absent.
    pub image: Option<PathBuf>,
    /// Design, machine, medium and settings; the rest has no effect.
    pub request: Request,
    /// Recovery and audit, to run on what is durable at crash points.
    pub check: Option<CheckRequest>,
}

/// What a recorded log took on a design.
#[derive(Clone, Debug, Serialize)]
pub struct LoggedRun {
    /// The log.
    pub log: String,
    /// Design word.
    pub design: String,
    /// Machine word.
    pub machine: String,
    /// Medium word.
    pub media: String,
    /// Threads of the log.
    pub threads: u32,
    /// Operations that ended.
    pub ops: u64,
    /// Simulated time.
    pub time_ps: u64,
    /// Instructions simulated.
    pub instructions: u64,
    /// Of those, instructions between the log's events, as it counts them.
    pub instructions_between: u64,
    /// Time in which threads worked, summed.
    pub busy_ps: u64,
    /// Time in which threads waited, by cause, summed.
    pub stalls: BTreeMap<String, u64>,
    /// Lines read from persistent memory.
    pub pm_reads: u64,
    /// Lines written to persistent memory.
    pub pm_writes: u64,
    /// Durable events.
    pub durable_events: u64,
    /// How the log was translated.
    pub note: String,
    /// What the program loses by it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What recovery says of the run's crash points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<LoggedCheck>,
    /// What the simulation took.
    pub host: Host,
}

/// Runs a recorded log on a design.
///
/// # Errors
/// A log that cannot be read; a configuration that is impossible; a design whose transactions the log does not mark.
pub fn run_log(request: &LogRequest) -> Result<LoggedRun, LabError> {
    let loaded = load(&request.log, 0, request.image.as_deref())?;
    let log = &loaded.log;
    if log.trace.events.iter().all(|e| e.thread.is_none()) {
        return Err(BadInput::new(format!("{}: no thread does anything", request.log.display())).into());
    }
    if request.check.is_some() {
        nothing_to_judge(&request.log, log)?;
    }
    let resolved = Resolved::resolve(&Request {
        threads: Some(log.trace.threads),
        ..request.request.clone()
    })?;
    let dialect = resolved.dialect();
    let mut warnings = warnings(log, dialect, resolved.design.name)?;
    let executions = texts(&request.log)?.len();
    warnings.extend(only_the_first(executions));
    warnings.extend(request.check.as_ref().and_then(|_| warning(&resolved)));
    let translated = translate(log, dialect, resolved.design.promise.honours);
    let together = Rc::new(Together::default());
    let machine_of = |record| -> Result<Machine, LabError> {
        let work = Workload {
            initial: log.initial.clone(),
            threads: body::bodies(&translated, dialect, &together),
            sites: body::sites(),
            resident: resident(log).into_iter().collect(),
            warm_up: 0,
            record,
        };
        Machine::new(&resolved.machine.spec, build_design(&resolved)?, work).map_err(refuse)
    };
    let machine = machine_of(request.check.is_some())?;
    let begun = Stopwatch::start();
    let ran = machine.run();
    if together.is_stuck() {
        return Err(stuck(resolved.design.name).into());
    }
    let report = ran.map_err(refuse)?;
    let spent = begun.stop();
    if request.check.is_some() {
        // As `run --check` does: one who is forgotten only loses time, which no crash state shows.
        machine_of(false)?.looking_for_sleepers().run().map_err(refuse)?;
    }
    let check = request
        .check
        .as_ref()
        .map(|c| check(c, &resolved, &loaded, &report))
        .transpose()?;
    let between: u64 = log.work.iter().map(|w| u64::from(w.instructions)).sum();
    Ok(LoggedRun {
        log: request.log.display().to_string(),
        design: resolved.design.name.into(),
        machine: resolved.request.machine.clone(),
        media: resolved.machine.media.clone(),
        threads: resolved.threads,
        ops: report.hw_threads.iter().map(|h| h.ops).sum(),
        time_ps: report.time.0,
        instructions: report.instructions(),
        instructions_between: between,
        busy_ps: report.hw_threads.iter().map(|h| h.account.busy.0).sum(),
        stalls: stalls(&report),
        pm_reads: report.counters.memory_reads[Counters::PM],
        pm_writes: report.counters.memory_writes[Counters::PM],
        durable_events: report.log.len(),
        note: note(&resolved, log, between),
        warnings,
        check,
        host: Host::new(spent, report.simulated),
    })
}

/// Threads that wait for one another for ever.
fn stuck(design: &str) -> BadInput {
    let found = format!("on `{design}` the threads of this log wait for one another for ever");
    BadInput::new(found).hint(
        "a transaction waits for another that has stored to the same line, and that one's thread for what the first does next: \
         operations that are transactions must not run at once on the same lines",
    )
}

/// What is in the caches when the log begins: each line once, where it was accessed last.
fn resident(log: &RecordedLog) -> Vec<(HwThread, LineAddr)> {
    let mut known = FxHashSet::default();
    let mut lines: Vec<_> = log
        .warm
        .iter()
        .rev()
        .filter(|(_, line)| known.insert(*line))
        .copied()
        .collect();
    lines.reverse();
    lines
}

fn note(resolved: &Resolved, log: &RecordedLog, between: u64) -> String {
    let dialect = resolved.dialect();
    let names = |fences: &[fencepost_kernel::Fence]| match fences {
        [] => "nothing".to_owned(),
        fences => fences
            .iter()
            .map(|f| format!("{f:?}").to_lowercase())
            .collect::<Vec<_>>()
            .join("; "),
    };
    let flush = dialect
        .flush
        .map_or("nothing".into(), |f| format!("{f:?}").to_lowercase());
    let flush = match has_clflush(dialect) {
        true => format!("{flush} (clflush stays)"),
        false => format!("{flush} (clflush with its fences)"),
    };
    let counted = match between {
        0 => "the log counts no instructions between its events: none are simulated".to_owned(),
        n => format!("{n} instructions between events, as the log counts them"),
    };
    let warm = match resident(log).len() {
        0 => String::new(),
        n => format!("; caches begin with {n} lines that were accessed before"),
    };
    let transactions = match Marks::of(log).operations_are_transactions(dialect) {
        true => "; each operation is a hardware transaction",
        false => "",
    };
    let past_the_caches = log.trace.stores.iter().any(|s| s.nt) && !resolved.design.promise.honours.nt_stores;
    let stores = if past_the_caches {
        "; non-temporal stores are stores"
    } else {
        ""
    };
    format!(
        "flushes become {flush}, fences {}, acknowledgements {}{transactions}{stores}; {counted}{warm}",
        names(dialect.order),
        names(dialect.durable)
    )
}

/// What is said of a log with several executions.
fn only_the_first(executions: usize) -> Option<String> {
    (executions > 1).then(|| {
        format!("the log holds {executions} executions, and this is the first; the others: `crash --log L -d DESIGN`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::command::{ReadsBy, Recover};
    use crate::recovery::scratch::Scratch;
    use std::time::Duration;

    /// A log on a design that flushes, with an audit by a shell if there is one.
    fn run(events: &str, audit: Option<&str>, change: impl Fn(&mut CheckRequest)) -> LoggedRun {
        let scratch = Scratch::new().expect("a folder");
        let path = scratch.path().join("a.log");
        std::fs::write(&path, format!("fencepost-log 1\npersistent 0x10000 4096\n{events}")).expect("a folder");
        let check = audit.map(|audit| {
            let script = scratch.path().join("audit.sh");
            std::fs::write(
                &script,
                format!("byte() {{ od -An -tu1 -j$1 -N1 $image | tr -d ' '; }}\nimage=$1\n{audit}\n"),
            )
            .expect("a folder");
            let mut check = CheckRequest {
                recover: Recover {
                    command: format!("sh {}", script.display()),
                    server: false,
                    reads: ReadsBy::Nobody,
                    timeout: Duration::from_secs(60),
                    memory: None,
                },
                points: 1000,
                time: None,
            };
            change(&mut check);
            check
        });
        let request = LogRequest {
            log: path,
            image: None,
            request: Request {
                design: "x86-adr".into(),
                media: Some("pwq".into()),
                ..Request::default()
            },
            check,
        };
        run_log(&request).expect("it runs")
    }
    fn checked(events: &str, audit: &str, change: impl Fn(&mut CheckRequest)) -> LoggedCheck {
        run(events, Some(audit), change).check.expect("it was checked")
    }
    /// The second word of the second line, made durable in an operation of its own.
    const ONE: &str = "0 begin 0\n0 store pm+72 5\n0 clwb pm+72\n0 sfence\n0 end 0\n0 ack 0\n";

    #[test]
    fn recovery_gets_what_is_durable_at_each_crash_point() {
        // Before the one durable event and at the end; every other byte stays zero.
        let audit = "test $(byte 72) = 0 || test $(byte 72) = 5 && test $(byte 8)$(byte 64)$(byte 73)$(byte 80) = 0000";
        let found = checked(ONE, audit, |_| {});
        assert_eq!((found.points, found.points_total, found.why.as_deref()), (2, 2, None));
        assert!(found.conforms == Some(true) && !found.violated() && found.in_flight_complete);
        let found = checked(ONE, "test $(byte 72) = 0", |_| {});
        assert_eq!(
            (found.points, found.event, found.why.as_deref()),
            (2, Some(1), Some("exit status 1"))
        );
        assert!(found.violated());
        // What is told of operations: those before this one are begun and acknowledged, too.
        let told = "test $FENCEPOST_BEGUN$FENCEPOST_ACKED = 11 && exit 1; exit 0";
        let found = checked(ONE, told, |_| {});
        assert_eq!((found.event, found.crash), (Some(1), Some([vec![1], vec![1]])));
        let fourth = ONE.replace(" 0\n", " 3\n");
        let told = "test $FENCEPOST_BEGUN = 4 && exit 1; exit 0";
        let crash = checked(&fourth, told, |_| {}).crash.expect("a crash point");
        assert_eq!(crash[0], [4]);
        let broken = LoggedCheck {
            conforms: Some(false),
            ..checked(ONE, "true", |_| {})
        };
        assert!(broken.violated(), "so is a machine that breaks its contract");
    }
    /// Operations of two threads that store to two lines in different orders while both run: as transactions they race.
    #[test]
    fn operations_that_race_are_told_and_their_order_is_not_judged() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fencepost-battery/logs/racing.log");
        let of = |design: &str, machine: &str| {
            let recover = Recover {
                command: "true".into(),
                server: false,
                reads: ReadsBy::Nobody,
                timeout: Duration::from_secs(60),
                memory: None,
            };
            let request = LogRequest {
                log: path.clone(),
                image: None,
                request: Request {
                    design: design.into(),
                    machine: machine.into(),
                    ..Request::default()
                },
                check: Some(CheckRequest {
                    recover,
                    points: 100,
                    time: None,
                }),
            };
            run_log(&request).expect("it runs").check.expect("it was checked")
        };
        let racing = of("loc-wal", "loc");
        assert_eq!((racing.conforms, racing.violated()), (None, false));
        let refusal = racing.refusal.expect("it is said why");
        assert!(
            refusal.contains("threads 0 and 1 store to one line, at pm+0x0"),
            "{refusal}"
        );
        assert_eq!(of("so", "dpo").conforms, Some(true));
    }
    #[test]
    fn points_and_time_are_kept_to() {
        let lines: String = (0..3).map(|i| format!("0 store pm+{} 1\n", i * 64)).collect();
        let found = checked(&lines, "true", |c| c.points = 2);
        // Nothing was flushed: of the eight states of three lines it looks at two.
        assert!(
            !found.in_flight_complete && found.in_flight_states == 2,
            "{}",
            found.in_flight_states
        );
        let found = checked(&lines, "true", |_| {});
        assert_eq!((found.in_flight_states, found.in_flight_complete), (8, true));
        let found = checked(&lines, "true", |c| c.time = Some(Duration::ZERO));
        assert_eq!((found.points, found.in_flight_states), (0, 0));
        let found = checked(&lines, "false", |c| c.time = Some(Duration::from_secs(86400)));
        assert_eq!((found.points, found.event), (1, Some(0)));
    }
    /// Recovery takes both lines of one thread as proof of the line of another.
    #[test]
    fn what_is_lost_in_flight_is_named_by_each_threads_own_lines() {
        let events = "0 store pm+0 1 @ a.c:1\n1 store pm+128 1 @ b.c:1\n0 store pm+64 1 @ a.c:2\n";
        let lost = |audit: &str| {
            let found = checked(events, audit, |_| {});
            let why = found.why.expect("it fails");
            assert_eq!(why, "with the writes in flight in another order: exit status 1");
            assert_eq!((found.event, found.crash), (None, Some([vec![0, 0], vec![0, 0]])));
            found.lost
        };
        let only = |a: u64, b: u64, c: u64| format!("test $(byte 0)$(byte 64)$(byte 128) != {a}{b}{c}");
        assert_eq!(lost(&only(1, 1, 0)), ["b.c:1"]);
        assert_eq!(lost(&only(0, 1, 1)), ["a.c:1"]);
        assert_eq!(lost(&only(1, 0, 1)), ["a.c:2"]);
    }
    #[test]
    fn a_run_counts_what_the_log_has() {
        let found = run(&format!("0 work 150\n{ONE}0 work 7\n"), None, |_| {});
        assert_eq!((found.ops, found.threads, found.instructions_between), (1, 1, 157));
        assert_eq!((found.durable_events, found.pm_writes), (1, 1));
        assert!(found.instructions >= 157 && found.check.is_none());
        assert!(found.note.contains("157 instructions between events"), "{}", found.note);
        assert!(!found.note.contains("caches begin") && !found.note.contains("hardware transaction"));
        let found = run(&format!("0 warm pm+0*3 pm+0\n{ONE}"), None, |_| {});
        assert!(found.note.contains("caches begin with 3 lines"), "{}", found.note);
    }
    /// A line that was accessed twice is as new as its newest access.
    #[test]
    fn caches_begin_with_each_line_once() {
        let log = "fencepost-log 1\n0 warm pm+0 pm+64\n1 warm pm+0\n0 store pm+0 1\n";
        let log = fencepost_contract::recorded::parse(log).expect("a log");
        let lines: Vec<(usize, u64)> = resident(&log).iter().map(|(t, l)| (t.index(), l.base().0)).collect();
        let pm = |at| fencepost_kernel::Addr::pm(at).0;
        assert_eq!(lines, [(0, pm(64)), (1, pm(0))]);
    }
    #[test]
    fn executions_that_do_not_run_are_told() {
        assert_eq!(only_the_first(1), None);
        assert!(only_the_first(2).is_some_and(|w| w.starts_with("the log holds 2 executions")));
    }
}
