//! `pmfs`: calls drawn at random, each of its kind in a declared share.

use super::calls::Call;
use super::program::{OnPmfs, Workload, whole_words};
use super::shape::Shape;
use crate::draw;
use crate::settings::Settings;
use fencepost_kernel::{Bytes, params, rng};

params! {
    /// Parameters of `pmfs`.
    pub struct PmfsParams {
        /// Names that files may have; half of them have one before the run.
        #[range(1..=1 << 17)]
        files: u64 = 1_024,
        /// Names of one directory.
        #[range(1..=1 << 16)]
        names_per_dir: u64 = 32,
        /// Bytes of a block, a power of two.
        #[range(Bytes(64)..=Bytes(4096))]
        block: Bytes = Bytes(4096),
        /// Undo entries of the journal.
        #[range(16..=1 << 20)]
        journal: u64 = 16_384,
        /// Bytes of the largest write, and of the largest file before the run; whole words.
        #[range(Bytes(16)..=Bytes(1 << 20))]
        largest: Bytes = Bytes(16 << 10),
        /// Of a hundred calls, those that create a file.
        #[range(0..=100)]
        create: u8 = 15,
        /// Of a hundred, those that write at a file's end.
        #[range(0..=100)]
        append: u8 = 30,
        /// Of a hundred, those that write in place.
        #[range(0..=100)]
        overwrite: u8 = 15,
        /// Of a hundred, those that delete.
        #[range(0..=100)]
        delete: u8 = 15,
        /// Of a hundred, those that rename. Of the rest half read a file, half look up its size.
        #[range(0..=100)]
        rename: u8 = 5,
    }
}

/// Calls drawn at random.
#[derive(Clone, Debug)]
pub struct Mix {
    params: PmfsParams,
    seed: u64,
}

/// The program `pmfs`.
pub type Pmfs = OnPmfs<Mix>;

impl Workload for Mix {
    const NAME: &'static str = "pmfs";
    const ABOUT: &'static str =
        "a persistent-memory file system: undo journal, metadata in place, data past the caches";
    const SMALL: &'static [(&'static str, &'static str)] = &[
        ("files", "6"),
        ("names_per_dir", "3"),
        ("block", "64B"),
        ("journal", "16"),
        ("largest", "136B"),
    ];
    type Params = PmfsParams;

    fn new(params: PmfsParams, settings: &Settings) -> Result<Mix, String> {
        let p = &params;
        let shares = [p.create, p.append, p.overwrite, p.delete, p.rename];
        if shares.iter().map(|s| u32::from(*s)).sum::<u32>() > 100 {
            return Err("create, append, overwrite, delete and rename exceed 100".into());
        }
        whole_words(&[("largest", p.largest)], p.block)?;
        let seed = settings.seed;
        Ok(Mix { params, seed })
    }
    fn shape(&self) -> Shape {
        let p = &self.params;
        Shape {
            names: p.files,
            names_per_dir: p.names_per_dir,
            block: p.block.0,
            journal: p.journal,
            largest: p.largest.0,
            inodes: 0,
            blocks: 0,
        }
    }
    fn planted(&self, name: u64) -> Option<u64> {
        let words = draw::below(rng::hash(&[self.seed, name]), self.params.largest.0 / 8 + 1);
        name.is_multiple_of(2).then_some(words * 8)
    }
    fn call(&self, thread: u32, k: u32) -> Call {
        let p = &self.params;
        let h = |salt| rng::hash(&[self.seed, u64::from(thread), u64::from(k), salt]);
        let words = |salt, most: u64| 8 * (1 + draw::below(h(salt), most));
        let name = draw::below(h(1), p.files);
        let len = words(2, p.largest.0 / 8);
        let mut drawn = draw::below(h(0), 100);
        let mut falls = |share: u8| {
            let hit = drawn < u64::from(share);
            drawn = drawn.wrapping_sub(u64::from(share));
            hit
        };
        if falls(p.create) {
            Call::Create { name }
        } else if falls(p.append) {
            Call::Append { name, len }
        } else if falls(p.overwrite) {
            let at = words(3, p.largest.0 / 8) - 8;
            Call::Overwrite { name, at, len }
        } else if falls(p.delete) {
            Call::Delete { name }
        } else if falls(p.rename) {
            let to = draw::below(h(4), p.files);
            Call::Rename { from: name, to }
        } else if h(5) & 1 == 0 {
            Call::Read {
                name,
                at: 0,
                most: u64::MAX >> 1,
            }
        } else {
            Call::Stat { name }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn mix(params: PmfsParams) -> Mix {
        Mix::new(params, &Settings::default()).expect("sizes that fit")
    }
    /// Each kind has its share, what is left is read or looked up, half and half; every name is drawn, and every length.
    #[test]
    fn calls_have_the_shares_that_are_declared() {
        let params = PmfsParams {
            files: 10,
            largest: Bytes(80),
            ..PmfsParams::default()
        };
        let w = mix(params);
        const CALLS: u32 = 40_000;
        let (mut kinds, mut names, mut lengths, mut places) =
            ([0u32; 7], BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut targets = BTreeMap::new();
        for k in 0..CALLS {
            let kind = match w.call(k % 4, k / 4) {
                Call::Create { .. } => 0,
                Call::Append { len, .. } => {
                    *lengths.entry(len).or_insert(0u32) += 1;
                    1
                }
                Call::Overwrite { at, len, .. } => {
                    *places.entry(at).or_insert(0u32) += 1;
                    *lengths.entry(len).or_insert(0) += 1;
                    2
                }
                Call::Delete { .. } => 3,
                Call::Rename { to, .. } => {
                    *targets.entry(to).or_insert(0u32) += 1;
                    4
                }
                Call::Read { at, most, .. } => {
                    assert!(at == 0 && most > 1 << 60);
                    5
                }
                Call::Stat { .. } => 6,
                Call::Sync => panic!("nothing is drawn to be synced"),
            };
            kinds[kind] += 1;
            let name = w.call(k % 4, k / 4).names()[0].expect("a name");
            *names.entry(name).or_insert(0u32) += 1;
        }
        for (kind, percent) in kinds.iter().zip([15, 30, 15, 15, 5, 10, 10]) {
            assert!(kind.abs_diff(CALLS * percent / 100) < CALLS / 100, "{kinds:?}");
        }
        let even = |drawn: &BTreeMap<u64, u32>, expected: &[u64]| {
            let all: u32 = drawn.values().sum();
            let mean = all / expected.len() as u32;
            assert_eq!(drawn.keys().copied().collect::<Vec<_>>(), expected);
            assert!(drawn.values().all(|n| n.abs_diff(mean) < mean / 4 + 5), "{drawn:?}");
        };
        let words: Vec<u64> = (1..=10).map(|w| w * 8).collect();
        even(&names, &(0..10).collect::<Vec<_>>());
        even(&targets, &(0..10).collect::<Vec<_>>());
        even(&lengths, &words);
        even(&places, &words.iter().map(|w| w - 8).collect::<Vec<_>>());
    }
    /// Every other name has a file before the run, as long as any of nothing to the largest.
    #[test]
    fn half_of_the_names_have_files_of_any_length() {
        let params = PmfsParams {
            files: 4000,
            largest: Bytes(72),
            ..PmfsParams::default()
        };
        let w = mix(params);
        let mut sizes = BTreeMap::new();
        for name in 0..4000 {
            assert_eq!(w.planted(name).is_some(), name % 2 == 0);
            w.planted(name)
                .into_iter()
                .for_each(|s| *sizes.entry(s).or_insert(0u32) += 1);
        }
        assert_eq!(
            sizes.keys().copied().collect::<Vec<_>>(),
            (0..=9).map(|w| w * 8).collect::<Vec<_>>()
        );
        assert!(sizes.values().all(|n| (140..260).contains(n)), "{sizes:?}");
        let shape = w.shape();
        assert_eq!((shape.names, shape.largest, shape.block), (4000, 72, 4096));
    }
    /// Shares may fill the hundred and no more; sizes are whole words, blocks powers of two.
    #[test]
    fn parameters_that_cannot_be_are_refused() {
        let with = |create, largest, block| {
            let params = PmfsParams {
                create,
                largest: Bytes(largest),
                block: Bytes(block),
                ..PmfsParams::default()
            };
            Mix::new(params, &Settings::default()).is_ok()
        };
        assert!(with(35, 72, 64) && !with(36, 72, 64) && !with(35, 76, 64) && !with(35, 72, 96));
    }
}
