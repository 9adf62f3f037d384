//! Every declared parameter at its extremes: refused where it is written, or run to an end.

use crate::LabError;
use crate::request::Request;
use fencepost_kernel::params::Field;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// Extreme values of a kind of parameter: both ends of every integer that code may keep it in, and of what is allowed.
fn extremes(f: &Field) -> &'static [&'static str] {
    let is = |part: &str| f.kind.contains(part);
    if is("a time") {
        &[
            "0ps",
            "1ps",
            "10ms",
            "10000000001ps",
            "9223372036854775807ps",
            "18446744073709551615ps",
            "18446744073709551ns",
        ]
    } else if is("a size") {
        &[
            "0B",
            "1B",
            "63B",
            "64B",
            "1GiB",
            "128GiB",
            "1024GiB",
            "17179869183GiB",
            "18446744073709551615B",
        ]
    } else if is("a clock rate") {
        &["0Hz", "1Hz", "1MHz", "20GHz", "1000GHz", "18446744073709551615Hz"]
    } else if is("a whole number") {
        &[
            "-1",
            "0",
            "1",
            "3",
            "255",
            "256",
            "65535",
            "1048576",
            "4294967295",
            "4294967296",
            "9223372036854775807",
            "18446744073709551615",
        ]
    } else {
        &[]
    }
}

/// A few operations that take longer than this have met a value that should have been refused: they take ten seconds at most on a
/// quiet host, and a busy one may give a test a tenth of its time.
const HANGS: Duration = Duration::from_secs(100);

/// A run for every extreme of every parameter of machines, media, designs and programs.
fn requests() -> Vec<Request> {
    let base = Request {
        program: "cq".into(),
        design: "so".into(),
        threads: Some(1),
        ops: 3,
        warmup: 1,
        ..Request::default()
    };
    let mut out = Vec::new();
    let mut add = |request: &Request, section: &str, fields: &[Field]| {
        for f in fields {
            out.extend(extremes(f).iter().map(|value| {
                let mut one = request.clone();
                let name = format!("{section}.{}=", f.name);
                one.sets.retain(|s| !s.starts_with(&name));
                one.sets.push(name + value);
                one
            }));
        }
    };
    for (section, fields) in crate::config::reference() {
        let machine = if section == "l2" { "fgc" } else { "dpo" };
        let request = Request {
            machine: machine.into(),
            ..base.clone()
        };
        add(&request, section, &fields);
    }
    for design in fencepost_designs::all() {
        let request = Request {
            design: design.name.into(),
            ..base.clone()
        };
        add(&request, "design", &(design.params)());
    }
    for program in fencepost_programs::programs() {
        // The rest is small, so that one extreme is what a run meets.
        let sets = program.small.iter().map(|(k, v)| format!("program.{k}={v}")).collect();
        let request = Request {
            program: program.name.into(),
            sets,
            ..base.clone()
        };
        add(&request, "program", &program.fields);
    }
    out
}

/// What is wrong with the way a run ended, if anything. A run that hangs is left behind.
fn defect(request: &Request) -> Option<String> {
    let (send, answer) = mpsc::channel();
    let asked = request.clone();
    std::thread::spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| crate::run::run(&asked)));
        let _ = send.send(match outcome {
            Ok(Ok(_)) => None,
            Ok(Err(LabError::Input(bad))) if bad.place.is_some() => None,
            Ok(Err(e)) => Some(format!("without a place, or our defect: {e}")),
            Err(panic) => Some(crate::panic_text(panic.as_ref())),
        });
    });
    let hangs = |_| Some(format!("hangs for {} s", HANGS.as_secs()));
    answer.recv_timeout(HANGS).unwrap_or_else(hangs)
}

#[test]
fn no_extreme_value_wraps_hangs_or_ends_as_our_defect() {
    let requests = requests();
    assert!(requests.len() > 500, "{}", requests.len());
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Some(said) = defect(request) {
                let run = format!("{} on {} {:?}", request.program, request.design, request.sets);
                wrong.lock().expect("no test holds it").push(format!("{run}: {said}"));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
    let wrong = wrong.into_inner().expect("all have finished");
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        requests.len(),
        wrong.join("\n")
    );
}

/// Every default lies within its own range.
#[test]
fn defaults_are_accepted() {
    for design in fencepost_designs::all() {
        let sets = (design.params)();
        let sets = sets
            .iter()
            .map(|f| format!("design.{}={}", f.name, f.default))
            .collect();
        let request = Request {
            design: design.name.into(),
            sets,
            ..Request::default()
        };
        crate::config::Resolved::resolve(&request).unwrap_or_else(|e| panic!("{}: {e}", design.name));
    }
    for program in fencepost_programs::programs() {
        let sets = program
            .fields
            .iter()
            .map(|f| format!("program.{}={}", f.name, f.default))
            .collect();
        let request = Request {
            program: program.name.into(),
            sets,
            ..Request::default()
        };
        crate::config::Resolved::resolve(&request).unwrap_or_else(|e| panic!("{}: {e}", program.name));
    }
}
