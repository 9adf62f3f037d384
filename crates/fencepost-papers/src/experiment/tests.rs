//! Engine, measures and scores on made-up runs with known answers.

use super::engine::{Engine, Step};
use super::kinds::Kind;
use super::measure::measure;
use super::rule::{Form, Over, Rule};
use super::runs::{Cell, Job, Known, Runs, plan};
use super::score::{Evidence, Score, score};
use super::scoreboard::to_csv;
use super::spec::{Experiment, Scale, parse};
use super::statement::{Statement, Statements};
use crate::experiment::claims::{Claim, ClaimKind};
use fencepost_run::LabError;
use fencepost_run::cost::CostLine;
use fencepost_run::host::{Host, Spent};
use fencepost_run::kept::Identity;
use fencepost_run::request::Request;
use fencepost_run::result::{RunResult, SCHEMA};
use fencepost_run::short;
use fencepost_run::store::Store;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub(super) fn result(time_ps: u64, flushes: u64) -> RunResult {
    let (wall, core) = (Duration::from_secs(1), Duration::from_secs(1));
    let second = Spent { wall, core };
    RunResult {
        schema: SCHEMA.into(),
        program: "cq".into(),
        design: "so".into(),
        machine: "dpo".into(),
        media: "pcm".into(),
        threads: 2,
        ops: 10,
        seed: 1,
        config_digest: "x".into(),
        time_ps,
        instructions: 100,
        ipc: 1.0,
        ops_per_s: 1.0,
        busy_ps: time_ps,
        stalls: [("load-memory".to_string(), 7)].into(),
        pm_reads: 1,
        pm_writes: flushes,
        durable_events: flushes,
        log_digest: "0".into(),
        counters: [("flushes".to_string(), flushes)].into(),
        histograms: Default::default(),
        warning: None,
        note: None,
        persists: None,
        check: None,
        host: Some(Host::new(second, (1_000_000, 10))),
    }
}
fn cell(program: &str, point: &str, media: &str) -> Cell {
    Cell {
        tag: "E".into(),
        program: program.into(),
        point: point.into(),
        media: media.into(),
        choice: String::new(),
    }
}
/// Volatile takes 100 everywhere; `so` 200 and 800 on the slow medium (geometric mean 4), 120 and 130 on the fast.
fn runs() -> Runs {
    let mut r = Runs {
        programs: vec!["a".into(), "b".into()],
        ..Runs::default()
    };
    for (program, point, media, time, flushes) in [
        ("a", "volatile", "slow", 100, 0),
        ("b", "volatile", "slow", 100, 0),
        ("a", "so", "slow", 200, 10),
        ("b", "so", "slow", 800, 40),
        ("a", "volatile", "fast", 100, 0),
        ("b", "volatile", "fast", 100, 0),
        ("a", "so", "fast", 120, 10),
        ("b", "so", "fast", 130, 40),
    ] {
        r.by_cell.insert(cell(program, point, media), result(time, flushes));
    }
    r
}
fn s(x: &str) -> String {
    x.to_owned()
}
/// A rule as a table has it.
fn rule(text: &str) -> Rule {
    toml_edit::de::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}
fn slowdown(over: Over, form: Form) -> Rule {
    let mut rule = rule("rule = 'value'\ntag = 'E'\npoint = 'so'\nbase = 'volatile'\nmedia = 'slow'\nover = 'mean'");
    if let Rule::Value(value) = &mut rule {
        (value.over, value.form) = (over, form);
    }
    rule
}
/// The program whose time on `so` over that on `volatile` is the largest (`[[p], []]`) or smallest on these media.
fn extreme(media: &str, groups: &str) -> Rule {
    rule(&format!(
        "rule = 'rank'\ntag = 'E'\npoints = 'so'\nbase = 'volatile'\nmedia = {media}\ngroups = {groups}"
    ))
}

#[test]
fn slowdowns_aggregate_as_named() {
    let value = |over, form| measure(&slowdown(over, form), &runs()).unwrap().value.unwrap();
    assert!((value(Over::Geomean, Form::Ratio) - 4.0).abs() < 1e-12);
    assert!((value(Over::Mean, Form::Ratio) - 5.0).abs() < 1e-12);
    assert!((value(Over::Max, Form::GainPercent) - 700.0).abs() < 1e-9);
    assert!((value(Over::Min, Form::LossPercent) + 100.0).abs() < 1e-9);
}
#[test]
fn orders_hold_or_not() {
    let holds = |rule| measure(&rule, &runs()).unwrap().holds.unwrap();
    let both = |groups| holds(extreme("['slow', 'fast']", groups));
    assert!(both("[['b'], []]") && !both("[['a'], []]") && both("[[], ['a']]"));
    let along = |media: [&str; 2], how: &str| {
        let step = |m| format!("{{ point = 'so', base = 'volatile', media = '{m}' }}");
        let [a, b] = media.map(step);
        rule(&format!("rule = 'along'\ntag = 'E'\nsteps = [{a}, {b}]\n{how}"))
    };
    let rises = |media| holds(along(media, "rising = true"));
    assert!(rises(["fast", "slow"]) && !rises(["slow", "fast"]));
    // Means of 1.25 and 5: four times as much, not five times, and at least 1.2 and 4.5.
    let mean = |how: &str| holds(along(["fast", "slow"], &format!("over = 'mean'\n{how}")));
    assert!(mean("rising = true\nby = 3.9") && !mean("rising = true\nby = 4.1") && !mean("rising = false"));
    assert!(mean("factors = [[1, 0, 4.0]]") && !mean("factors = [[1, 0, 5.0]]"));
    assert!(mean("at_least = [1.2, 4.5]") && !mean("at_least = [1.2, 5.5]"));
    let wins = |share| Rule::Wins {
        tag: s("E"),
        point: s("volatile"),
        against: s("so"),
        media: vec![s("slow")],
        all_on: vec![s("slow")],
        share,
    };
    assert!(holds(wins(1.0)));
}
#[test]
fn rates_count_per_thread_and_cycle() {
    // 10 flushes of 2 threads: 5 a thread, in 200 ps = 0.4 cycles at 2 GHz: 12,500 per kilocycle.
    let rate = "rule = 'value'\ntag = 'E'\nmetric = 'flushes/core-us'\npoint = 'so'\nmedia = 'slow'\nover = 'mean'\n\
                programs = ['a']\ndivisor = 2.0";
    assert!((measure(&rule(rate), &runs()).unwrap().value.unwrap() - 12_500.0).abs() < 1e-6);
}

fn claim(id: &str, value: &str, kind: ClaimKind, by: Rule) -> Claim {
    Claim {
        id: s(id),
        section: s(""),
        claim: s(""),
        config: s(""),
        metric: s(""),
        value: s(value),
        unit: s("x"),
        kind,
        rests_on: Kind::Measured,
        by,
    }
}
fn score_one(claim_value: &str, rule: Rule, runs: &Runs, checks: &Statements) -> super::score::Row {
    let names = checks.iter().map(|s| s.name).collect();
    let tests = checks.tested(&names, runs, 2);
    let evidence = Evidence {
        runs,
        tests: &tests,
        cost_bits: &|design, item| {
            (design == "d" && item == "entry").then(|| CostLine {
                what: s("entry"),
                bits: 568,
                paper_bits: Some(576),
                note: s(""),
            })
        },
        parameter: &|path| (path == "core.cores").then(|| s("8")),
    };
    score(&[claim("C", claim_value, ClaimKind::Number, rule)], &evidence)
        .remove(0)
        .0
}
#[test]
fn numbers_match_within_a_fifth() {
    let none = Statements::default();
    let at = |paper: &str| score_one(paper, slowdown(Over::Geomean, Form::Ratio), &runs(), &none).verdict;
    assert_eq!(at("4.9"), Score::Match);
    assert_eq!(at("5.1"), Score::Miss);
    assert_eq!(at("3.34"), Score::Match);
    assert_eq!(at("3.3"), Score::Miss);
    assert_eq!(at(">3"), Score::Match);
    assert_eq!(at("5-6"), Score::Miss);
}
#[test]
fn partial_absent_and_quoted_rows_never_match() {
    let none = Statements::default();
    let mut partial = runs();
    partial.programs.push(s("c"));
    partial.missing_programs.insert(s("c"));
    let row = score_one("4", slowdown(Over::Geomean, Form::Ratio), &partial, &none);
    assert_eq!((row.verdict, row.measured.as_str()), (Score::NotRun, "4"));
    assert!(row.note.contains("programs not yet built (c)"));
    let quoted = Rule::Quoted { reason: s("synthesis") };
    assert_eq!(score_one("4", quoted, &runs(), &none).verdict, Score::Quoted);
}
#[test]
fn checks_costs_and_parameters_score() {
    let statement = |name, run| Statement::new(name, None, run);
    let checks = Statements::new(vec![
        statement("good", |_| Ok("seen".into())),
        statement("bad", |_| Err("broke".into())),
        statement("panics", |_| panic!("boom")),
    ]);
    let check = |name: &str| score_one("x", Rule::Check { test: s(name) }, &runs(), &checks);
    assert_eq!(check("good").verdict, Score::Match);
    assert!(check("good").note.contains("test good: seen"));
    assert_eq!(
        (check("bad").verdict, check("panics").verdict),
        (Score::Miss, Score::Miss)
    );
    assert_eq!(check("absent").verdict, Score::NotRun);
    let cost = |unit| Rule::Cost {
        design: s("d"),
        parts: vec![(s("entry"), unit)],
    };
    assert_eq!(score_one("72", cost(8.0), &runs(), &checks).verdict, Score::Match);
    assert_eq!(score_one("71", cost(8.0), &runs(), &checks).verdict, Score::Miss);
    let parameter = |v: &str| Rule::Parameter {
        values: [(s("core.cores"), s(v))].into(),
    };
    assert_eq!(score_one("", parameter("8"), &runs(), &checks).verdict, Score::Match);
    assert_eq!(score_one("", parameter("4"), &runs(), &checks).verdict, Score::Miss);
}
#[test]
fn short_keeps_three_digits_and_csv_quotes() {
    assert_eq!(
        [short(7.2149), short(896.0), short(0.0354), short(1234.5)],
        ["7.21", "896", "0.0354", "1234"].map(String::from)
    );
    let row = score_one(
        "4",
        Rule::Quoted { reason: s("a, \"b\"") },
        &runs(),
        &Statements::default(),
    );
    let text = String::from_utf8(to_csv(&[row])).unwrap();
    assert_eq!(
        text,
        "id,paper,kind,measured,spread,unit,ratio,verdict,low,high,holds,decided_by,note\nC,4,measured,,,x,,quoted,,,,,\"a, \"\"b\"\"\"\n"
    );
}

fn job(program: &str) -> Job {
    Job {
        cell: cell(program, "so", "pcm"),
        request: Request {
            program: s(program),
            ..Request::default()
        },
    }
}
/// Of three programs one is missing: what it can still give decides between `not-run` and `miss`.
#[test]
fn a_partial_row_is_a_miss_once_nothing_can_rescue_it() {
    let partial = || Runs {
        programs: vec!["a".into(), "b".into(), "c".into()],
        missing_programs: ["c".to_owned()].into(),
        ..runs()
    };
    let verdict = |paper: &str, rule| score_one(paper, rule, &partial(), &Statements::default()).verdict;
    // Ratios 2 and 8: the mean of three is above 10 / 3, the maximum at least 8, the minimum at most 2.
    assert_eq!(verdict("2", slowdown(Over::Mean, Form::Ratio)), Score::Miss);
    assert_eq!(verdict("6", slowdown(Over::Max, Form::Ratio)), Score::Miss);
    assert_eq!(verdict("3", slowdown(Over::Min, Form::Ratio)), Score::Miss);
    assert_eq!(verdict("1", slowdown(Over::Geomean, Form::Ratio)), Score::NotRun);
    assert_eq!(verdict("x", extreme("'slow'", "[['a'], []]")), Score::Miss);
    assert_eq!(verdict("x", extreme("'slow'", "[['b'], []]")), Score::NotRun);
    assert_eq!(verdict("x", extreme("'slow'", "[['c'], []]")), Score::NotRun);
}

#[test]
fn finished_runs_are_not_repeated_and_errors_keep_what_finished() {
    let dir = std::env::temp_dir().join(format!("fencepost-engine-{}", std::process::id()));
    let store = Store::open(&dir).unwrap();
    let executed = AtomicUsize::new(0);
    let run = |program: &String| {
        executed.fetch_add(1, Ordering::Relaxed);
        match program.as_str() {
            "broken" => Err(LabError::Internal("x".into())),
            "panics" => panic!("boom"),
            _ => Ok(result(5, 1)),
        }
    };
    let resolve = |j: &Job| {
        let program = j.request.program.clone();
        let identity = Identity {
            key: format!("key-{program}"),
            digest: s("x"),
            config: s("config = 1\n"),
        };
        Ok((identity, program))
    };
    let engine = Engine {
        store: Some(&store),
        jobs: 1,
        resolve: &resolve,
        run: &run,
        shares: &String::clone,
        progress: &|_, _: Step| {},
    };
    for bad in ["broken", "panics"] {
        let engine = Engine { ..engine };
        let e = engine.execute(&[job("p"), job(bad), job("q")]).unwrap_err();
        assert_eq!(e.exit_code(), 3);
    }
    assert_eq!(executed.load(Ordering::Relaxed), 3); // p and broken; then only panics
    let parallel = Engine { jobs: 4, ..engine };
    let done = parallel.execute(&[job("p"), job("q")]).unwrap();
    assert_eq!((done.ran, done.resumed, done.by_cell.len()), (1, 1, 2));
    assert_eq!(store.read("runs/key-p.toml").unwrap(), "config = 1\n");
    store.write("runs/key-p.json", b"{\"half\":").unwrap();
    assert_eq!(parallel.execute(&[job("p")]).unwrap().ran, 1);
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn plans_leave_out_and_name_what_is_not_built() {
    let text = r#"
paper = "dpo"
about = "x"
machine = "dpo"
[points.volatile]
design = "volatile"
[points.so]
design = "so"
on = { pwq = "so-adr" }
set_here = ["design.policy=exclusive"]
[points.future]
design = "future"
[scale.quick]
ops = 10
warmup = 1
[scale.full]
ops = 100
warmup = 10
[[matrix]]
tag = "E"
programs = ["cq", "tpcc"]
points = ["volatile", "so", "future"]
media = ["pwq", "pcm"]
threads = 8
"#;
    let e: Experiment = parse("e.toml", text).unwrap();
    let known = Known {
        programs: &["cq"],
        designs: &["volatile", "so", "so-adr"],
    };
    let p = plan(&e, Scale::Quick, 3, &known).unwrap();
    assert_eq!(p.jobs.len(), 4);
    assert!(p.missing_programs.contains("tpcc") && p.missing_designs.contains("future"));
    let so: Vec<_> = p
        .jobs
        .iter()
        .filter(|j| j.cell.point == "so")
        .map(|j| &j.request)
        .collect();
    assert_eq!(
        (so[0].design.as_str(), so[0].sets.len(), so[0].ops, so[0].seed),
        ("so-adr", 0, 10, 3)
    );
    assert_eq!((so[1].design.as_str(), so[1].sets.len()), ("so", 1));
    let full = plan(&e, Scale::Full, 3, &known).unwrap();
    assert_eq!((full.jobs[0].request.ops, full.jobs[0].request.warmup), (100, 10));
}
