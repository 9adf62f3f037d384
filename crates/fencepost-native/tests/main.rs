//! Every program of the registry on the real CPU.

use fencepost_native::{NativeError, PerOperation, Request, RunReport, Variant, flush_instruction, run};
use fencepost_programs::{LogForm, Scheme, Settings, programs};

fn request(program: &str, scheme: Scheme, threads: u32) -> Request {
    Request {
        program: program.into(),
        settings: Settings {
            threads,
            scheme,
            ..Settings::default()
        },
        variant: Variant::Baseline,
        ops: 50,
        warmup: 10,
        pm: None,
        without: Vec::new(),
    }
}
/// The report, unless this CPU cannot.
fn timed(r: &Request) -> Option<RunReport> {
    if let Err(e) = flush_instruction(&[]) {
        println!("skipped: {e}");
        return None;
    }
    Some(run(r).unwrap_or_else(|e| panic!("{} {}: {e}", r.program, r.settings.scheme.name())))
}

#[test]
fn every_program_runs_under_every_scheme_and_its_file_passes_the_audit() {
    for about in programs() {
        for scheme in about.schemes {
            let Some(r) = timed(&request(about.name, *scheme, 1)) else {
                return;
            };
            let (p, what) = (r.per_operation, format!("{} {}", about.name, scheme.name()));
            assert_eq!((r.check.violations, &r.check.why), (0, &None), "{what}");
            assert_eq!(r.check.operations, if r.ideal.is_some() { 120 } else { 60 }, "{what}");
            assert!(r.ns_per_op_min > 0.0 && r.ns_per_op_min <= r.ns_per_op_median, "{what}");
            assert!(p.removable_fences <= p.fences && p.fences > 0.0, "{what}: {p:?}");
            // A fence between a record and its data can be left out where old values are logged, store by store or in regions.
            let removes = matches!(scheme.form(), LogForm::Undo(..) | LogForm::Regions);
            assert_eq!(r.ideal.is_some(), removes, "{what}");
            assert!(removes || p.removable_fences == 0.0, "{what}: {p:?}");
        }
    }
}
#[test]
fn threads_share_structures_and_the_audit_finds_one_order() {
    for about in programs() {
        let Some(r) = timed(&request(about.name, about.schemes[0], 2)) else {
            return;
        };
        assert_eq!((r.check.violations, &r.check.why), (0, &None), "{}", about.name);
        assert_eq!(
            r.check.operations,
            if r.ideal.is_some() { 240 } else { 120 },
            "{}",
            about.name
        );
    }
}
#[test]
fn a_swap_of_two_lines_persists_what_its_log_needs() {
    let Some(r) = timed(&request("sps", Scheme::UndoArray, 1)) else {
        return;
    };
    // Sixteen words: a record of three words and a fence each; two data lines and a fence; the commit word and a fence.
    let exactly = PerOperation {
        fences: 18.0,
        removable_fences: 16.0,
        flushes: 2.0,
        nt_stores: 49.0,
    };
    assert_eq!(r.per_operation, exactly);
}
#[test]
fn refusals_say_why() {
    if flush_instruction(&[]).is_err() {
        return;
    }
    let ideal = |scheme| Request {
        variant: Variant::Ideal,
        ..request("cq", scheme, 1)
    };
    let why = |r: &Request| run(r).unwrap_err().to_string();
    assert!(why(&ideal(Scheme::Redo)).contains("no fence between log and data"));
    assert!(why(&request("nothing", Scheme::Redo, 1)).contains("unknown program"));
    let path = std::env::temp_dir().join(format!("fencepost-native-other-{}", std::process::id()));
    std::fs::write(&path, "precious").unwrap();
    let other = Request {
        pm: Some(path.clone()),
        ..request("cq", Scheme::UndoArray, 1)
    };
    assert!(matches!(run(&other), Err(NativeError::File { .. })));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    std::fs::remove_file(path).unwrap();
}
#[test]
fn a_file_of_an_earlier_run_is_used_again_and_kept() {
    if flush_instruction(&[]).is_err() {
        return;
    }
    let path = std::env::temp_dir().join(format!("fencepost-native-again-{}", std::process::id()));
    for program in ["sps", "cq"] {
        let r = Request {
            pm: Some(path.clone()),
            ..request(program, Scheme::UndoArray, 1)
        };
        let r = run(&r).unwrap();
        assert!(r.check.violations == 0 && !r.memory_detail.temporary);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), r.memory_detail.bytes);
    }
    std::fs::remove_file(path).unwrap();
}
