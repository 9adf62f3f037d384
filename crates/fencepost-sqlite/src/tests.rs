use crate::{Database, File, Journal, PAGE_BYTES, Session, SqliteError, Store, WalIndexes};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A store in plain memory, which may stop serving.
#[derive(Clone)]
struct Bytes {
    files: [Vec<u8>; 3],
    /// Accesses until one panics.
    left: usize,
    /// Pages read, and syncs.
    pages: usize,
    syncs: usize,
    drawn: u64,
}
impl Bytes {
    fn new(pages: u64) -> Bytes {
        let file = vec![0; (pages * PAGE_BYTES) as usize];
        Bytes {
            files: [file.clone(), file.clone(), file],
            left: usize::MAX,
            pages: 0,
            syncs: 0,
            drawn: 0,
        }
    }
    fn count(&mut self) {
        assert!(self.left > 0, "power fails");
        self.left -= 1;
    }
}
impl Store for Bytes {
    fn capacity(&self, file: File) -> u64 {
        self.files[file as usize].len() as u64
    }
    fn size(&mut self, file: File) -> u64 {
        let bytes = &self.files[file as usize];
        match file {
            _ if bytes[..8] == [0; 8] => 0,
            File::Pages => u64::from(u32::from_be_bytes(bytes[28..32].try_into().unwrap())) * PAGE_BYTES,
            _ => self.capacity(file),
        }
    }
    fn read(&mut self, file: File, at: u64, into: &mut [u8]) {
        self.count();
        self.pages += usize::from(file == File::Pages && into.len() as u64 == PAGE_BYTES);
        into.copy_from_slice(&self.files[file as usize][at as usize..][..into.len()]);
    }
    fn write(&mut self, file: File, at: u64, bytes: &[u8]) {
        self.count();
        self.files[file as usize][at as usize..][..bytes.len()].copy_from_slice(bytes);
    }
    fn sync(&mut self, _: File) {
        self.count();
        self.syncs += 1;
    }
    fn random(&mut self) -> u64 {
        self.drawn += 1;
        self.drawn
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
        found = Some(c[0].to_vec());
    })?;
    Ok(found)
}

#[test]
fn connections_see_what_others_committed() {
    let mut store = Bytes::new(64);
    let (mut one, mut two) = (Database::new(Journal::Off), Database::new(Journal::Off));
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
    let mut db = Database::new(Journal::Off);
    db.with(&mut store, create).unwrap();
    let full = (0..400u32).find_map(|i| db.with(&mut store, |s| put(s, &i.to_be_bytes(), &[1; 100])).err());
    assert_eq!(full.unwrap().code, 13, "the code of a full disk");

    let mut store = Bytes::new(64);
    let mut db = Database::new(Journal::Off);
    db.with(&mut store, create).unwrap();
    (0..100u32).for_each(|i| db.with(&mut store, |s| put(s, &i.to_be_bytes(), &[1; 100])).unwrap());
    // One page of the tree as it was before it was ever written.
    store.files[0][3 * 4096..4 * 4096].fill(0);
    let faults = Database::new(Journal::Off).with(&mut store, |s| s.faults());
    assert!(faults.as_ref().map_or(true, |f| !f.is_empty()), "{faults:?}");
}

/// A panic of the store, at each of its accesses, reaches the caller and leaves other connections alone.
#[test]
fn a_panic_passes_through() {
    for left in 0.. {
        let mut store = Bytes::new(64);
        Database::new(Journal::Off).with(&mut store, create).unwrap();
        store.left = left;
        let mut db = Database::new(Journal::Off);
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

/// Each way to keep a journal, with connections that share one index.
fn journals() -> [Journal; 2] {
    let index = WalIndexes::default().find(0).1;
    [Journal::Rollback, Journal::Wal { checkpoint: 8, index }]
}
/// One row more; it has the value of how many there are.
fn grow(db: &mut Database, store: &mut Bytes, row: u32) -> Result<(), SqliteError> {
    db.with(store, |s| put(s, &row.to_be_bytes(), &[row as u8; 1000]))
}

#[test]
fn connections_with_journals_of_their_own_see_what_others_committed() {
    for journal in journals() {
        let mut store = Bytes::new(100);
        let (mut one, mut two) = (Database::new(journal.clone()), Database::new(journal));
        one.with(&mut store, create).unwrap();
        for i in 0..40u32 {
            let (writer, reader) = if i % 3 == 0 {
                (&mut one, &mut two)
            } else {
                (&mut two, &mut one)
            };
            let syncs = store.syncs;
            grow(writer, &mut store, i).unwrap();
            assert!(store.syncs > syncs, "a commit syncs");
            let found = reader.with(&mut store, |s| get(s, &i.to_be_bytes())).unwrap();
            assert_eq!(found, Some(vec![i as u8; 1000]));
        }
        assert_eq!(two.with(&mut store, |s| s.faults()).unwrap(), [""; 0]);
        assert!(
            store.files[1..].iter().any(|f| f.iter().any(|b| *b != 0)),
            "nothing was journaled"
        );
    }
}

/// Power fails before any access of a transaction, accesses persist in order: a new connection finds the transaction whole or not at
/// all, and those before it. Without the journal the same interruptions break the database.
#[test]
fn a_new_connection_recovers_what_an_interrupted_one_leaves() {
    let [rollback, wal] = journals();
    for (journal, kept) in [(rollback, true), (wal, true), (Journal::Off, false)] {
        let (mut store, mut db) = (Bytes::new(100), Database::new(journal.clone()));
        db.with(&mut store, create).unwrap();
        (0..30).for_each(|row| grow(&mut db, &mut store, row).unwrap());
        drop(db);
        // What the power failure leaves of the volatile index is nothing.
        let fresh = || match &journal {
            Journal::Wal { checkpoint, .. } => Journal::Wal {
                checkpoint: *checkpoint,
                index: Default::default(),
            },
            other => other.clone(),
        };
        let (mut seen, mut broken) = ([0; 2], 0);
        for left in 0.. {
            let (mut cut, mut db) = (store.clone(), Database::new(fresh()));
            db.with(&mut cut, |s| get(s, b"")).unwrap();
            cut.left = left;
            let whole = catch_unwind(AssertUnwindSafe(|| grow(&mut db, &mut cut, 30))).is_ok();
            drop(db);
            cut.left = usize::MAX;
            let look = Database::new(fresh()).with(&mut cut, |s| {
                let new = get(s, &30u32.to_be_bytes())?;
                let old = (0..30u32).all(|r| get(s, &r.to_be_bytes()).is_ok_and(|v| v == Some(vec![r as u8; 1000])));
                Ok((s.faults()?, new, old))
            });
            match look {
                Ok((faults, new, true)) if faults.is_empty() && new.as_ref().is_none_or(|v| *v == [30; 1000]) => {
                    seen[usize::from(new.is_some())] += 1;
                    assert!(!whole || new.is_some(), "a committed row is lost");
                }
                other => {
                    assert!(!kept, "after {left} accesses: {other:?}");
                    broken += 1;
                }
            }
            if whole {
                break;
            }
        }
        assert!(
            seen[0] > 0 && seen[1] > 0 && kept == (broken == 0),
            "{seen:?}, {broken} broken"
        );
    }
}

/// What is written does not depend on what else the process does with SQLite.
#[test]
fn journals_are_functions_of_their_stores() {
    for journal in 0..2 {
        let run = |others: u32| {
            let (mut store, mut db) = (Bytes::new(100), Database::new(journals()[journal].clone()));
            let (mut beside, mut noise) = (Bytes::new(100), Database::new(Journal::Rollback));
            db.with(&mut store, create).unwrap();
            noise.with(&mut beside, create).unwrap();
            for row in 0..40 {
                grow(&mut db, &mut store, row).unwrap();
                (0..others).for_each(|n| grow(&mut noise, &mut beside, row * others + n).unwrap());
            }
            assert!(store.drawn > 0, "no random number was asked for");
            store.files
        };
        assert!(run(0) == run(1));
    }
}
