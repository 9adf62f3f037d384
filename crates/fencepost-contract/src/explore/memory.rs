//! Memory as recovery sees it: a set of crash states at once, or one concrete image.

use super::path::{Path, Stop};
use super::plain::Cuts;
use fencepost_kernel::{Addr, At, Fence, Flush, Image, Mem, Rmw, Val, Width};
use rustc_hash::FxHashMap;

/// Words by address; everything else of [`Mem`] follows from it for code that runs alone after a crash.
pub trait Words {
    fn word(&mut self, at: Addr) -> u64;
    fn set_word(&mut self, at: Addr, value: u64);
}

/// Memory served from a set of crash states.
///
/// A load that can return several values makes the explorer run recovery once for each; the chosen store narrows
/// the set. Recovery's own writes go to an overlay and are seen by itself alone. Flushes, fences and locks do
/// nothing: recovery runs alone and is not itself interrupted.
pub struct CrashMem<'a> {
    pub(super) path: &'a mut Path,
    pub(super) cuts: Option<&'a mut Cuts>,
}
impl Words for CrashMem<'_> {
    fn word(&mut self, at: Addr) -> u64 {
        self.path.load(at)
    }
    fn set_word(&mut self, at: Addr, value: u64) {
        self.path.store(at, value);
    }
}

/// Memory over one concrete crash image; writes stay in the overlay and leave the image alone.
///
/// DRAM (below [`fencepost_kernel::units::PM_BASE`]) starts as zero, whatever the image holds there.
pub struct ImageMem<'a> {
    image: &'a Image,
    overlay: FxHashMap<Addr, u64>,
    loads_left: u64,
}
impl<'a> ImageMem<'a> {
    /// Memory as a crash left it.
    pub fn new(image: &'a Image) -> ImageMem<'a> {
        ImageMem::with_loads(image, u64::MAX)
    }
    /// The same for code that counts as endless after `loads` loads.
    pub(super) fn with_loads(image: &'a Image, loads: u64) -> ImageMem<'a> {
        ImageMem {
            image,
            overlay: FxHashMap::default(),
            loads_left: loads,
        }
    }
    /// Number of words that recovery has written.
    pub fn words_written(&self) -> usize {
        self.overlay.len()
    }
}
impl Words for ImageMem<'_> {
    fn word(&mut self, at: Addr) -> u64 {
        self.loads_left -= 1;
        if self.loads_left == 0 {
            Stop::Endless.unwind();
        }
        let image = || if at.is_persistent() { self.image.word(at) } else { 0 };
        self.overlay.get(&at).copied().unwrap_or_else(image)
    }
    fn set_word(&mut self, at: Addr, value: u64) {
        self.overlay.insert(at, value);
    }
}

/// Memory while a recording is set up: plain, untimed, unrecorded.
pub struct SetupMem {
    image: Image,
}
impl SetupMem {
    pub(super) fn new(image: Image) -> SetupMem {
        SetupMem { image }
    }
    pub(super) fn into_image(self) -> Image {
        self.image
    }
}
impl Words for SetupMem {
    fn word(&mut self, at: Addr) -> u64 {
        self.image.word(at)
    }
    fn set_word(&mut self, at: Addr, value: u64) {
        self.image.set_word(at, value, None);
    }
}

macro_rules! mem_over_words {
    ($memory:ty, $($cut:tt)*) => {
        impl Mem for $memory {
            type Dep = ();
            fn load_n(&mut self, at: At<()>, width: Width) -> Val<()> {
                Val { v: width.extract(self.word(at.addr.word()), at.addr.0), dep: () }
            }
            fn store_n(&mut self, at: At<()>, v: Val<()>, width: Width) {
                let word = at.addr.word();
                let old = if width == Width::B8 { 0 } else { self.word(word) };
                self.set_word(word, width.insert(old, at.addr.0, v.v));
            }
            fn nt_store(&mut self, at: At<()>, v: Val<()>) {
                self.set_word(at.addr.word(), v.v);
            }
            fn flush(&mut self, _: At<()>, _: Flush) {}
            fn fence(&mut self, _: Fence) {}
            fn rmw(&mut self, at: At<()>, op: Rmw) -> Val<()> {
                let old = self.load(at);
                match op {
                    Rmw::Cas { expect, new } if old.v == expect => self.store(at, Val { v: new, dep: () }),
                    Rmw::Cas { .. } => {}
                    Rmw::Add(n) => self.store(at, Val { v: old.v.wrapping_add(n), dep: () }),
                    Rmw::Swap(new) => self.store(at, Val { v: new, dep: () }),
                }
                old
            }
            fn load_acquire(&mut self, at: At<()>) -> Val<()> {
                self.load(at)
            }
            fn store_release(&mut self, at: At<()>, v: Val<()>) {
                self.store(at, v);
            }
            fn lock(&mut self, _: At<()>) {}
            fn unlock(&mut self, _: At<()>) {}
            $($cut)*
        }
    };
}
mem_over_words!(ImageMem<'_>,);
mem_over_words!(SetupMem,);
mem_over_words! { CrashMem<'_>,
    fn cut(&mut self, live: u64) {
        if let Some(cuts) = &mut self.cuts {
            cuts.mark(self.path, live);
        }
    }
}
