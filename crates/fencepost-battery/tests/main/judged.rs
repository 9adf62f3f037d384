//! Audits of an exploration that pass over what the failure point before has shown say what whole audits say, and what is wrong far from
//! where the program works is convicted.

use fencepost_contract::ContractKind;
use fencepost_contract::explore::{CrashCheck, Oracle, Recording, Report, Verdict, record_program, steps};
use fencepost_designs::Environment;
use fencepost_kernel::{Fence, Flush, HwThread, Program, StoreId, StoreInfo, TraceEvent, TraceKind, fault};
use fencepost_programs::{Scheme, Settings, Variant, Visit, with_program};

/// What is explored, and how.
#[derive(Clone)]
struct Search {
    settings: Settings,
    kind: ContractKind,
    whole: bool,
    /// After this operation the first word that the program stored is overwritten, durably.
    spoilt_after: Option<u32>,
}

impl Visit for Search {
    type Out = Report;
    fn visit<P: Program>(self, program: P) -> Report {
        let so_adr = fencepost_designs::find("so-adr").expect("a design of x86");
        let dialect = (so_adr.dialect)(Environment::new(true, true));
        let (threads, ops) = (self.settings.threads, self.settings.ops);
        let record = |schedule| {
            let recording = record_program(&program, dialect, threads, ops, true, schedule)?;
            Ok(match self.spoilt_after {
                Some(op) => spoilt(recording, op),
                None => recording,
            })
        };
        let check = CrashCheck::new(self.kind);
        let report = check.each(record, |explorer, recording| {
            let oracle = Oracle::new(&program, &recording.trace.ops);
            let explorer = if self.whole { explorer.whole_audits() } else { explorer };
            explorer.explore(&mut steps(&oracle))
        });
        report.expect("it is explored")
    }
}

/// A recording in which the first word that was stored gets another value once `op` is acknowledged.
fn spoilt(mut recording: Recording, op: u32) -> Recording {
    let trace = &mut recording.trace;
    let first = trace.stores.iter().find(|s| s.addr.is_persistent());
    let first = *first.expect("the program stores something");
    let at = trace.events.iter().position(|e| e.kind == TraceKind::Ack(op));
    let at = at.expect("the operation is acknowledged") + 1;
    let id = StoreId::from_index(trace.stores.len()).expect("there are fewer");
    trace.stores.push(StoreInfo { value: 0xbad, ..first });
    let line = first.addr.line();
    let kind = Flush::Clwb;
    for kind in [
        TraceKind::Fence(Fence::Sfence),
        TraceKind::Flush { line, kind },
        TraceKind::Store(id),
    ] {
        let thread = Some(HwThread(0));
        trace.events.insert(at, TraceEvent { thread, kind });
    }
    trace.dependences.clear();
    recording
}

fn explored(program: &str, search: &Search) -> Report {
    with_program(program, &search.settings, search.clone()).expect("it builds")
}
fn said(report: &Report) -> impl PartialEq + std::fmt::Debug + use<> {
    let witness = report.witness.as_ref();
    let witness = witness.map(|w| (w.point, w.why.clone(), w.replay.clone()));
    let counts = (report.crash_points, report.recoveries, report.steps, report.merges);
    (counts, report.states_covered, report.verdict, witness)
}
fn searched(scheme: Scheme, variant: Variant, (threads, ops): (u32, u32), kind: ContractKind) -> Search {
    let settings = Settings {
        threads,
        ops,
        scheme,
        variant,
        ..Settings::default()
    };
    Search {
        settings,
        kind,
        whole: false,
        spoilt_after: None,
    }
}

#[test]
fn short_audits_say_what_whole_ones_do() {
    use Variant::{Correct, MissingFence, MissingFlush, SemanticMistake, TokenFirst};
    let mut violated = 0;
    for (program, scheme, size) in [
        ("commitstore", Scheme::Raw, (1, 60)),
        ("commitstore", Scheme::UndoArray, (1, 20)),
        ("commitstore", Scheme::Redo, (2, 4)),
        ("sps", Scheme::UndoList, (1, 12)),
        ("sps", Scheme::Ido, (2, 3)),
    ] {
        for variant in [Correct, MissingFence, MissingFlush, SemanticMistake, TokenFirst] {
            if scheme != Scheme::Raw && variant == TokenFirst {
                continue;
            }
            for kind in [ContractKind::Px86, ContractKind::StrictSc, ContractKind::Eadr] {
                let search = searched(scheme, variant, size, kind);
                let short = explored(program, &search);
                let whole = explored(program, &Search { whole: true, ..search });
                assert_eq!(said(&short), said(&whole), "{program}, {scheme:?}, {variant:?}, {kind}");
                violated += u32::from(short.verdict == Verdict::Violated);
            }
        }
    }
    assert!(violated > 10, "{violated}");
}

/// The first record is spoilt while the program is at its fiftieth: long settled, acknowledged, and nowhere near.
#[test]
fn what_is_wrong_far_away_is_convicted() {
    let mut search = searched(Scheme::Raw, Variant::Correct, (1, 100), ContractKind::Px86);
    search.spoilt_after = Some(50);
    let at = |report: &Report| report.witness.as_ref().map(|w| w.point).expect("a witness");
    let short = explored("commitstore", &search);
    let whole = explored(
        "commitstore",
        &Search {
            whole: true,
            ..search.clone()
        },
    );
    assert_eq!(short.verdict, Verdict::Violated);
    assert_eq!(said(&short), said(&whole));
    // An audit that does not hear of the change is followed by a whole one.
    let (deaf, reached) = fault::with("explorer.change-forgotten", || explored("commitstore", &search));
    assert!(reached && deaf.verdict == Verdict::Violated);
    assert!(at(&deaf) > at(&short), "the fault hides the change from short audits");
}
