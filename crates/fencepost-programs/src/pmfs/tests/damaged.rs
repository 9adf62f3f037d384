//! What recovery and audits must not take for a file system, and where its parts lie.

use super::*;

/// A run, the memory it leaves and its oracle.
fn run() -> (FileSystem, Words, Files, Vec<OpRecord>) {
    let fs = file_system(2000);
    let (mut m, mut files, mut ops) = (Words::default(), before(), Vec::new());
    fs.setup(&mut m, planted);
    for k in 0..60 {
        let outcome = serve(&fs, &mut m, LOGGED, k, drawn(k));
        plainly(&mut files, drawn(k), Caller { thread: 0, k }.name());
        let stamp = u64::from(k);
        ops.push(OpRecord {
            thread: 0,
            k,
            stamp,
            outcome,
        });
    }
    (fs, m, files, ops)
}

/// The audit accepts what a run leaves, and refuses it when any word is another: of an entry, of an inode (but the time of its last change),
/// of the data.
#[test]
fn an_audit_sees_every_word() {
    let (fs, mut m, files, ops) = run();
    let model = digest(&ops, |_, k| drawn(k), NAMES, planted);
    let crash = CrashPoint {
        begun: vec![60],
        acked: vec![60],
    };
    let audit = |m: &mut Words| {
        let mut state = model.registers.start(&crash);
        loop {
            match fs.audit_step(&model, m, state) {
                Flow::Next(next) => state = next,
                Flow::Done(verdict) => return verdict.is_ok(),
            }
        }
    };
    assert!(audit(&mut m), "as the run left it");
    let mut words = Vec::new();
    for (name, file) in &files {
        let [inode, entry] = [0, 8].map(|f| m.load(fs.known::<()>(*name).field(f)).v);
        words.extend((0..ENTRY / 8).map(|w| entry + w * 8));
        words.extend([SIZE, BORN, LINKS].map(|f| inode + f));
        let read = Inode::read(&mut m, At::new(Addr(inode)));
        if read.size > 0 {
            words.extend([ROOT, HEIGHT].map(|f| inode + f));
        }
        for w in 0..file.words.len() as u64 {
            let block = blocks::find(&fs, &mut m, (read.root, read.height), w / 8).expect("a block");
            words.push(block.0 + w % 8 * 8);
        }
    }
    assert!(words.len() > 100, "{}", words.len());
    for at in words {
        for bit in [0, 3, 33, 63] {
            let at = At::new(Addr(at));
            let right = m.load(at);
            m.store(at, right.map(|v| v ^ 1 << bit));
            assert!(!audit(&mut m), "bit {bit} of {:?}", at.addr);
            m.store(at, right);
        }
    }
    assert!(audit(&mut m), "as before");
}

/// An entry of the journal is what was written, and nothing if any bit of it is another, or the round.
#[test]
fn a_torn_entry_is_none() {
    let (fs, mut m, ..) = run();
    let (mut at, mut generation, head) = fs.journal.ends(&mut m).expect("a journal");
    let (mut undo, mut commits) = (0, 0);
    while at != head {
        (at, generation) = fs.journal.before(at, generation);
        let Some(entry) = fs.journal.read(&mut m, at, generation) else {
            continue;
        };
        assert!(fs.journal.read(&mut m, at, generation + 1).is_none());
        match entry.kind {
            Kind::Commit => {
                assert_eq!(entry.size, 0);
                commits += 1;
            }
            Kind::Undo => {
                assert!((8..=48).contains(&entry.size) && entry.at.0 >= PM_BASE);
                undo += 1;
            }
        }
        // Two words stand in front of the old ones.
        let first = Addr(entry.payload.0 - 16);
        for word in 0..2 + entry.size / 8 {
            for bit in 0..64 {
                let place = At::new(Addr(first.0 + word * 8));
                let right = m.load(place);
                m.store(place, right.map(|v| v ^ 1 << bit));
                let torn = fs.journal.read(&mut m, at, generation);
                assert!(torn.is_none(), "bit {bit} of word {word}: {torn:?}");
                m.store(place, right);
            }
        }
        assert_eq!(fs.journal.read(&mut m, at, generation), Some(entry));
    }
    assert!(undo > 3 && commits > 1, "{undo} and {commits}");
}

/// What was written before a transaction committed is taken back, word by word, and nothing else.
#[test]
fn a_transaction_that_has_not_ended_is_undone() {
    let fs = file_system(900);
    for call in [
        Call::Create { name: 1 },
        Call::Append { name: 4, len: 800 },
        Call::Append { name: 0, len: 72 },
        Call::Delete { name: 2 },
        Call::Rename { from: 2, to: 5 },
    ] {
        let mut m = Words::default();
        fs.setup(&mut m, planted);
        serve(&fs, &mut m, LOGGED, 0, call);
        // The commit entry is the last one: without it the transaction has not ended.
        let (mut at, mut generation, _) = fs.journal.ends(&mut m).expect("a journal");
        let commit = loop {
            (at, generation) = fs.journal.before(at, generation);
            match fs.journal.read(&mut m, at, generation) {
                Some(entry) if entry.kind == Kind::Commit => break entry.payload,
                _ => {}
            }
        };
        m.store(At::new(Addr(commit.0 - 16)), Val::lit(0));
        recover(&fs, &mut m);
        // The index of names is volatile: it is found anew.
        let mut fresh = Words::default();
        fs.setup(&mut fresh, planted);
        for name in 0..NAMES {
            for f in [0, 8] {
                let found = fresh.load(fs.known::<()>(name).field(f));
                m.store(fs.known::<()>(name).field(f), found);
            }
        }
        same(&fs, &mut m, &before());
        let (tail, _, head) = fs.journal.ends(&mut m).expect("a journal");
        assert_eq!(tail, head, "the journal is empty");
    }
}

/// Ends that lie in no round of the circle are no journal's.
#[test]
fn ends_beyond_the_circle_are_refused() {
    let fs = file_system(900);
    let mut m = Words::default();
    fs.setup(&mut m, planted);
    let count = (fs.journal.span().len - 64) / 64;
    let words = fs.journal.span().at.0;
    for (head, tail, generation, right) in [
        (0, 0, 1, true),
        (count - 1, count - 1, 0xffff, true),
        (count, 0, 1, false),
        (0, count, 1, false),
        (0, 0, 0x1_0000, false),
    ] {
        m.store(At::new(Addr(words)), Val::lit(head));
        m.store(At::new(Addr(words + 8)), Val::lit(tail | generation << 32));
        let expected = right.then_some((tail, generation, head));
        assert_eq!(fs.journal.ends(&mut m), expected);
    }
}

/// A journal has an entry a line behind a line of its ends: as many as asked for, or twice what all threads and one more write at once.
#[test]
fn parts_lie_where_they_are_told_from_each_other() {
    for (asked, threads, count) in [(16, 1, 2 * 2 * (6 + 13 / 6 + 1)), (1000, 1, 1000), (16, 3, 4 * 2 * 9)] {
        let shape = Shape {
            names: NAMES,
            names_per_dir: PER_DIR,
            block: 64,
            journal: asked,
            largest: 800,
            inodes: 5,
            blocks: 7,
        };
        let settings = Settings {
            scheme: Scheme::PmfsJournal,
            threads,
            ..Settings::default()
        };
        let fs = FileSystem::new(&settings, shape, planted);
        assert_eq!(fs.journal.span().len, 64 + count * 64);
        // Two directories of two blocks and a node; files of none, two blocks and a node, nine blocks and three nodes.
        assert_eq!(
            (fs.dirs.count(), fs.planted.count(), fs.used.count()),
            (2, 3, 2 * 3 + 3 + 12)
        );
        assert_eq!(
            (fs.inodes.blocks(), fs.rt.pool().blocks()),
            (u64::from(threads) * 5, u64::from(threads) * 7)
        );
        assert_eq!(fs.inodes.span().len, u64::from(threads) * 5 * 128);
        assert_eq!(fs.locks.count(), 8);
        let [first, second] = [0, 1].map(|n| fs.known::<()>(n).addr.0);
        assert_eq!(second - first, 16);
        // A thread reads into 4 KiB, and writes from as many bytes behind as the largest write has.
        assert_eq!(fs.buffer(0).0 - fs.read_buffer(0).0, 4096);
        if threads > 1 {
            assert_eq!(fs.read_buffer(1).0 - fs.buffer(0).0, 832);
        }
        assert_eq!([0, 2, 3, 5].map(|n| fs.dir(n)), [0, 0, 1, 1]);
        for thread in 0..threads {
            let ranges = fs.ranges(thread, threads);
            assert_eq!(ranges[0].at, fs.rt.pool().span_of(thread).at);
            assert_eq!(ranges[1].at, fs.journal.span().at);
            assert_eq!(ranges.len() as u32, threads + 5);
        }
        let spans: Vec<u64> = fs.resident().iter().map(|s| s.len).collect();
        assert_eq!(spans, [2 * 128, 3 * 128, 21 * 64]);
    }
}
