use super::super::All;
use super::*;
use crate::recording::{Noted, Process};
use crate::recovery::scratch::Scratch;
use std::os::unix::process::ExitStatusExt;

fn request(folder: &Path) -> RecordRequest {
    RecordRequest {
        command: vec!["prog".into()],
        pm: vec![folder.join("pool"), folder.join("side")],
        log: folder.join("a.log"),
        emulator: "qemu-x86_64".into(),
        plugin: None,
        quantum: 1000,
        region: None,
        region_gap: None,
        acknowledge: None,
        acknowledge_gap: None,
        volatile: false,
        schedules: None,
        seed: 1,
        keeps_stdout: false,
    }
}
/// A session that has asked for no emulator.
fn session<'r>(request: &'r RecordRequest, folder: &Path) -> Session<'r> {
    Session {
        request,
        plugin: PathBuf::new(),
        command: request.command.clone(),
        emulator: PathBuf::new(),
        files: request.pm.clone(),
        folder: Folder::new(folder.join("unfinished")).expect("a folder"),
        input: 0,
    }
}
/// What one process did: thread, instructions before it, event.
fn recording(events: &[(u32, u64, &str)]) -> Recording {
    let noted = |(i, (thread, work, what)): (usize, &(u32, u64, &str))| Noted {
        number: i as u64,
        late: false,
        thread: *thread,
        work: *work,
        what: (*what).to_owned(),
        process: 0,
        place: "?".into(),
    };
    let process = Process {
        program: "/bin/prog".into(),
        events: events.len() as u64,
        ..Process::default()
    };
    Recording {
        events: events.iter().enumerate().map(noted).collect(),
        processes: vec![process],
        lengths: [(0, 100)].into(),
        first_lengths: [(0, 100)].into(),
        ..Recording::default()
    }
}
const TWO: [(u32, u64, &str); 4] = [
    (0, 1 << 40, "store f0+0x0 0x1"),
    (0, 0, "sfence"),
    (2, 7, "clwb f0+0x40"),
    (3, 150, "load 0x80"),
];

#[test]
fn a_log_has_each_event_with_the_work_before_it() {
    let scratch = Scratch::new().expect("a folder");
    let mut request = request(scratch.path());
    let recording = recording(&TWO);
    let log = |request: &RecordRequest| session(request, scratch.path()).log(&recording);
    let most = u32::MAX;
    let wanted = format!(
        "fencepost-log 1\nfile 0x0 100 pool\n0 work {most}\n0 store pm+0x0 0x1 @ ?\n0 sfence @ ?\n2 work 7\n2 clwb pm+0x40 @ ?\n\
         3 work 150\n3 load 0x80 @ ?\n"
    );
    assert_eq!(log(&request), (wanted.clone(), 0), "no place has a line");
    request.acknowledge_gap = Some(100);
    let wanted = wanted
        .replace("0 work", "0 begin 0\n0 work")
        .replace("2 work", "2 begin 0\n2 work");
    let end = "0 end 0\n0 ack 0\n2 end 0\n2 ack 0\n";
    assert_eq!(
        log(&request).0,
        wanted + end,
        "a thread that reaches no file has no operation"
    );
}
/// Executions that differ in their order are kept; those that differ in the work between events alone are one.
#[test]
fn executions_of_one_order_are_one() {
    let scratch = Scratch::new().expect("a folder");
    let request = request(scratch.path());
    let session = session(&request, scratch.path());
    let mut all = All::default();
    let mut add = |events: &[(u32, u64, &str)]| {
        let mut recording = recording(events);
        recording.beside.insert(("/tmp/b".into(), "written".into()));
        recording.missing.insert("io_uring_setup".into());
        all.add(&session, recording)
    };
    assert_eq!(add(&TWO), 2, "of three threads two reach a file");
    assert_eq!(add(&TWO.map(|(t, work, what)| (t, work / 2 + 1, what))), 2);
    let [store, fence, ..] = TWO;
    assert_eq!(add(&[store, fence]), 1);
    (all.runs, all.seconds) = (3, 0.5);
    all.ends
        .extend(["exit status: 0".to_owned(), "exit status: 1".to_owned()]);
    let told = all.told(&request);
    assert_eq!(
        (told.executions, told.schedules, told.events, told.threads),
        (2, 3, 4 + 2, 3)
    );
    assert_eq!(told.programs, [("/bin/prog".to_owned(), 4 + 2)].into());
    assert_eq!((told.named, &told.status[..]), (0, "exit status: 0, exit status: 1"));
    assert_eq!(told.left_out, ["/tmp/b (written)"]);
    assert_eq!(told.missing_calls, ["io_uring_setup"]);
    // Half a second for six events.
    assert!((told.ns_per_event * 6.0 - 5e8).abs() < 1.0, "{}", told.ns_per_event);
}
#[test]
fn logs_go_to_one_file_unless_several_are_asked_for() {
    let scratch = Scratch::new().expect("a folder");
    let read = |path: &str| std::fs::read_to_string(scratch.path().join(path)).ok();
    let texts = ["one\n".to_owned(), "two\n".to_owned()];
    let write = |schedules, texts: &[String]| {
        let request = RecordRequest {
            schedules,
            ..request(scratch.path())
        };
        session(&request, scratch.path())
            .write(texts)
            .expect("a folder to write to");
    };
    write(None, &texts);
    assert_eq!(read("a.log").as_deref(), Some("one\ntwo\n"));
    write(Some(1), &texts[..1]);
    assert_eq!(read("a.log").as_deref(), Some("one\n"));
    std::fs::remove_file(scratch.path().join("a.log")).expect("a file");
    write(Some(2), &texts);
    assert_eq!([read("a.log/1.log"), read("a.log/2.log")], texts.map(Some));
    assert!(
        !scratch.path().join("unfinished").exists(),
        "what a session needs goes with it"
    );
}
#[test]
fn each_run_finds_the_files_as_the_first_one_did() {
    let scratch = Scratch::new().expect("a folder");
    let request = request(scratch.path());
    let [pool, side] = [&request.pm[0], &request.pm[1]];
    let session = session(&request, scratch.path());
    std::fs::write(pool, "before").expect("a folder to write to");
    session.keep().expect("a copy");
    std::fs::write(pool, "behind it").expect("a file");
    std::fs::write(side, "new").expect("a file");
    session.restore().expect("a copy");
    assert_eq!(std::fs::read_to_string(pool).ok().as_deref(), Some("before"));
    assert!(!side.exists(), "it was not there");
}
#[test]
fn a_folder_under_way_is_known_until_it_goes() {
    let scratch = Scratch::new().expect("a folder");
    let [first, second] = ["first", "second"].map(|n| scratch.path().join(n));
    let known = |path: &PathBuf| unfinished().contains(path);
    let (one, two) = (Folder::new(first.clone()).ok(), Folder::new(second.clone()).ok());
    assert!(known(&first) && known(&second) && first.is_dir());
    drop(one);
    assert!(!known(&first) && known(&second) && !first.exists() && second.is_dir());
    drop(two);
    assert!(!known(&second) && !second.exists());
}
#[test]
fn a_recording_is_judged_before_it_is_kept() {
    let scratch = Scratch::new().expect("a folder");
    let mut request = request(scratch.path());
    std::fs::write(&request.pm[0], [[1, 0, 0, 0], [0; 4]].concat()).expect("a folder to write to");
    let ended = ExitStatus::from_raw(0);
    let judged = |request: &RecordRequest, recording: &Recording| {
        let outcome = session(request, scratch.path()).judge(recording, ended);
        match outcome.map_err(|e| e.to_string()) {
            Ok(Outcome::Execution) => "kept".to_owned(),
            Ok(Outcome::Nothing(why)) => LabError::from(why).to_string(),
            Err(e) => e,
        }
    };
    let mut good = recording(&TWO);
    assert_eq!(judged(&request, &good), "kept");
    let other = recording(&[(0, 0, "store f0+0x0 0x2")]);
    assert!(judged(&request, &other).contains("at offset 0x0"));
    let mut nothing = recording(&[(0, 0, "sfence")]);
    let why = judged(&request, &nothing);
    assert!(
        why.contains("neither wrote nor mapped") && !why.contains("left that alone"),
        "{why}"
    );
    assert!(!why.contains("does not have"), "{why}");
    nothing.missing = ["io_uring_setup".to_owned(), "userfaultfd".to_owned()].into();
    request.region_gap = Some(500);
    let why = judged(&request, &nothing);
    assert!(why.contains("left that alone for 500 instructions"), "{why}");
    assert!(why.contains("does not have io_uring_setup, userfaultfd"), "{why}");
    // A call that was refused at two places twice and once.
    let at = |place: &str| Refused {
        call: "writev".into(),
        why: "too long".into(),
        process: 0,
        place: place.into(),
    };
    good.refused = [(at("here"), 2), (at("there"), 1)].into();
    let why = judged(&request, &good);
    assert!(
        why.contains("3 calls reach") && why.contains("writev at here, 2 times: too long"),
        "{why}"
    );
    request.acknowledge = Some("commit".into());
    good.found.insert("main".into());
    assert!(judged(&request, &good).contains("has a function `commit`"));
    good.found.insert("commit".into());
    good.refused.clear();
    assert_eq!(judged(&request, &good), "kept");
}
