use super::*;
use crate::recovery::command::Recover;
use crate::target::Target;
use fencepost_contract::{Contract, ContractKind};
use std::path::PathBuf;

/// A search of a log under x86, one image at a time.
pub(crate) fn request(log: &Path, recover: &str) -> ExternalRequest {
    ExternalRequest {
        log: log.to_owned(),
        execution: 0,
        image: None,
        target: Target::Contract(Contract::from(ContractKind::Px86)),
        recover: Recover {
            command: recover.into(),
            server: false,
            reads: ReadsBy::Nobody,
            timeout: Duration::from_secs(60),
            memory: None,
        },
        budget: Budget::Unlimited,
        nested: None,
        jobs: 1,
        output: None,
    }
}
/// A script of a shell that writes a line to a file for each of its runs, and then does this.
pub(crate) fn count(script: &Path, then: &str) -> String {
    let runs = script.with_extension("runs");
    let text = format!("echo >> {}\n{then}\n", runs.display());
    std::fs::write(script, text).expect("a folder to write to");
    script.display().to_string()
}
/// A log, a script and what the search says; how often the script ran.
struct Searched {
    scratch: Scratch,
    request: ExternalRequest,
}
impl Searched {
    fn new(events: &str, then: &str) -> Searched {
        let scratch = Scratch::new().expect("a folder");
        let log = scratch.path().join("a.log");
        std::fs::write(&log, format!("fencepost-log 1\npersistent 0x10000 4096\n{events}")).expect("a folder");
        let script = count(&scratch.path().join("audit"), then);
        let request = request(&log, &format!("sh {script}"));
        Searched { scratch, request }
    }
    fn found(&self) -> ExternalCrash {
        crash_log(&self.request).expect("a verdict")
    }
    fn why_not(&self) -> String {
        crash_log(&self.request)
            .map(|_| ())
            .expect_err("no verdict")
            .to_string()
    }
    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }
    /// How often the script ran since this was last asked.
    fn runs(&self) -> usize {
        let runs = std::fs::read_to_string(self.path("audit.runs")).unwrap_or_default();
        let _ = std::fs::remove_file(self.path("audit.runs"));
        runs.len()
    }
}
/// Stores to so many lines, in no order.
fn lines(n: u64) -> String {
    (0..n).map(|i| format!("0 store pm+{} 1 @ a.c:{i}\n", i * 64)).collect()
}
/// Whether a byte of the image is set, for a shell.
fn is_set(at: u64) -> String {
    format!("test $(od -An -tu1 -j{at} -N1 $1) != 0")
}

#[test]
fn every_subset_of_independent_lines_is_run_once() {
    let s = Searched::new(&lines(3), "true");
    let found = s.found();
    assert_eq!((found.stores, found.image_bytes, found.threads), (3, 4096, 1));
    assert_eq!((found.recoveries, found.kept, s.runs()), (8, 0, 8));
    assert_eq!((found.states_covered, found.states_total), (8, Some(8)));
    assert_eq!((found.merged, found.executions), (0, 1));
    assert_eq!(
        (found.verdict, found.complete, found.stores_deviating),
        (Verdict::Clean, true, None)
    );
    assert_eq!((found.reads_unknown, &found.contract[..]), (0, "px86"));
    assert!(
        (found.images_per_s * found.seconds - 8.0).abs() < 1e-6,
        "recoveries a second"
    );
    // Of several threads not every interleaving is recorded.
    let s = Searched::new("0 store pm+0 1\n1 store pm+64 1\n", "true");
    let found = s.found();
    assert_eq!(
        (found.verdict, found.complete, found.threads),
        (Verdict::Clean, false, 2)
    );
}
#[test]
fn a_budget_that_is_just_enough_leaves_nothing_out() {
    let mut s = Searched::new(&lines(3), "true");
    for (budget, complete) in [(7, false), (8, true), (9, true)] {
        s.request.budget = Budget::States(budget);
        let found = s.found();
        let verdict = if complete { Verdict::Clean } else { Verdict::Bounded };
        assert_eq!((found.recoveries, found.complete), (budget.min(8), complete));
        assert_eq!(
            (found.verdict, found.states_covered),
            (verdict, found.recoveries.into())
        );
    }
}
#[test]
fn a_budget_of_runs_is_kept_to() {
    let mut s = Searched::new(&lines(4), "true");
    s.request.budget = Budget::States(3);
    for jobs in [1, 3] {
        s.request.jobs = jobs;
        let found = s.found();
        assert_eq!((found.recoveries, s.runs()), (3, 3));
        assert_eq!((found.verdict, found.complete), (Verdict::Bounded, false));
        assert_eq!((found.states_total, found.stores_deviating.is_some()), (Some(16), true));
    }
    for nothing in [Budget::States(0), Budget::Time(Duration::ZERO)] {
        s.request.budget = nothing;
        assert!(s.why_not().contains("explores nothing"));
    }
    // A tick is over before the first run; a day is not.
    s.request.budget = Budget::Time(Duration::from_nanos(1));
    assert_eq!((s.found().verdict, s.runs()), (Verdict::Bounded, 0));
    s.request.budget = Budget::Time(Duration::from_secs(86400));
    assert_eq!((s.found().verdict, s.runs()), (Verdict::Clean, 16));
}
/// Where a run stands for many images some are run twice: the first, and the eighth.
#[test]
fn some_runs_are_repeated_where_one_stands_for_many() {
    let reads = "printf 'read 0 8\\nread 64 8\\nread 128 8\\n' > $FENCEPOST_READS";
    let mut s = Searched::new(&lines(4), reads);
    s.request.recover.reads = ReadsBy::Report;
    let found = s.found();
    // Of four lines it reads three.
    assert_eq!((found.recoveries, found.states_covered, found.merged), (8, 16, 8));
    assert_eq!(s.runs(), 8 + 2);
    // One word has two values, so two runs are enough: none is handed out before the first has said what it reads.
    let mut s = Searched::new(&lines(3), "echo read 0 8 > $FENCEPOST_READS");
    s.request.recover.reads = ReadsBy::Report;
    let found = s.found();
    assert_eq!(
        (found.recoveries, found.states_covered, &found.reads[..]),
        (2, 8, "report")
    );
    assert_eq!(s.runs(), 2 + 1);
}
#[test]
fn a_recovery_that_says_something_else_the_second_time_is_refused() {
    let again = |then: &str| {
        // The script finds what its first run has left.
        let text = format!("echo read 0 8 > $FENCEPOST_READS\nif test -e $0.mark; then {then}; fi\ntouch $0.mark");
        let mut s = Searched::new(&lines(2), &text);
        s.request.recover.reads = ReadsBy::Report;
        s.why_not()
    };
    let why = again("echo read 64 8 > $FENCEPOST_READS");
    assert!(why.contains("run again on one image, it read other bytes"), "{why}");
    let why = again("exit 1");
    assert!(why.contains("run again on one image, it said something else"), "{why}");
}
/// Recovery takes the third line as proof of the first: with the second beside it the state is not the smallest.
#[test]
fn the_smallest_failing_state_is_told_and_replayed() {
    use crate::search::replay_image::{is_image_id, replay_image};
    let audit = format!("{} || ! {}", is_set(0), is_set(128));
    let mut s = Searched::new(&lines(3), &audit);
    s.request.output = Some(s.path("out"));
    let found = s.found();
    assert_eq!((found.verdict, found.complete), (Verdict::Violated, false));
    assert!(found.violated() && !found.bounded());
    let told = found.witness.expect("a witness");
    assert_eq!((told.smallest, &told.witness.why[..]), (true, "exit status 1"));
    let state = told.witness.state.expect("a state");
    // One of three is missing, or one is durable.
    assert_eq!(state.persisted.len().max(state.missing.len().min(1)), 1, "{state:?}");
    assert_eq!((told.begun, told.missing_unread), (vec![0], None));
    let image = std::fs::read(told.image.expect("an image")).expect("an image");
    assert_eq!((image.len(), image[0], image[128]), (4096, 0, 1));
    let id = told.witness.replay.expect("an id");
    let again = s.path("again");
    let replayed = replay_image(&format!(" {id}\n"), &again).expect("the same log");
    assert_eq!(
        (replayed.verdict, replayed.why.as_deref()),
        (Verdict::Violated, Some("exit status 1"))
    );
    assert_eq!(
        (replayed.id.clone(), is_image_id(&format!(" {id}"))),
        (id.clone(), true)
    );
    assert_eq!(std::fs::read(&again).expect("an image"), image);
    assert!(!is_image_id("crash?program=cq") && replay_image("image?log=a", &again).is_err());
    // Of what is not survived nothing is kept, and the rest is not run again.
    s.runs();
    s.request.output = Some(s.path("clean"));
    s.request.recover.command = "true".into();
    let first = s.found();
    let second = s.found();
    assert_eq!((first.recoveries, first.kept), (8, 0));
    assert_eq!((second.recoveries, second.kept, second.verdict), (0, 8, Verdict::Clean));
}
#[test]
fn verdicts_are_of_one_log_one_command_and_one_contract() {
    let s = Searched::new(&lines(1), "true");
    let name_of = |change: &dyn Fn(&mut ExternalRequest)| {
        let mut request = s.request.clone();
        change(&mut request);
        let mut loaded = load(&request.log, 0, None).expect("a log");
        let aimed = request.target.aim(&mut loaded).expect("a target");
        name(&request, &loaded, &aimed)
    };
    let plain = name_of(&|_| {});
    assert!(plain.starts_with("fencepost-verdicts 1 px86 "), "{plain}");
    assert_eq!(name_of(&|r| r.jobs = 7), plain, "how many at a time says nothing");
    let changes: [&dyn Fn(&mut ExternalRequest); 5] = [
        &|r| r.recover.command += " -v",
        &|r| r.recover.memory = Some(1 << 20),
        &|r| r.recover.timeout = Duration::from_secs(1),
        &|r| r.recover.reads = ReadsBy::Report,
        &|r| r.target = Target::Contract(Contract::from(ContractKind::StrictTso)),
    ];
    let mut names: Vec<String> = changes.iter().map(|c| name_of(*c)).collect();
    names.push(plain.clone());
    // A script that the command names is a part of it, and so is the log.
    count(&s.path("audit"), "false");
    names.push(name_of(&|_| {}));
    std::fs::write(&s.request.log, "fencepost-log 1\n0 store pm+0 2\n").expect("a file");
    names.push(name_of(&|_| {}));
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 8, "{names:#?}");
}
#[test]
fn a_store_says_little_where_it_has_no_line() {
    let sources = ["a.c:12", "a.c:12 through memcpy", "a.c", "a.c:", "a.c:x1", "pool+0x12"];
    let stores: String = sources.iter().map(|s| format!("0 store pm+0 1 @ {s}\n")).collect();
    let s = Searched::new(&format!("{stores}0 store pm+0 1\n"), "true");
    let loaded = load(&s.request.log, 0, None).expect("a log");
    let of = |stores: &[usize]| {
        let stores: Vec<StoreId> = stores.iter().filter_map(|i| StoreId::from_index(*i)).collect();
        strangeness(&loaded, &stores)
    };
    let alone: Vec<u32> = (0..7).map(|i| of(&[i])).collect();
    assert_eq!(alone, [0, 0, 1, 1, 1, 1, 1]);
    assert_eq!((of(&[]), of(&[2, 0, 3]), of(&[2, 3])), (0, 0, 1));
}
