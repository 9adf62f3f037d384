//! The memory interface on the mapping: every operation is the instruction itself.
#![allow(unsafe_code, reason = "raw accesses to mapped memory")]

use super::addresses::host;
use super::instructions::{flush, mfence, movnti, sfence};
use crate::native_report::FlushWith;
use fencepost_kernel::{Addr, At, Build, Fence, Flush, Mem, Rmw, Val, Width};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// A word as an atomic.
///
/// # Safety
/// The word is mapped for as long as the result is used.
#[inline(always)]
unsafe fn atomic<'a>(addr: Addr) -> &'a AtomicU64 {
    // SAFETY: mapped, as the caller promises, and aligned by the contract of `Mem`.
    unsafe { AtomicU64::from_ptr(host(addr)) }
}

/// The accesses themselves, for every kind of native memory.
///
/// Sound while a [`Mapping`](super::mapping::Mapping) of the program's footprint lives: programs access addresses inside their
/// footprint, naturally aligned (the contract of [`Mem`]; recovery, which may follow wild pointers, asks the mapping first). Accesses
/// are volatile, so each is one instruction, and no reference to the memory exists.
#[derive(Copy, Clone, Debug)]
pub struct Raw {
    flush: FlushWith,
}

impl Raw {
    /// Accesses that flush with `flush`.
    ///
    /// # Safety
    /// The memory is mapped while the result is used, as the type says; the CPU has the instruction.
    pub unsafe fn new(flush: FlushWith) -> Raw {
        Raw { flush }
    }
    /// Loads `width` bytes.
    #[inline(always)]
    pub fn load(self, addr: Addr, width: Width) -> u64 {
        // SAFETY: mapped and aligned: see the type.
        unsafe {
            match width {
                Width::B1 => host::<u8>(addr).read_volatile().into(),
                Width::B2 => host::<u16>(addr).read_volatile().into(),
                Width::B4 => host::<u32>(addr).read_volatile().into(),
                Width::B8 => host::<u64>(addr).read_volatile(),
            }
        }
    }
    /// Stores the low `width` bytes.
    #[inline(always)]
    pub fn store(self, addr: Addr, v: u64, width: Width) {
        // SAFETY: as for loads.
        unsafe {
            match width {
                Width::B1 => host::<u8>(addr).write_volatile(v as u8),
                Width::B2 => host::<u16>(addr).write_volatile(v as u16),
                Width::B4 => host::<u32>(addr).write_volatile(v as u32),
                Width::B8 => host::<u64>(addr).write_volatile(v),
            }
        }
    }
    /// `movnti`.
    #[inline(always)]
    pub fn nt_store(self, addr: Addr, v: u64) {
        // SAFETY: mapped and aligned.
        unsafe { movnti(addr, v) }
    }
    /// The one instruction that is chosen at run time: a branch that is always predicted.
    #[inline(always)]
    pub fn flush(self, addr: Addr) {
        // SAFETY: mapped; `new` was told that the CPU has it.
        unsafe { flush(addr, self.flush) }
    }
    /// `mfence` where a full fence is asked for, else `sfence`.
    #[inline(always)]
    pub fn fence(self, kind: Fence) {
        match kind {
            Fence::Mfence => mfence(),
            Fence::Own(_) if kind.properties().orders_loads => mfence(),
            _ => sfence(),
        }
    }
    /// A locked instruction; the old value.
    #[inline(always)]
    pub fn rmw(self, addr: Addr, op: Rmw) -> u64 {
        // SAFETY: mapped.
        let word = unsafe { atomic(addr) };
        match op {
            Rmw::Cas { expect, new } => word
                .compare_exchange(expect, new, Ordering::SeqCst, Ordering::SeqCst)
                .unwrap_or_else(|old| old),
            Rmw::Add(n) => word.fetch_add(n, Ordering::SeqCst),
            Rmw::Swap(n) => word.swap(n, Ordering::SeqCst),
        }
    }
    /// A load that later accesses do not pass.
    #[inline(always)]
    pub fn load_acquire(self, addr: Addr) -> u64 {
        // SAFETY: mapped.
        unsafe { atomic(addr) }.load(Ordering::Acquire)
    }
    /// A store that does not pass earlier accesses.
    #[inline(always)]
    pub fn store_release(self, addr: Addr, v: u64) {
        // SAFETY: mapped.
        unsafe { atomic(addr) }.store(v, Ordering::Release);
    }
    /// Takes a lock (0 is free).
    #[inline(always)]
    pub fn lock(self, addr: Addr) {
        // SAFETY: mapped.
        let word = unsafe { atomic(addr) };
        while word.swap(1, Ordering::Acquire) != 0 {
            wait(word);
        }
    }
    /// Releases it.
    #[inline(always)]
    pub fn unlock(self, addr: Addr) {
        self.store_release(addr, 0);
    }
}

/// Waits until a lock is free; yields where its holder may need this CPU.
#[cold]
fn wait(word: &AtomicU64) {
    let mut spins = 0;
    while word.load(Ordering::Relaxed) != 0 {
        spins += 1;
        match spins % 1024 {
            0 => std::thread::yield_now(),
            _ => std::hint::spin_loop(),
        }
    }
}

/// A build as a type.
pub trait Choice: 'static {
    /// Its constants, if it is compiled for one.
    const FIXED: Option<&'static Build>;
}
/// Native memory compiled for `C`: no bookkeeping, no choice but those of the flush instruction and of the fences between log and data.
#[derive(Debug)]
pub struct Native<C> {
    raw: Raw,
    /// Whether there are fences between log and data. A branch that is always predicted costs nothing beside a fence.
    log_fences: bool,
    choice: PhantomData<C>,
}
impl<C> Native<C> {
    /// The memory, with the fences between log and data or without.
    pub fn new(raw: Raw, log_fences: bool) -> Self {
        Native {
            raw,
            log_fences,
            choice: PhantomData,
        }
    }
}

impl<C: Choice> Mem for Native<C> {
    type Dep = ();
    const FIXED: Option<&'static Build> = C::FIXED;

    #[inline(always)]
    fn load_n(&mut self, at: At<()>, width: Width) -> Val<()> {
        Val::lit(self.raw.load(at.addr, width))
    }
    #[inline(always)]
    fn store_n(&mut self, at: At<()>, v: Val<()>, width: Width) {
        self.raw.store(at.addr, v.v, width);
    }
    #[inline(always)]
    fn nt_store(&mut self, at: At<()>, v: Val<()>) {
        self.raw.nt_store(at.addr, v.v);
    }
    #[inline(always)]
    fn flush(&mut self, at: At<()>, _: Flush) {
        self.raw.flush(at.addr);
    }
    #[inline(always)]
    fn fence(&mut self, kind: Fence) {
        self.raw.fence(kind);
    }
    #[inline(always)]
    fn log_fence(&mut self, kind: Fence) {
        if self.log_fences {
            self.raw.fence(kind);
        }
    }
    #[inline(always)]
    fn rmw(&mut self, at: At<()>, op: Rmw) -> Val<()> {
        Val::lit(self.raw.rmw(at.addr, op))
    }
    #[inline(always)]
    fn load_acquire(&mut self, at: At<()>) -> Val<()> {
        Val::lit(self.raw.load_acquire(at.addr))
    }
    #[inline(always)]
    fn store_release(&mut self, at: At<()>, v: Val<()>) {
        self.raw.store_release(at.addr, v.v);
    }
    #[inline(always)]
    fn lock(&mut self, at: At<()>) {
        self.raw.lock(at.addr);
    }
    #[inline(always)]
    fn unlock(&mut self, at: At<()>) {
        self.raw.unlock(at.addr);
    }
}
