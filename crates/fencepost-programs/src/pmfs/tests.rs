//! The file system called by one thread, beside plain files.

mod damaged;

use super::blocks;
use super::calls::{Call, Caller};
use super::data::content;
use super::directory;
use super::fs::FileSystem;
use super::inode::{BORN, HEIGHT, Inode, LINKS, ROOT, SIZE, TIME};
use super::journal::Kind;
use super::oracle::digest;
use super::recovery::FsRebuild;
use super::shape::{ENTRY, Shape};
use crate::choices::Scheme;
use crate::pool::tests::Words;
use crate::settings::Settings;
use fencepost_kernel::units::PM_BASE;
use fencepost_kernel::{
    Addr, At, CrashPoint, Dialect, Fence, Flow, Flush, Logging, Mem, OpRecord, Outcome, Pm, Val, rng,
};
use std::collections::{BTreeMap, BTreeSet};

const NAMES: u64 = 6;
const PER_DIR: u64 = 3;
/// Software logs; an order is a fence.
const LOGGED: Dialect = Dialect {
    logging: Logging::Software,
    flush: Some(Flush::Clwb),
    order: &[Fence::Sfence],
    log_to_data: &[Fence::Sfence],
    durable: &[Fence::Sfence],
    order_is_durable: true,
    ..Dialect::PLAIN
};

/// Every other name has a file before the run: of no byte, of a block and a word, of more than a tree of one level holds.
fn planted(name: u64) -> Option<u64> {
    [Some(0), None, Some(72), None, Some(9 * 64), None][name as usize]
}
/// Nodes of eight pointers; no more blocks than the largest files fill at once.
fn file_system(blocks: u64) -> FileSystem {
    let shape = Shape {
        names: NAMES,
        names_per_dir: PER_DIR,
        block: 64,
        journal: 16,
        largest: 800,
        inodes: 200,
        blocks,
    };
    let settings = Settings {
        scheme: Scheme::PmfsJournal,
        ..Settings::default()
    };
    FileSystem::new(&settings, shape, planted)
}
/// A plain file: the words of its bytes, and which calls created it and changed it last.
#[derive(Clone, Debug)]
struct File {
    words: Vec<u64>,
    born: u64,
    time: u64,
}
type Files = BTreeMap<u64, File>;

fn before() -> Files {
    let file = |size: u64| File {
        words: vec![0; size as usize / 8],
        born: 1,
        time: 1,
    };
    (0..NAMES).filter_map(|n| planted(n).map(|s| (n, file(s)))).collect()
}
/// What a call does to plain files; what it returns.
fn plainly(files: &mut Files, call: Call, by: u64) -> (u8, [u64; 3]) {
    let words = |from: usize, n: usize| (from..from + n).map(|w| content(by, w as u64 * 8));
    match call {
        Call::Create { name } if !files.contains_key(&name) => {
            let words = Vec::new();
            files.insert(
                name,
                File {
                    words,
                    born: by,
                    time: by,
                },
            );
            (1, [0; 3])
        }
        Call::Append { name, len } if len > 0 && files.contains_key(&name) => {
            let f = files.entry(name).and_modify(|f| f.time = by);
            f.and_modify(|f| f.words.extend(words(f.words.len(), len as usize / 8)));
            (2, [0; 3])
        }
        Call::Overwrite { name, at, len } => {
            let Some(f) = files.get_mut(&name) else {
                return (0, [0; 3]);
            };
            let (from, to) = (at as usize / 8, f.words.len().min((at + len) as usize / 8));
            if from >= to {
                return (0, [0; 3]);
            }
            f.words.splice(from..to, words(from, to - from));
            f.time = by;
            (3, [0; 3])
        }
        Call::Delete { name } if files.remove(&name).is_some() => (4, [0; 3]),
        Call::Rename { from, to } if from != to && files.contains_key(&from) && !files.contains_key(&to) => {
            let moved = files.remove(&from);
            files.extend(moved.map(|f| (to, f)));
            (5, [0; 3])
        }
        Call::Read { name, at, most } => match files.get(&name) {
            Some(f) => {
                let all = f.words.iter().skip(at as usize / 8).take(most as usize / 8);
                let sum = all.fold(0, |s: u64, w| s.wrapping_add(*w));
                (0, [f.words.len() as u64 * 8 + 1, sum, 0])
            }
            None => (0, [0; 3]),
        },
        Call::Stat { name } => (0, [files.get(&name).map_or(0, |f| f.words.len() as u64 * 8 + 1), 0, 0]),
        _ => (0, [0; 3]),
    }
}
/// Calls of all kinds; files grow to several hundred blocks.
fn drawn(k: u32) -> Call {
    let h = |salt| rng::hash(&[u64::from(k), salt]);
    let (name, len, at) = (h(1) % NAMES, 8 * (h(2) % 100), 8 * (h(3) % 300));
    match h(0) % 20 {
        0..2 => Call::Create { name },
        2..9 => Call::Append { name, len },
        9..12 => Call::Overwrite { name, at, len },
        12 => Call::Delete { name },
        13..15 => Call::Rename {
            from: name,
            to: h(4) % NAMES,
        },
        15..18 => Call::Read { name, at, most: len },
        18 => Call::Stat { name },
        _ => Call::Sync,
    }
}
/// Blocks and nodes of a list, each once.
fn all_blocks(fs: &FileSystem, m: &mut Words, inode: Inode, all: &mut BTreeSet<u64>) {
    let count = inode.size.div_ceil(64);
    let mut level: Vec<u64> = if count > 0 { vec![inode.root] } else { Vec::new() };
    for height in (1..=inode.height).rev() {
        level.iter().for_each(|n| assert!(all.insert(*n) && fs.owns_block(*n)));
        let below = count.div_ceil(8u64.pow(height as u32 - 1));
        let child = |i: u64| (level[i as usize / 8], i % 8 * 8);
        let children: Vec<(u64, u64)> = (0..below).map(child).collect();
        level = children
            .iter()
            .map(|(n, o)| m.load(At::new(Addr(*n)).field(*o)).v)
            .collect();
    }
    assert_eq!(level.len() as u64, count);
    level.iter().for_each(|b| assert!(all.insert(*b) && fs.owns_block(*b)));
}
/// Everything that stands in memory, beside plain files.
fn same(fs: &FileSystem, m: &mut Words, files: &Files) {
    let mut used = BTreeSet::new();
    for dir in 0..2 {
        let inode = Inode::read(m, fs.dirs.at(dir));
        assert_eq!(inode.size, 128);
        all_blocks(fs, m, inode, &mut used);
    }
    for name in 0..NAMES {
        let [inode, entry] = [0, 8].map(|f| m.load(fs.known::<()>(name).field(f)).v);
        let Some(file) = files.get(&name) else {
            assert_eq!((inode, entry), (0, 0), "name {name}");
            continue;
        };
        let (at, entry) = (At::new(Addr(inode)), At::<()>::new(Addr(entry)));
        assert!(fs.owns_inode(inode) && m.load(entry).v == inode);
        assert!(
            directory::fields(name)
                .iter()
                .all(|(f, v)| m.load(entry.field(*f)).v == *v)
        );
        let read = Inode::read(m, at);
        assert_eq!(
            (read.size, read.born, read.links),
            (file.words.len() as u64 * 8, file.born, 1)
        );
        assert_eq!(m.load(at.field(TIME)).v, file.time);
        all_blocks(fs, m, read, &mut used);
        for (w, word) in (0..).zip(&file.words) {
            let block = blocks::find(fs, m, (read.root, read.height), w / 8).expect("a block");
            assert_eq!(m.load(At::new(block).field(w % 8 * 8)).v, *word, "word {w} of {name}");
        }
    }
    let entries = |m: &mut Words, dir: u64| {
        let mut found = 0;
        for i in 0..4 {
            let entry = directory::entry_of(fs, m, fs.dirs.at(dir), i);
            found += u64::from(m.load(entry).v != 0);
        }
        found
    };
    for dir in 0..2 {
        let there = files.keys().filter(|n| *n / PER_DIR == dir).count() as u64;
        assert_eq!(entries(m, dir), there, "entries of directory {dir}");
    }
}
/// One call of the only thread. Out of line, so that it is compiled once.
#[inline(never)]
fn serve(fs: &FileSystem, m: &mut Words, dialect: Dialect, k: u32, call: Call) -> Outcome {
    let by = Caller { thread: 0, k };
    fs.serve(&mut Pm::new(m, dialect), by, &call).expect("nothing aborts")
}
fn recover(fs: &FileSystem, m: &mut Words) {
    let mut state = FsRebuild::Starts;
    loop {
        match fs.rebuild_step(m, state) {
            Flow::Next(next) => state = next,
            Flow::Done(verdict) => return verdict.expect("a journal"),
        }
    }
}

/// Every answer, every word of every file, sizes, times, directories: after each of many calls of all kinds, with and without a journal.
/// Blocks come back when files go: there are no more than files fill at once.
#[test]
fn calls_do_what_they_do_to_plain_files() {
    for dialect in [Dialect::PLAIN, LOGGED] {
        let fs = file_system(900);
        let (mut m, mut files) = (Words::default(), before());
        fs.setup(&mut m, planted);
        same(&fs, &mut m, &files);
        let (mut written, mut kinds) = (0, [0; 6]);
        for k in 0..1500 {
            let (call, by) = (drawn(k), Caller { thread: 0, k }.name());
            let done = serve(&fs, &mut m, dialect, k, call);
            assert_eq!((done.kind, done.words), plainly(&mut files, call, by), "{k}: {call:?}");
            same(&fs, &mut m, &files);
            kinds[usize::from(done.kind)] += 1;
            if let (2, Call::Append { len, .. }) = (done.kind, call) {
                written += len.div_ceil(64);
            }
            if k % 50 == 49 {
                // All transactions have ended: recovery changes nothing.
                recover(&fs, &mut m);
                same(&fs, &mut m, &files);
            }
        }
        assert!(
            written > 1800 && kinds.iter().all(|n| *n > 10),
            "{written} blocks, {kinds:?}"
        );
    }
}
