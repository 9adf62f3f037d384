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
