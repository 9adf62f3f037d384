use crate::{Database, PAGE_BYTES, Session, SqliteError, Store};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A store in plain memory, which may stop serving.
struct Bytes {
    bytes: Vec<u8>,
    /// Accesses until one panics.
    left: usize,
    /// Pages read.
    pages: usize,
}
impl Bytes {
    fn new(pages: u64) -> Bytes {
        Bytes {
            bytes: vec![0; (pages * PAGE_BYTES) as usize],
            left: usize::MAX,
            pages: 0,
        }
    }
    fn count(&mut self) {
        assert!(self.left > 0, "power fails");
        self.left -= 1;
    }
}
impl Store for Bytes {
    fn capacity(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn read(&mut self, at: u64, into: &mut [u8]) {
        self.count();
        self.pages += usize::from(into.len() as u64 == PAGE_BYTES);
        into.copy_from_slice(&self.bytes[at as usize..][..into.len()]);
    }
    fn write(&mut self, at: u64, bytes: &[u8]) {
        self.count();
        self.bytes[at as usize..][..bytes.len()].copy_from_slice(bytes);
    }
}

fn create(s: &mut Session<'_>) -> Result<(), SqliteError> {
    s.run_all(c"CREATE TABLE test (key blob, value blob, PRIMARY KEY(key))")
}
fn put(s: &mut Session<'_>, key: &[u8], value: &[u8]) -> Result<(), SqliteError> {
    s.run(c"REPLACE INTO test (key, value) VALUES (?, ?)", &[key, value], |_| {})
}
fn get(s: &mut Session<'_>, key: &[u8]) -> Result<Option<Vec<u8>>, SqliteError> {
    let mut found = None;
    s.run(c"SELECT value FROM test WHERE key = ?", &[key], |c| {
        found = Some(c[0].to_vec())
    })?;
    Ok(found)
}

#[test]
fn connections_see_what_others_committed() {
    let mut store = Bytes::new(64);
    let (mut one, mut two) = (Database::new(), Database::new());
    one.with(&mut store, create).unwrap();
    for i in 0..200u32 {
        let (writer, reader) = if i % 2 == 0 {
            (&mut one, &mut two)
        } else {
            (&mut two, &mut one)
        };
        let (key, value) = (i.to_be_bytes(), [i as u8; 100]);
        writer.with(&mut store, |s| put(s, &key, &value)).unwrap();
        assert_eq!(reader.with(&mut store, |s| get(s, &key)).unwrap(), Some(value.to_vec()));
    }
    assert_eq!(two.with(&mut store, |s| s.faults()).unwrap(), [""; 0]);
    assert!(one.with(&mut store, |s| s.pages()).unwrap() > 6);
    // Nothing changed in between: the pages are in the cache, and only the size and the change counter are looked at.
    one.with(&mut store, |s| get(s, &7u32.to_be_bytes())).unwrap();
    let before = store.pages;
    one.with(&mut store, |s| get(s, &7u32.to_be_bytes())).unwrap();
    assert_eq!(store.pages - before, 0);
    // Another connection has committed: the pages are read again.
    two.with(&mut store, |s| put(s, b"other", b"value")).unwrap();
    one.with(&mut store, |s| get(s, &7u32.to_be_bytes())).unwrap();
    assert!(store.pages - before >= 2);
}

#[test]
fn a_database_that_does_not_fit_is_refused_and_a_torn_one_is_found() {
    let mut store = Bytes::new(8);
    let mut db = Database::new();
    db.with(&mut store, create).unwrap();
    let full = (0..400u32).find_map(|i| db.with(&mut store, |s| put(s, &i.to_be_bytes(), &[1; 100])).err());
    assert_eq!(full.unwrap().code, 13, "the code of a full disk");

    let mut store = Bytes::new(64);
    let mut db = Database::new();
    db.with(&mut store, create).unwrap();
    (0..100u32).for_each(|i| db.with(&mut store, |s| put(s, &i.to_be_bytes(), &[1; 100])).unwrap());
    // One page of the tree as it was before it was ever written.
    store.bytes[3 * 4096..4 * 4096].fill(0);
    let faults = Database::new().with(&mut store, |s| s.faults());
    assert!(faults.as_ref().map_or(true, |f| !f.is_empty()), "{faults:?}");
}

/// A panic of the store, at each of its accesses, reaches the caller and leaves other connections alone.
#[test]
fn a_panic_passes_through() {
    for left in 0.. {
        let mut store = Bytes::new(64);
        Database::new().with(&mut store, create).unwrap();
        store.left = left;
        let mut db = Database::new();
        let ended = catch_unwind(AssertUnwindSafe(|| db.with(&mut store, |s| put(s, b"key", &[1; 100]))));
        if let Ok(result) = ended {
            assert_eq!(result, Ok(()));
            assert!(left > 3, "there are at least a read and three writes");
            return;
        }
        let message = *ended.unwrap_err().downcast::<&str>().unwrap();
        assert_eq!(message, "power fails");
    }
}

#[test]
fn the_version_is_the_one_built_in() {
    assert!(crate::version().starts_with("3."));
}
