//! Memory as recovery sees it: a set of crash states at once, or one concrete image.

use super::before::Reads;
use super::cuts::Cuts;
use super::path::Path;
use super::watch::Watch;
use fencepost_kernel::{Addr, At, Fence, Flush, Image, Judged, LineAddr, Mem, Rmw, Span, Val, Width};
use rustc_hash::FxHashMap;
use std::panic::Location;
use std::rc::Rc;

/// Words by address; everything else of [`Mem`] follows from it for code that runs alone after a crash.
pub(super) trait Words {
    fn word(&mut self, at: Addr) -> u64;
    fn set_word(&mut self, at: Addr, value: u64);
    /// The word that a load of so many bytes from `at` reads, once the watch has let it.
    #[inline]
    fn watched_word(&mut self, at: Addr, bytes: u64, place: &'static Location<'static>) -> u64 {
        if let Some(watch) = self.watch() {
            watch.access("loads from", at, bytes, place);
        }
        self.word(at.word())
    }
    /// [`Mem::changed_since_setup`].
    fn changed(&mut self, _span: Span) -> Option<Vec<LineAddr>> {
        None
    }
    /// [`Mem::judged`].
    fn judged(&mut self) -> Option<Rc<Judged>> {
        None
    }
    /// [`Mem::relies_on`].
    fn relies_on(&mut self, _span: Span) {}
    /// Who watches the code, if anyone does.
    fn watch(&mut self) -> Option<&mut Watch>;
}

/// Memory served from a set of crash states.
///
/// A load that can return several values makes the explorer run recovery once for each; the chosen store narrows
/// the set. Recovery's own writes go to an overlay and are seen by itself alone; which of them would be durable if the
/// power failed again is the business of a second exploration ([`super::CrashCheck::power_fails_again`]).
/// An access to the null page, to an address where there is no memory, or to a misaligned one ends the run: a
/// violation. DRAM reads as zero until recovery has written it.
pub struct CrashMem<'a> {
    pub(super) path: &'a mut Path,
    pub(super) cuts: Option<&'a mut Cuts>,
    /// What set-up left, for audits that pass over it.
    pub(super) setup: Option<Rc<Image>>,
    /// Whether audits may rely on the failure point before.
    pub(super) relies: bool,
}
impl<'a> CrashMem<'a> {
    pub(super) fn new(path: &'a mut Path, cuts: Option<&'a mut Cuts>) -> CrashMem<'a> {
        CrashMem {
            path,
            cuts,
            setup: None,
            relies: false,
        }
    }
}
impl Words for CrashMem<'_> {
    fn word(&mut self, at: Addr) -> u64 {
        self.path.load(at)
    }
    fn set_word(&mut self, at: Addr, value: u64) {
        self.path.store(at, value);
    }
    fn changed(&mut self, span: Span) -> Option<Vec<LineAddr>> {
        let setup = self.setup.clone()?;
        self.path.changed(&setup, span)
    }
    fn judged(&mut self) -> Option<Rc<Judged>> {
        if self.relies { self.path.judged() } else { None }
    }
    fn relies_on(&mut self, span: Span) {
        self.path.relies_on(span);
    }
    fn watch(&mut self) -> Option<&mut Watch> {
        Some(&mut self.path.watch)
    }
}

/// Memory over one concrete crash image; writes stay in the overlay and leave the image alone.
///
/// DRAM (below [`fencepost_kernel::units::PM_BASE`]) starts as zero, whatever the image holds there.
pub struct ImageMem<'a> {
    image: &'a Image,
    overlay: FxHashMap<Addr, u64>,
    pub(super) watch: Watch,
    /// What set-up left, for audits that pass over it.
    pub(super) setup: Option<Rc<Image>>,
    /// What a step of an audit does, where that is of interest.
    pub(super) reads: Option<Reads>,
}
impl<'a> ImageMem<'a> {
    /// Memory as a crash left it.
    pub fn new(image: &'a Image) -> ImageMem<'a> {
        ImageMem {
            image,
            overlay: FxHashMap::default(),
            watch: Watch::new(),
            setup: None,
            reads: None,
        }
    }
    /// What recovery has written.
    pub(super) fn overlay(&mut self) -> &mut FxHashMap<Addr, u64> {
        &mut self.overlay
    }
    fn reads_more(&mut self) {
        if let Some(reads) = &mut self.reads {
            reads.more = true;
        }
    }
    /// Number of words that recovery has written.
    pub fn words_written(&self) -> usize {
        self.overlay.len()
    }
}
impl Words for ImageMem<'_> {
    fn word(&mut self, at: Addr) -> u64 {
        if let Some(reads) = &mut self.reads
            && reads.lines.last() != Some(&at.line())
        {
            reads.lines.push(at.line());
        }
        let image = || if at.is_persistent() { self.image.word(at) } else { 0 };
        self.overlay.get(&at).copied().unwrap_or_else(image)
    }
    fn set_word(&mut self, at: Addr, value: u64) {
        self.reads_more();
        self.overlay.insert(at, value);
    }
    fn changed(&mut self, span: Span) -> Option<Vec<LineAddr>> {
        self.reads_more();
        let mut lines = self.image.differing(self.setup.as_ref()?, span);
        let (first, count) = span.lines();
        let own = self.overlay.keys().map(|at| at.line());
        lines.extend(own.filter(|l| (first.0..first.0 + count).contains(&l.0)));
        lines.sort_unstable();
        lines.dedup();
        Some(lines)
    }
    fn watch(&mut self) -> Option<&mut Watch> {
        Some(&mut self.watch)
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
    fn watch(&mut self) -> Option<&mut Watch> {
        None
    }
}

/// Either memory: what programs do after a crash is compiled once for both.
pub(super) struct AnyMem<'a, 'm>(pub &'a mut (dyn Words + 'm));
impl Words for AnyMem<'_, '_> {
    fn word(&mut self, at: Addr) -> u64 {
        self.0.word(at)
    }
    fn set_word(&mut self, at: Addr, value: u64) {
        self.0.set_word(at, value);
    }
    fn watched_word(&mut self, at: Addr, bytes: u64, place: &'static Location<'static>) -> u64 {
        self.0.watched_word(at, bytes, place)
    }
    fn changed(&mut self, span: Span) -> Option<Vec<LineAddr>> {
        self.0.changed(span)
    }
    fn judged(&mut self) -> Option<Rc<Judged>> {
        self.0.judged()
    }
    fn relies_on(&mut self, span: Span) {
        self.0.relies_on(span);
    }
    fn watch(&mut self) -> Option<&mut Watch> {
        self.0.watch()
    }
}

/// Asks the watch before an access, and keeps it informed of stores.
#[track_caller]
fn before(m: &mut impl Words, access: &'static str, at: Addr, bytes: u64) {
    if let Some(watch) = m.watch() {
        watch.access(access, at, bytes, Location::caller());
    }
}
#[track_caller]
fn write(m: &mut impl Words, at: Addr, value: u64, nt: bool) {
    m.set_word(at, value);
    if let Some(watch) = m.watch() {
        watch.stored(at, value, nt, Location::caller());
    }
}

macro_rules! mem_over_words {
    ($memory:ty, $($cut:tt)*) => {
        impl Mem for $memory {
            type Dep = ();
            fn load_n(&mut self, at: At<()>, width: Width) -> Val<()> {
                let word = self.watched_word(at.addr, width.bytes(), Location::caller());
                Val { v: width.extract(word, at.addr.0), dep: () }
            }
            fn store_n(&mut self, at: At<()>, v: Val<()>, width: Width) {
                before(self, "stores to", at.addr, width.bytes());
                let word = at.addr.word();
                let old = if width == Width::B8 { 0 } else { self.word(word) };
                write(self, word, width.insert(old, at.addr.0, v.v), false);
            }
            fn nt_store(&mut self, at: At<()>, v: Val<()>) {
                before(self, "stores to", at.addr, 8);
                write(self, at.addr.word(), v.v, true);
            }
            fn flush(&mut self, at: At<()>, kind: Flush) {
                if let Some(watch) = self.watch() {
                    watch.flushed(at.addr, kind, Location::caller());
                }
            }
            fn fence(&mut self, kind: Fence) {
                if let Some(watch) = self.watch() {
                    watch.fenced(kind, Location::caller());
                }
            }
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
            fn changed_since_setup(&mut self, span: Span) -> Option<Vec<LineAddr>> {
                self.changed(span)
            }
            fn judged(&mut self) -> Option<Rc<Judged>> {
                Words::judged(self)
            }
            fn relies_on(&mut self, span: Span) {
                Words::relies_on(self, span);
            }
            fn load_acquire(&mut self, at: At<()>) -> Val<()> {
                self.load(at)
            }
            fn store_release(&mut self, at: At<()>, v: Val<()>) {
                self.store(at, v);
            }
            fn lock(&mut self, at: At<()>) {
                before(self, "takes a lock at", at.addr, 8);
            }
            fn unlock(&mut self, at: At<()>) {
                before(self, "releases a lock at", at.addr, 8);
            }
            $($cut)*
        }
    };
}
mem_over_words!(ImageMem<'_>,);
mem_over_words!(SetupMem,);
mem_over_words!(AnyMem<'_, '_>,);
mem_over_words! { CrashMem<'_>,
    fn cut(&mut self, live: u64) {
        if let Some(cuts) = &mut self.cuts {
            cuts.mark(self.path, live);
        }
    }
}
