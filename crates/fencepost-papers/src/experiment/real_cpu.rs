//! Claims about a real CPU, measured on this one: the programs run natively, with and without the fences between log and data.

use super::measured::{Measured, PerProgram, aggregate, each, number, reach, shape};
use super::rule::{Form, OfNative, Over, Rule};
use super::spec::Natively;
use crate::native::{NativeRequest, RunReport, Variant, native};
use fencepost_native::clflush_and_mfence;
use fencepost_programs::About;
use fencepost_run::request::Request;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Operations per program and variant, and before those: many short batches, of which the fastest count.
const OPS: (u32, u32) = (5_000, 1_000);

/// The logging runtime of the studies of section II-D, as claims name it.
const UNDO: &str = "undo-array";

/// What is measured: programs, their logging runtime, threads.
struct Study<'a> {
    /// Programs that the claim is about.
    programs: &'a [String],
    /// Logging runtime; the program's natural one where absent.
    log: Option<&'a str>,
    /// Software threads.
    threads: u32,
    /// What the paper says that programs do.
    does: &'a Natively,
}

/// Measures a rule of native runs; why not, where it cannot.
pub fn measure(rule: &Rule, does: &Natively) -> Result<Measured, String> {
    let Rule::Native {
        programs,
        of,
        over,
        form,
        log,
        threads,
    } = rule
    else {
        return Err("not a rule of native runs".into());
    };
    if *of == OfNative::FlushPair {
        return flush_pair();
    }
    let study = Study {
        programs,
        log: log.as_ref().map(|l| does.logs.get(l).unwrap_or(l).as_str()),
        threads: *threads,
        does,
    };
    study.measure(*of, *over, *form)
}

/// The median of batches.
fn flush_pair() -> Result<Measured, String> {
    let times = clflush_and_mfence().map_err(|e| format!("hardware absent: {e}"))?;
    let note = format!(
        "a store, clflush of its line, mfence: median of batches, the fastest {:.0} ns; on this CPU",
        times.min
    );
    Ok(number(times.median, note, Vec::new()))
}

/// Whether a program runs on this CPU and passes its audit, undo-logged as in the studies of section II-D of the themis paper.
pub fn runs(program: &str, does: &Natively) -> bool {
    let study = Study {
        programs: &[],
        log: Some(does.logs.get(UNDO).map_or(UNDO, String::as_str)),
        threads: 1,
        does,
    };
    study.run(program).is_ok_and(|r| r.check.violations == 0)
}

type Key = (String, Option<String>, u32, Vec<String>);
type Kept = Mutex<BTreeMap<Key, Result<RunReport, String>>>;
/// Claims share their runs within a reproduction.
static KEPT: Kept = Mutex::new(BTreeMap::new());

impl Study<'_> {
    /// The claim's value over the programs that exist, or why nothing was measured.
    fn measure(&self, of: OfNative, over: Over, form: Form) -> Result<Measured, String> {
        let known = fencepost_programs::programs();
        let logs = |a: &About| self.log.is_none_or(|log| a.schemes.iter().any(|s| s.name() == log));
        let exists = |p: &String| known.iter().any(|a| a.name == p && logs(a));
        let (there, missing): (Vec<&String>, Vec<&String>) = self.programs.iter().partition(|p| exists(p));
        let reports: Vec<RunReport> = there.iter().map(|p| self.run(p)).collect::<Result<_, _>>()?;
        let Some(first) = reports.first() else {
            return Err("depends on programs not yet built".into());
        };
        let place = format!("on this CPU ({}, {})", first.flush_instruction, first.memory);
        if let Some(broken) = reports.iter().find(|r| r.check.violations > 0) {
            return Err(format!("{} {place} did not pass its audit", broken.program));
        }
        let named = |p: &String| match self.log.filter(|_| known.iter().any(|a| a.name == p)) {
            Some(log) => format!("{p} with {log}"),
            None => p.clone(),
        };
        let missing: Vec<String> = missing.into_iter().map(named).collect();
        Ok(match of {
            OfNative::Gain => gain(&reports, over, form, missing, &place),
            OfNative::RemovedFences => removed(&reports, missing, &place),
            OfNative::FlushPair => flush_pair()?,
        })
    }
    fn run(&self, program: &str) -> Result<RunReport, String> {
        let threads = self.does.clients.get(program).copied().unwrap_or(self.threads);
        let own = format!("program.{program}.");
        let sets: Vec<String> = (self.does.set.iter())
            .filter(|s| s.starts_with(&own))
            .cloned()
            .collect();
        let key: Key = (program.to_owned(), self.log.map(str::to_owned), threads, sets.clone());
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let run = || {
            let request = Request {
                program: program.to_owned(),
                threads: Some(threads),
                ops: OPS.0,
                warmup: OPS.1,
                log: self.log.map(str::to_owned),
                sets,
                ..Request::default()
            };
            let report = native(&NativeRequest {
                request,
                variant: Variant::Baseline,
                pm: None,
                without: Vec::new(),
            });
            report.map_err(|e| format!("hardware absent: {e}"))
        };
        kept.entry(key).or_insert_with(run).clone()
    }
}

/// The median of pairs: batches of a program differ (a hundred operations of redis may all read), so that the fastest of each variant
/// are not alike.
fn gain(reports: &[RunReport], over: Over, form: Form, missing: Vec<String>, place: &str) -> Measured {
    let gains: PerProgram = (reports.iter())
        .filter_map(|r| Some((r.program.clone(), r.gain_median?)))
        .collect();
    let value = aggregate(over, &gains).unwrap_or(1.0);
    let shaped: PerProgram = gains.iter().map(|(p, g)| (p.clone(), shape(form, *g))).collect();
    let mut reach = reach(over, value, gains.len(), missing.len()).map(|v| shape(form, v));
    reach.sort_by(f64::total_cmp);
    Measured {
        reach: Some(reach),
        ..number(shape(form, value), format!("{}; {place}", each(&shaped)), missing)
    }
}

/// Counted over all operations of all programs, each as often; the mean of programs beside it.
fn removed(reports: &[RunReport], missing: Vec<String>, place: &str) -> Measured {
    let share = |r: &RunReport| 100.0 * r.per_operation.removable_fences / r.per_operation.fences;
    let shares: PerProgram = reports.iter().map(|r| (r.program.clone(), share(r))).collect();
    let sum = |f: fn(&RunReport) -> f64| reports.iter().map(f).sum::<f64>();
    let pooled = 100.0 * sum(|r| r.per_operation.removable_fences) / sum(|r| r.per_operation.fences);
    let mean = aggregate(Over::Mean, &shares).unwrap_or(0.0);
    let note = format!("mean of programs {mean:.1}: {}; {place}", each(&shares));
    Measured {
        // Whatever a program counts, its share lies between none and all.
        reach: Some(if missing.is_empty() { [pooled; 2] } else { [0.0, 100.0] }),
        ..number(pooled, note, missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_native::{FlushWith, flush_instruction};

    #[test]
    fn the_pair_is_timed_where_the_cpu_has_the_instructions() {
        let without = [FlushWith::Clwb, FlushWith::ClflushOpt];
        match (flush_pair(), flush_instruction(&without)) {
            (Ok(m), Ok(_)) => assert!(m.value.is_some_and(|ns| ns > 1.0), "{:?}", m.value),
            (Err(why), Err(_)) => assert!(why.starts_with("hardware absent"), "{why}"),
            (pair, has) => panic!("{:?}, {:?}", pair.map(|m| m.value), has.is_ok()),
        }
    }
    #[test]
    fn a_study_measures_what_exists_and_names_the_rest() {
        let programs = ["sps".to_owned(), "not-a-program".to_owned()];
        let study = Study {
            programs: &programs,
            log: None,
            threads: 1,
            does: &Natively::default(),
        };
        match study.measure(OfNative::RemovedFences, Over::Mean, Form::Ratio) {
            // Sixteen of eighteen fences of a swap.
            Ok(m) => {
                assert!((m.value.unwrap() - 100.0 * 16.0 / 18.0).abs() < 1e-9);
                assert_eq!(
                    (m.missing, m.reach),
                    (vec!["not-a-program".to_owned()], Some([0.0, 100.0]))
                );
            }
            Err(why) => assert!(why.starts_with("hardware absent"), "{why}"),
        }
        let none = Study {
            programs: &programs[1..],
            ..study
        };
        assert!(none.measure(OfNative::Gain, Over::Mean, Form::Ratio).is_err());
    }
}
