//! `nfs`: filebench's file server on the file system, as WHISPER runs it behind NFS.
//!
//! Each thread repeats six calls, in filebench's order: it creates a file, writes it whole, appends to a file of any thread, reads
//! one whole, deletes one, and looks one's size up. Sizes follow filebench's gamma distribution (shape 1.5) in sixteen steps.
//!
//! **By rule where filebench draws**: of the names of the set four in five have a file before the run; a thread creates and deletes
//! among its own names in turn, so that as many stay; files to append to, to read and to look up are drawn among those that every
//! thread has when all are at the same turn, so a call may find none. Opening and closing are no calls here.

use super::calls::Call;
use super::program::{OnPmfs, Workload};
use super::shape::Shape;
use crate::draw;
use crate::settings::Settings;
use fencepost_kernel::{Bytes, params, rng};

params! {
    /// Parameters of `nfs`.
    pub struct NfsParams {
        /// Names of the set.
        #[range(1..=1 << 17)]
        files: u64 = 10_000,
        /// Mean bytes of a file; whole words.
        #[range(Bytes(8)..=Bytes(1 << 20))]
        mean: Bytes = Bytes(128 << 10),
        /// Bytes of an append, at most; whole words.
        #[range(Bytes(8)..=Bytes(1 << 20))]
        append: Bytes = Bytes(16 << 10),
        /// Names of one directory.
        #[range(1..=1 << 16)]
        names_per_dir: u64 = 20,
        /// Bytes of a block, a power of two.
        #[range(Bytes(64)..=Bytes(4096))]
        block: Bytes = Bytes(4096),
        /// Undo entries of the journal.
        #[range(16..=1 << 20)]
        journal: u64 = 16_384,
    }
}

/// Means of sixteen equal shares of a gamma distribution of shape 1.5, in thousandths of its mean.
const GAMMA: [u64; 16] = [
    81, 185, 275, 361, 448, 538, 633, 735, 846, 970, 1110, 1276, 1479, 1746, 2147, 3172,
];
/// Calls of a turn.
const TURN: u32 = 6;

/// Filebench's file server.
#[derive(Clone, Debug)]
pub struct FileServer {
    params: NfsParams,
    seed: u64,
    threads: u64,
}

/// The program `nfs`.
pub type Nfs = OnPmfs<FileServer>;

impl FileServer {
    /// Names of each thread: those of its number, one in so many as there are threads.
    fn own(&self) -> u64 {
        self.params.files / self.threads
    }
    /// How many of them have files.
    fn kept(&self) -> u64 {
        (self.own() * 4 / 5).max(1)
    }
    fn name(&self, thread: u64, turn: u64) -> u64 {
        turn % self.own() * self.threads + thread
    }
    fn size(&self, h: u64) -> u64 {
        let share = GAMMA[draw::below(h, 16) as usize];
        (self.params.mean.0 * share / 1000).next_multiple_of(8).max(8)
    }
    /// A file that is there when all threads are at this turn.
    fn any(&self, h: u64, turn: u64) -> u64 {
        let thread = draw::below(h, self.threads);
        self.name(thread, turn + draw::below(rng::mix(h), self.kept()))
    }
}

impl Workload for FileServer {
    const NAME: &'static str = "nfs";
    const ABOUT: &'static str = "a file server on pmfs: files created, written, appended to, read, deleted (WHISPER)";
    const SMALL: &'static [(&'static str, &'static str)] = &[
        ("files", "12"),
        ("mean", "128B"),
        ("append", "72B"),
        ("names_per_dir", "4"),
        ("block", "64B"),
        ("journal", "16"),
    ];
    type Params = NfsParams;

    fn new(params: NfsParams, settings: &Settings) -> Result<FileServer, String> {
        let threads = u64::from(settings.threads);
        if params.files < 2 * threads {
            return Err(format!(
                "files = {} are not two for each of {threads} threads",
                params.files
            ));
        }
        if !params.block.0.is_power_of_two() || !params.append.0.is_multiple_of(8) {
            return Err(format!(
                "block = {}B, append = {}B: blocks are powers of two, and appends whole words",
                params.block.0, params.append.0
            ));
        }
        let seed = settings.seed;
        Ok(FileServer { params, seed, threads })
    }
    fn shape(&self) -> Shape {
        let p = &self.params;
        Shape {
            names: p.files,
            names_per_dir: p.names_per_dir,
            block: p.block.0,
            journal: p.journal,
            largest: (p.mean.0 * GAMMA[15] / 1000 + 8).max(p.append.0),
            inodes: 0,
            blocks: 0,
        }
    }
    fn planted(&self, name: u64) -> Option<u64> {
        let there = name / self.threads < self.kept() && name < self.own() * self.threads;
        there.then(|| self.size(rng::hash(&[self.seed, name, 1])))
    }
    fn call(&self, thread: u32, k: u32) -> Call {
        let (turn, own) = (u64::from(k / TURN), u64::from(thread));
        let h = rng::hash(&[self.seed, own, u64::from(k)]);
        let new = self.name(own, turn + self.kept());
        let any = self.any(h, turn);
        match k % TURN {
            0 => Call::Create { name: new },
            1 => Call::Append {
                name: new,
                len: self.size(h),
            },
            2 => Call::Append {
                name: any,
                len: 8 * draw::between(rng::mix(h ^ 1), 1, self.params.append.0 / 8),
            },
            3 => Call::Read {
                name: any,
                at: 0,
                most: u64::MAX >> 1,
            },
            4 => Call::Delete {
                name: self.name(own, turn),
            },
            _ => Call::Stat { name: any },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn sizes_have_the_mean_that_is_asked_for() {
        let sum: u64 = GAMMA.iter().sum();
        assert!(sum.abs_diff(16_000) <= 8, "{sum}");
        assert!(GAMMA.is_sorted());
    }
    /// A thread's files are as many after every turn.
    #[test]
    fn names_come_and_go_in_turn() {
        let settings = Settings {
            threads: 3,
            ..Settings::default()
        };
        let params = NfsParams {
            files: 60,
            ..NfsParams::default()
        };
        let w = FileServer::new(params, &settings).expect("sizes that fit");
        let mut there: std::collections::BTreeSet<u64> = (0..60).filter(|n| w.planted(*n).is_some()).collect();
        assert_eq!(there.len(), 48);
        for k in 0..600 {
            for thread in 0..3 {
                match w.call(thread, k) {
                    Call::Create { name } => assert!(there.insert(name)),
                    Call::Delete { name } => assert!(there.remove(&name)),
                    Call::Append { name, .. } | Call::Read { name, .. } if k % TURN < 4 => {
                        assert!(there.contains(&name), "{name} at {k}");
                    }
                    _ => {}
                }
            }
        }
        assert_eq!(there.len(), 48);
    }

    fn server(threads: u32, params: NfsParams) -> FileServer {
        let settings = Settings {
            threads,
            ..Settings::default()
        };
        FileServer::new(params, &settings).expect("sizes that fit")
    }
    /// Files have sixteen sizes, each as often as the others, which have the mean that is asked for; an append has any length up to the
    /// longest, and none is longer than the largest write.
    #[test]
    fn lengths_are_drawn_as_declared() {
        let params = NfsParams {
            mean: Bytes(16_000),
            append: Bytes(80),
            ..NfsParams::default()
        };
        let w = server(2, params);
        let (mut sizes, mut appends) = (std::collections::BTreeMap::new(), std::collections::BTreeMap::new());
        for k in 0..40_000 {
            match (w.call(1, k), k % TURN) {
                (Call::Append { len, .. }, 1) => *sizes.entry(len).or_insert(0u32) += 1,
                (Call::Append { len, .. }, 2) => *appends.entry(len).or_insert(0u32) += 1,
                _ => {}
            }
        }
        let turns: u32 = sizes.values().sum();
        assert!(
            sizes.len() == 16 && sizes.values().all(|n| n.abs_diff(turns / 16) < turns / 80),
            "{sizes:?}"
        );
        let mean = sizes.keys().sum::<u64>() / 16;
        assert!(mean.abs_diff(16_000) < 32, "{mean}");
        assert_eq!(
            appends.keys().copied().collect::<Vec<_>>(),
            (1..=10).map(|n| n * 8).collect::<Vec<_>>()
        );
        assert!(
            appends.values().all(|n| n.abs_diff(turns / 10) < turns / 50),
            "{appends:?}"
        );
        let largest = w.shape().largest;
        assert!(sizes.keys().all(|s| s % 8 == 0 && *s <= largest) && largest <= sizes.keys().max().unwrap_or(&0) + 16);
        let long = NfsParams {
            append: Bytes(1 << 20),
            ..w.params.clone()
        };
        assert_eq!(server(2, long).shape().largest, 1 << 20);
        let short = NfsParams {
            mean: Bytes(8),
            ..w.params.clone()
        };
        assert!((0..100).all(|k| server(2, short.clone()).size(rng::mix(k)) >= 8));
    }
    /// A turn is filebench's: create, write whole, append, read, delete, look up; files of any thread are drawn, each of those that are there.
    #[test]
    fn files_of_every_thread_are_drawn() {
        let params = NfsParams {
            files: 30,
            ..NfsParams::default()
        };
        let w = server(3, params);
        let mut drawn = std::collections::BTreeSet::new();
        for turn in 0..4000u32 {
            let calls: Vec<Call> = (0..TURN).map(|n| w.call(2, turn * TURN + n)).collect();
            let [
                Call::Create { name: new },
                Call::Append { name: written, .. },
                Call::Append { .. },
                Call::Read { at: 0, most, .. },
                Call::Delete { name: old },
                Call::Stat { .. },
            ] = calls[..]
            else {
                panic!("{calls:?}");
            };
            assert!(new == written && most > 1 << 60);
            // Ten names of each thread, eight of them there: the new one comes to stand eight turns behind the one that goes.
            let number = |name: u64| (name % 3, name / 3);
            assert_eq!(
                (number(old), number(new)),
                ((2, u64::from(turn) % 10), (2, (u64::from(turn) + 8) % 10))
            );
            for call in [calls[2], calls[3], calls[5]] {
                let (thread, place) = number(call.names()[0].expect("a name"));
                drawn.insert((thread, (place + 10 - u64::from(turn) % 10) % 10));
            }
        }
        let there: std::collections::BTreeSet<(u64, u64)> = (0..3).flat_map(|t| (0..8).map(move |p| (t, p))).collect();
        assert_eq!(drawn, there);
    }
    /// Each thread has two names at least, one of them with a file.
    #[test]
    fn parameters_that_cannot_be_are_refused() {
        let with = |files, block, append| {
            let params = NfsParams {
                files,
                block: Bytes(block),
                append: Bytes(append),
                ..NfsParams::default()
            };
            let settings = Settings {
                threads: 3,
                ..Settings::default()
            };
            FileServer::new(params, &settings)
                .map(|w| (0..files).filter(|n| w.planted(*n).is_some()).count())
                .ok()
        };
        assert_eq!(
            [with(6, 64, 8), with(7, 64, 8), with(15, 64, 8)],
            [Some(3), Some(3), Some(12)]
        );
        assert_eq!([with(5, 64, 8), with(6, 65, 8), with(6, 64, 12)], [None; 3]);
    }
}
