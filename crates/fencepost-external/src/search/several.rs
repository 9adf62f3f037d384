//! The executions of one program: those that a log holds, or the logs in a folder.

use crate::log::texts;
use crate::search::found::ExternalCrash;
use crate::search::request::ExternalRequest;
use crate::search::states::crash_log;
use fencepost_contract::explore::Budget;
use fencepost_run::verdict::Verdict;
use fencepost_run::{BadInput, LabError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Runs the user's recovery on every crash image that the target allows of a log: of each execution that it holds, and of a
/// folder, of all logs in it; until one is violated. A budget is for all of them, and kept verdicts lie in a folder for each.
///
/// # Errors
/// As for each of them; a folder without logs.
pub fn crash_logs(request: &ExternalRequest) -> Result<ExternalCrash, LabError> {
    let logs = match request.log.is_dir() {
        true => logs(&request.log)?,
        false => vec![request.log.clone()],
    };
    let mut all = Vec::new();
    for log in &logs {
        let executions = texts(log)?.len();
        all.extend((0..executions).map(|execution| (log, execution)));
    }
    if let [(log, execution)] = all[..] {
        return crash_log(&ExternalRequest {
            log: log.clone(),
            execution,
            ..request.clone()
        });
    }
    let (begun, mut sum): (Instant, Option<ExternalCrash>) = (Instant::now(), None);
    for (i, (log, execution)) in all.iter().enumerate() {
        let name = match request.log.is_dir() {
            true => log.file_stem().unwrap_or_default().to_owned(),
            false => (execution + 1).to_string().into(),
        };
        let found = crash_log(&ExternalRequest {
            log: (*log).clone(),
            execution: *execution,
            output: request.output.as_ref().map(|o| o.join(name)),
            budget: share(
                request.budget,
                begun.elapsed(),
                (all.len() - i) as u32,
                all.len() as u32,
            ),
            ..request.clone()
        })?;
        let now = match sum {
            None => found,
            Some(before) => add(before, found),
        };
        if now.violated() {
            return Ok(now);
        }
        sum = Some(now);
    }
    let mut sum = sum.ok_or_else(|| BadInput::new(format!("{}: no logs are in this folder", request.log.display())))?;
    sum.program = request.log.display().to_string();
    Ok(sum)
}

/// The logs in a folder.
fn logs(folder: &Path) -> Result<Vec<PathBuf>, LabError> {
    let entries = std::fs::read_dir(folder).map_err(|e| LabError::file("read", folder, e))?;
    let logs = entries.flatten().map(|e| e.path());
    let mut logs: Vec<PathBuf> = logs.filter(|p| p.extension().is_some_and(|e| e == "log")).collect();
    logs.sort_by_key(|p| (p.as_os_str().len(), p.clone()));
    Ok(logs)
}

/// What the next of `left` searches may cost, of `n` altogether; what others have not used goes to those that follow.
fn share(budget: Budget, spent: Duration, left: u32, n: u32) -> Budget {
    match budget {
        Budget::Unlimited => Budget::Unlimited,
        Budget::States(states) => Budget::States((states / u64::from(n)).max(1)),
        Budget::Time(time) => Budget::Time((time.saturating_sub(spent) / left).max(Duration::from_millis(1))),
    }
}
/// Two searches as one.
fn add(before: ExternalCrash, found: ExternalCrash) -> ExternalCrash {
    let seconds = before.seconds + found.seconds;
    let recoveries = before.recoveries + found.recoveries;
    let total = before.states_total.zip(found.states_total);
    let verdict = match (found.violated(), before.verdict == Verdict::Bounded) {
        (false, true) => before.verdict,
        _ => found.verdict,
    };
    ExternalCrash {
        executions: before.executions + found.executions,
        threads: before.threads.max(found.threads),
        stores: before.stores + found.stores,
        crash_points: before.crash_points + found.crash_points,
        recoveries,
        kept: before.kept + found.kept,
        merged: before.merged.saturating_add(found.merged),
        states_covered: before.states_covered.saturating_add(found.states_covered),
        states_total: total.and_then(|(a, b)| a.checked_add(b)),
        complete: before.complete && found.complete,
        stores_deviating: before.stores_deviating.into_iter().chain(found.stores_deviating).min(),
        verdict,
        reads_unknown: before.reads_unknown + found.reads_unknown,
        reads_unknown_why: before.reads_unknown_why.or_else(|| found.reads_unknown_why.clone()),
        seconds,
        images_per_s: recoveries as f64 / seconds.max(1e-9),
        ..found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(states_total: Option<u128>, complete: bool, verdict: Verdict) -> ExternalCrash {
        ExternalCrash {
            program: "a.log".into(),
            recover: "./recover".into(),
            executions: 1,
            contract: "px86".into(),
            design: None,
            warnings: Vec::new(),
            threads: 2,
            stores: 10,
            image_bytes: 64,
            crash_points: 5,
            recoveries: 7,
            kept: 3,
            merged: 4,
            states_covered: 20,
            states_total,
            complete,
            stores_deviating: None,
            verdict,
            witness: None,
            during_recovery: None,
            reads: "all".into(),
            reads_unknown: 1,
            reads_unknown_why: None,
            seconds: 0.5,
            images_per_s: 14.0,
        }
    }

    #[test]
    fn two_searches_count_together() {
        let sum = add(
            search(Some(30), true, Verdict::Clean),
            search(Some(50), true, Verdict::Clean),
        );
        assert_eq!(
            (sum.executions, sum.threads, sum.stores, sum.crash_points),
            (2, 2, 20, 10)
        );
        assert_eq!((sum.recoveries, sum.kept, sum.merged, sum.reads_unknown), (14, 6, 8, 2));
        assert_eq!(
            (sum.states_covered, sum.states_total, sum.complete),
            (40, Some(80), true)
        );
        assert!((sum.seconds - 1.0).abs() < 1e-9 && (sum.images_per_s - 14.0).abs() < 1e-6);
    }
    #[test]
    fn what_one_search_did_not_cover_all_of_them_did_not() {
        use Verdict::{Bounded, Clean, Violated};
        let joined = |a, b, totals: [Option<u128>; 2], complete: [bool; 2]| {
            let sum = add(search(totals[0], complete[0], a), search(totals[1], complete[1], b));
            (sum.verdict, sum.states_total, sum.complete)
        };
        let known = [Some(1), Some(2)];
        assert_eq!(joined(Bounded, Clean, known, [false, true]), (Bounded, Some(3), false));
        assert_eq!(joined(Clean, Bounded, known, [true, false]), (Bounded, Some(3), false));
        assert_eq!(joined(Bounded, Violated, known, [false, false]).0, Violated);
        for unknown in [[None, Some(2)], [Some(1), None]] {
            assert_eq!(joined(Clean, Clean, unknown, [true, true]).1, None);
        }
    }
    #[test]
    fn what_is_counted_of_two_searches_is_added_field_by_field() {
        let (mut one, mut two) = (search(None, true, Verdict::Clean), search(None, true, Verdict::Clean));
        (two.threads, one.reads_unknown_why) = (1, Some("first".into()));
        (one.stores_deviating, two.stores_deviating) = (Some(2), Some(3));
        two.reads_unknown_why = Some("second".into());
        two.program = "b.log".into();
        // Ten recoveries in 1.5 seconds.
        (two.recoveries, two.seconds) = (3, 1.0);
        let sum = add(one, two);
        assert_eq!((sum.threads, sum.stores_deviating), (2, Some(2)));
        assert_eq!(
            (sum.reads_unknown_why.as_deref(), &sum.program[..]),
            (Some("first"), "b.log")
        );
        assert!((sum.images_per_s - 10.0 / 1.5).abs() < 1e-9, "{}", sum.images_per_s);
    }
    /// States are for each search alike; time that others have left goes to those that follow.
    #[test]
    fn a_budget_is_shared() {
        let ms = Duration::from_millis;
        let states = |n| share(Budget::States(n), ms(7), 2, 4);
        assert_eq!([states(10), states(1)], [Budget::States(2), Budget::States(1)]);
        assert_eq!(share(Budget::Unlimited, ms(7), 2, 4), Budget::Unlimited);
        let time = |spent| share(Budget::Time(ms(100)), ms(spent), 3, 4);
        assert_eq!([time(40), time(200)], [Budget::Time(ms(20)), Budget::Time(ms(1))]);
    }
    /// The second execution of a log, or the second log of a folder, is the first in which the second of two lines is stored to; each
    /// has its own folder of verdicts.
    #[test]
    fn each_execution_is_searched_until_one_is_violated() {
        use crate::search::states::tests::{count, request};
        let scratch = crate::recovery::scratch::Scratch::new().expect("a folder");
        let path = |name: &str| scratch.path().join(name);
        let execution = |at: u64| format!("fencepost-log 1\npersistent 0x10000 128\n0 store pm+{at} 1\n");
        std::fs::create_dir(path("logs")).expect("a folder");
        for (name, at) in [
            ("logs/9.log", 0),
            ("logs/10.log", 64),
            ("logs/11.log", 8),
            ("logs/a.txt", 0),
        ] {
            std::fs::write(path(name), execution(at)).expect("a folder to write to");
        }
        std::fs::write(path("both.log"), execution(0) + &execution(64) + &execution(0)).expect("a file");
        let searched = |log: &str, recover: &str, output: &str| {
            let mut request = request(&path(log), recover);
            request.output = Some(path(output));
            crash_logs(&request)
        };
        let all = searched("logs", "true", "all").expect("logs");
        assert_eq!((all.executions, all.stores, all.recoveries), (3, 3, 6));
        assert_eq!((all.states_covered, all.verdict), (6, Verdict::Clean));
        assert_eq!(all.program, path("logs").display().to_string());
        assert!(
            ["9", "10", "11"]
                .iter()
                .all(|n| path("all").join(n).join("result.json").exists())
        );
        // The byte at 64 is set in the second.
        let audit = format!("sh {}", count(&path("audit"), "test $(od -An -tu1 -j64 -N1 $1) = 0"));
        let found = searched("logs", &audit, "some").expect("logs");
        assert_eq!((found.executions, found.violated()), (2, true));
        assert!(found.program.ends_with("10.log"), "{}", found.program);
        assert!(!path("some/11").exists(), "nothing follows");
        let found = searched("both.log", &audit, "both").expect("a log");
        assert_eq!((found.executions, found.violated()), (2, true));
        assert!(["both/1", "both/2"].iter().all(|n| path(n).exists()) && !path("both/3").exists());
        let replay = found.witness.and_then(|w| w.witness.replay).expect("an id");
        let (id, _) = crate::search::replay_image::ImageId::decode(&replay).expect("an id");
        assert_eq!((id.execution, id.log), (1, path("both.log")));
        // One log in a folder has the whole folder for its verdicts.
        std::fs::create_dir(path("one")).expect("a folder");
        std::fs::write(path("one/a.log"), execution(64)).expect("a folder to write to");
        let one = searched("one", "true", "alone").expect("a log");
        assert!(one.program.ends_with("one/a.log") && path("alone/result.json").exists());
        std::fs::remove_file(path("one/a.log")).expect("a file");
        let why = searched("one", "true", "none")
            .map(|_| ())
            .expect_err("no logs")
            .to_string();
        assert!(why.contains("no logs are in this folder"), "{why}");
    }
}
