//! The engine on made-up work.

use super::*;
use fencepost_run::request::Request;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Cells with these keys; a key that begins with `bad` fails, one with `panic` panics.
struct MadeUp {
    keys: Vec<&'static str>,
    ran: Mutex<BTreeMap<&'static str, usize>>,
    ended: Mutex<BTreeMap<usize, Result<Step, String>>>,
    result: RunResult,
}
impl MadeUp {
    fn new(keys: &[&'static str]) -> MadeUp {
        let request = Request {
            threads: Some(1),
            ops: 2,
            warmup: 0,
            ..Request::default()
        };
        let mut result = fencepost_run::run::run(&request).expect("a valid request");
        result.config_digest = "x".into();
        MadeUp {
            keys: keys.to_vec(),
            ran: Mutex::default(),
            ended: Mutex::default(),
            result,
        }
    }
    fn steps(&self) -> Vec<Result<Step, String>> {
        self.ended.lock().unwrap().values().cloned().collect()
    }
}
impl Work for MadeUp {
    type Ready = &'static str;
    fn cells(&self) -> usize {
        self.keys.len()
    }
    fn resolve(&self, cell: usize) -> Result<(Identity, &'static str), LabError> {
        let identity = Identity {
            key: self.keys[cell].into(),
            digest: "x".into(),
            config: "a = 1\n".into(),
        };
        Ok((identity, self.keys[cell]))
    }
    fn run(&self, key: &&'static str) -> Result<RunResult, LabError> {
        *self.ran.lock().unwrap().entry(key).or_default() += 1;
        std::thread::sleep(std::time::Duration::from_millis(5));
        match *key {
            k if k.starts_with("bad") => Err(LabError::Internal("broken".into())),
            k if k.starts_with("panic") => panic!("boom"),
            _ => Ok(self.result.clone()),
        }
    }
    fn ended(&self, cell: usize, outcome: Result<&RunResult, &LabError>, step: Step) -> Result<(), LabError> {
        let outcome = outcome.map(|_| step).map_err(ToString::to_string);
        let before = self.ended.lock().unwrap().insert(cell, outcome);
        assert!(before.is_none(), "cell {cell} ended twice");
        Ok(())
    }
}
fn engine(store: Option<&Store>, jobs: usize) -> Engine<'_> {
    Engine {
        store,
        jobs,
        memory: None,
        stop: Arc::default(),
    }
}
fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("fencepost-engine-{name}-{}", std::process::id()))
}

#[test]
fn a_cell_that_fails_stops_no_other() {
    for jobs in [1, 4] {
        let work = MadeUp::new(&["a", "bad", "panic", "b"]);
        let tally = engine(None, jobs).execute(&work).unwrap();
        assert_eq!((tally.ran, tally.failed), (2, 2));
        let steps = work.steps();
        assert!(steps[1].as_ref().is_err_and(|e| e.contains("broken")), "{steps:?}");
        assert!(steps[2].as_ref().is_err_and(|e| e.contains("boom")), "{steps:?}");
    }
}
#[test]
fn equal_cells_are_one_run_and_all_are_told() {
    let dir = folder("equal");
    for store in [None, Some(Store::open(&dir).unwrap())] {
        for jobs in [1, 4] {
            let _ = std::fs::remove_dir_all(dir.join("runs"));
            let work = MadeUp::new(&["a", "a", "b", "a", "b", "bad", "bad"]);
            let tally = engine(store.as_ref(), jobs).execute(&work).unwrap();
            assert_eq!(work.steps().len(), 7);
            assert_eq!((tally.ran, tally.failed), (2, 2));
            let ran = work.ran.lock().unwrap();
            assert_eq!((ran["a"], ran["b"]), (1, 1));
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
}
#[test]
fn a_finished_run_is_found_and_a_failed_one_is_tried_again() {
    let dir = folder("found");
    let store = Store::open(&dir).unwrap();
    for (ran, resumed) in [(2, 0), (0, 2)] {
        let work = MadeUp::new(&["a", "bad", "b"]);
        let tally = engine(Some(&store), 2).execute(&work).unwrap();
        assert_eq!((tally.ran, tally.resumed, tally.failed), (ran, resumed, 1));
    }
    std::fs::remove_dir_all(&dir).unwrap();
}
/// Two engines with a folder each of its own handle: as two processes.
#[cfg(unix)]
#[test]
fn two_that_share_a_folder_share_the_work() {
    let dir = folder("shared");
    let keys = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let works = [MadeUp::new(&keys), MadeUp::new(&keys)];
    std::thread::scope(|scope| {
        for work in &works {
            let dir = &dir;
            scope.spawn(move || {
                let store = Store::open(dir).unwrap();
                let tally = engine(Some(&store), 2).execute(work).unwrap();
                assert_eq!(tally.ran + tally.resumed, keys.len());
            });
        }
    });
    for key in keys {
        let ran: usize = works
            .iter()
            .filter_map(|w| w.ran.lock().unwrap().get(key).copied())
            .sum();
        assert_eq!(ran, 1, "{key}");
    }
    std::fs::remove_dir_all(&dir).unwrap();
}
#[test]
fn a_folder_that_cannot_be_written_stops_everything() {
    let dir = folder("full");
    let store = Store::open(&dir).unwrap();
    std::fs::write(dir.join("runs"), b"a file in the way").unwrap();
    let work = MadeUp::new(&["a", "b", "c", "d"]);
    let e = engine(Some(&store), 1).execute(&work).unwrap_err();
    assert_eq!(e.exit_code(), 2);
    assert!(work.steps().is_empty() && work.ran.lock().unwrap().len() == 1);
    std::fs::remove_dir_all(&dir).unwrap();
}
#[test]
fn work_that_is_stopped_ends_and_says_nothing_of_what_is_left() {
    let work = MadeUp::new(&["a", "b"]);
    let engine = engine(None, 1);
    engine.stop.store(true, Ordering::Relaxed);
    assert_eq!(engine.execute(&work).unwrap(), Tally::default());
}
