//! Stores, claims and documents.

use super::*;
fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("fencepost-store-{name}-{}", std::process::id()))
}
#[test]
fn writes_whole_files_and_leaves_nothing_else() {
    let dir = folder("whole");
    let store = Store::open(&dir).unwrap();
    store.write("runs/a.json", b"1").unwrap();
    store.write("runs/a.json", b"22").unwrap();
    assert_eq!(store.read("runs/a.json").unwrap(), "22");
    assert_eq!(store.read("runs/b.json"), None);
    let names: Vec<_> = fs::read_dir(dir.join("runs"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(names, ["a.json"]);
    fs::remove_dir_all(&dir).unwrap();
}
#[test]
fn what_an_interrupted_write_left_is_removed_by_who_is_alone() {
    let dir = folder("left");
    fs::create_dir_all(dir.join("runs")).unwrap();
    let left = dir.join(format!("runs/.a.json.1{PARTIAL}"));
    fs::write(&left, b"{\"half\":").unwrap();
    let first = Store::open(&dir).unwrap();
    assert!(!left.exists());
    fs::write(&left, b"{\"of another process\":").unwrap();
    let second = Store::open(&dir).unwrap();
    assert!(left.exists(), "somebody else is at work");
    drop((first, second));
    drop(Store::open(&dir).unwrap());
    assert!(!left.exists());
    fs::remove_dir_all(&dir).unwrap();
}
#[cfg(unix)]
#[test]
fn a_claim_has_one_holder_and_ends_with_it() {
    let dir = folder("claim");
    let stores = [Store::open(&dir).unwrap(), Store::open(&dir).unwrap()];
    let first = stores[0].claim("a").unwrap();
    assert!(first.is_some() && stores[1].claim("a").unwrap().is_none());
    assert!(stores[1].claim("b").unwrap().is_some(), "another name is free");
    drop(first);
    assert!(stores[1].claim("a").unwrap().is_some());
    fs::remove_dir_all(&dir).unwrap();
}
/// Threads that count in a file under a claim: without it increments would be lost.
#[cfg(unix)]
#[test]
fn claims_exclude_each_other_however_often_they_change_hands() {
    let dir = folder("count");
    let store = Store::open(&dir).unwrap();
    store.write("n", b"0").unwrap();
    let (threads, each) = (4, 50);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..each {
                    let _claim = store.claim_waiting("n").unwrap();
                    let n: u32 = fs::read_to_string(dir.join("n")).unwrap().parse().unwrap();
                    std::thread::yield_now();
                    fs::write(dir.join("n"), (n + 1).to_string()).unwrap();
                }
            });
        }
    });
    assert_eq!(store.read("n").unwrap(), (threads * each).to_string());
    fs::remove_dir_all(&dir).unwrap();
}
#[test]
fn a_document_is_written_over_by_the_same_command_only() {
    let dir = folder("documents");
    let store = Store::open(&dir).unwrap();
    let of = |digest: &str| Of {
        what: format!("run {digest}"),
        digest: digest.into(),
    };
    store.reserve("result.json", &of("a"), None).unwrap();
    store.reserve("result.json", &of("b"), None).unwrap(); // the first was never written
    store.write("result.json", b"{}").unwrap();
    store.reserve("result.json", &of("b"), None).unwrap();
    let e = store.reserve("result.json", &of("a"), None).unwrap_err();
    assert!(e.exit_code() == 2 && e.to_string().contains("run b"), "{e}");
    store.reserve("result.json", &of("c"), Some("b")).unwrap();
    store.write("foreign.json", b"{}").unwrap();
    assert!(store.reserve("foreign.json", &of("a"), None).is_err());
    fs::remove_dir_all(&dir).unwrap();
}
#[test]
fn a_folder_of_a_newer_version_is_refused() {
    let dir = folder("newer");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("store.json"), format!("{{\"format\": {}}}", FORMAT + 1)).unwrap();
    let e = Store::open(&dir).unwrap_err();
    assert!(e.exit_code() == 2 && e.to_string().contains("newer version"), "{e}");
    fs::write(dir.join("store.json"), "{\"format\": ").unwrap();
    assert_eq!(Store::open(&dir).unwrap_err().exit_code(), 2);
    fs::remove_dir_all(&dir).unwrap();
}
#[test]
fn a_file_in_the_way_is_a_clear_error() {
    let path = folder("file");
    fs::write(&path, b"").unwrap();
    let e = Store::open(&path).unwrap_err();
    assert_eq!(e.exit_code(), 2);
    fs::remove_file(&path).unwrap();
}
