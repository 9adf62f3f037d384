//! How fast a core executes compiled code between memory operations: the transaction library's calls, where nothing waits for memory.
#![allow(unsafe_code, reason = "raw accesses to mapped memory")]

use super::chain::{CHAINED, chain};
use super::choice::BASELINE;
use super::mapping::Mapping;
use super::memory::Raw;
use super::pinned::{cpus, pin};
use super::sample::{Sampler, repeated};
use super::stepped::instructions;
use crate::error::NativeError;
use crate::native_report::{Computing, FlushWith};
use fencepost_kernel::{Addr, At, Build, Fence, Flavour, Flush, Mem, Mode, Pm, Rmw, Shape, Val, Width};
use fencepost_programs::layout::{Layout, Rows};
use fencepost_programs::pool::Pool;
use fencepost_programs::tx::Runtime;
use fencepost_programs::{Coupling, Scheme, Settings};

/// Words that a transaction changes, each with a record of its own.
const CHANGED: u64 = 16;
/// Transactions that are counted; one more goes before them.
const COUNTED: u64 = 8;

/// Memory on which nothing persists: non-temporal stores are stores, flushes and fences are left out. Everything is found in the nearest cache.
struct Plain(Raw);
impl Plain {
    const BUILD: Build = Build {
        dialect: BASELINE,
        mode: Mode::Undo {
            flavour: Flavour::Library,
            shape: Shape::Array,
            grouped: false,
        },
    };
}
impl Mem for Plain {
    type Dep = ();
    const FIXED: Option<&'static Build> = Some(&Self::BUILD);

    #[inline(always)]
    fn load_n(&mut self, at: At<()>, width: Width) -> Val<()> {
        Val::lit(self.0.load(at.addr, width))
    }
    #[inline(always)]
    fn store_n(&mut self, at: At<()>, v: Val<()>, width: Width) {
        self.0.store(at.addr, v.v, width);
    }
    #[inline(always)]
    fn nt_store(&mut self, at: At<()>, v: Val<()>) {
        self.0.store(at.addr, v.v, Width::B8);
    }
    #[inline(always)]
    fn flush(&mut self, _: At<()>, _: Flush) {}
    #[inline(always)]
    fn fence(&mut self, _: Fence) {}
    #[inline(always)]
    fn rmw(&mut self, at: At<()>, op: Rmw) -> Val<()> {
        Val::lit(self.0.rmw(at.addr, op))
    }
    #[inline(always)]
    fn load_acquire(&mut self, at: At<()>) -> Val<()> {
        Val::lit(self.0.load_acquire(at.addr))
    }
    #[inline(always)]
    fn store_release(&mut self, at: At<()>, v: Val<()>) {
        self.0.store_release(at.addr, v.v);
    }
    #[inline(always)]
    fn lock(&mut self, at: At<()>) {
        self.0.lock(at.addr);
    }
    #[inline(always)]
    fn unlock(&mut self, at: At<()>) {
        self.0.unlock(at.addr);
    }
}

/// Times transactions of 16 stores, logged by the library's array, and counts their instructions.
pub(super) fn computing() -> Result<Computing, NativeError> {
    let settings = Settings {
        scheme: Scheme::LibraryArray,
        ..Settings::default()
    };
    let mut layout = Layout::default();
    let rows = Rows::new(&mut layout, 8, CHANGED);
    let pool = Pool::new(&mut layout, 1, 64, 0);
    let runtime = Runtime::new(&mut layout, &settings, Coupling::PerStore, CHANGED, pool);
    let mapping = Mapping::new(layout.footprint(), None)?;
    mapping.touch();
    // SAFETY: `mapping` lives until the end and holds the layout's footprint; `Plain` flushes with no instruction at all.
    let raw = unsafe { Raw::new(FlushWith::Clflush) };
    let measured = std::thread::scope(|s| s.spawn(|| measure(raw, &runtime, &rows)).join());
    measured.map_err(|_| NativeError::Child("failed".into()))
}

fn measure(raw: Raw, runtime: &Runtime, rows: &Rows) -> Computing {
    pin(&cpus(), 0);
    let mut memory = Plain(raw);
    let mut pm = Pm::new(&mut memory, BASELINE);
    let mut k = 0;
    let mut transaction = || {
        k = (k + 1) % (1 << 20);
        transaction(&mut pm, runtime, rows, k);
    };
    // The first one allocates what the library remembers lines in.
    transaction();
    let counted = instructions(|| (0..COUNTED).for_each(|_| transaction()));
    // In turn with a clock, so that both have the frequency that the core has at the time.
    let [time, chain] = Sampler::new().times([repeated(|_| transaction()), repeated(|_| chain())]);
    Computing {
        instructions: counted.map(|n| n as f64 / COUNTED as f64),
        cycles: time.min * CHAINED / chain.min,
        time,
    }
}

#[inline(never)]
fn transaction(pm: &mut Pm<'_, Plain>, runtime: &Runtime, rows: &Rows, k: u32) {
    let Ok(mut tx) = runtime.begin(pm, 0, k) else {
        return;
    };
    for word in 0..CHANGED {
        let at: At<()> = rows.at(word);
        debug_assert!(at.addr >= Addr::pm(0));
        tx.update(at, Val::lit(u64::from(k)));
    }
    tx.commit();
}
