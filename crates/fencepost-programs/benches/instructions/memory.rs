//! Mapped memory on which every operation of the memory interface is one instruction.
#![allow(
    unsafe_code,
    reason = "raw accesses are what is counted; the mapping below makes them sound"
)]

use crate::choice::Choice;
use fencepost_kernel::units::PM_BASE;
use fencepost_kernel::{Addr, At, Build, Fence, Flush, Mem, Rmw, Site, Val, Width};
use std::arch::x86_64::{_mm_clflush, _mm_sfence};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering, compiler_fence};

/// Where address 0 of the programs lies: an instruction's displacement can hold it, so translation costs nothing.
pub(crate) const OFFSET: u64 = 0x2000_0000;

/// One byte a site; behind them the edges of the counted stretch, and a byte that stands for fences.
static MARKS: [AtomicU8; 256] = [const { AtomicU8::new(0) }; 256];
pub(crate) const START: usize = 253;
pub(crate) const STOP: usize = 254;
pub(crate) const FENCE: usize = 255;

/// Address of the first mark.
pub(crate) fn marks() -> usize {
    MARKS.as_ptr() as usize
}
/// One inlined store: what the tracer sees.
#[inline(always)]
pub(crate) fn mark(i: usize) {
    compiler_fence(Ordering::SeqCst);
    MARKS[i].store(1, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
}

/// The two memories of a program, mapped while it lives. There is one at a time.
pub(crate) struct Mapping([(u64, usize); 2]);
impl Mapping {
    /// Maps both, zeroed.
    ///
    /// # Panics
    /// If the addresses are taken.
    pub(crate) fn new(dram: u64, pm: u64) -> Mapping {
        let whole = |at: u64, len: u64| (at + OFFSET, len.next_multiple_of(4096) as usize);
        let parts = [whole(0, dram), whole(PM_BASE, pm)];
        for (at, len) in parts {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: a new anonymous mapping that replaces none.
            let got = unsafe { libc::mmap(at as *mut _, len, protection, flags, -1, 0) };
            assert_eq!(got as u64, at, "address {at:#x} is taken");
        }
        Mapping(parts)
    }
}
impl Drop for Mapping {
    fn drop(&mut self) {
        for (at, len) in self.0 {
            // SAFETY: mapped by `new`; nothing borrows from it, every access goes through `Memory`.
            unsafe { libc::munmap(at as *mut _, len) };
        }
    }
}

/// The memory interface on the mapping, compiled for `C`; with markers if `MARKED`.
pub(crate) struct Memory<C, const MARKED: bool>(PhantomData<C>);

impl<C, const MARKED: bool> Memory<C, MARKED> {
    pub(crate) fn new() -> Self {
        Memory(PhantomData)
    }
    #[inline(always)]
    fn at<T>(addr: Addr) -> *mut T {
        (addr.0 + OFFSET) as *mut T
    }
    #[inline(always)]
    fn atomic(addr: Addr) -> &'static AtomicU64 {
        // SAFETY: programs access addresses inside their footprint, which is mapped while they run, naturally aligned.
        unsafe { &*Self::at::<AtomicU64>(addr) }
    }
}

impl<C: Choice, const MARKED: bool> Mem for Memory<C, MARKED> {
    type Dep = ();
    const FIXED: Option<&'static Build> = Some(C::BUILD);

    #[inline(always)]
    fn load_n(&mut self, at: At<()>, width: Width) -> Val<()> {
        // SAFETY: inside the footprint and aligned, as above. Volatile: each is one instruction.
        Val::lit(unsafe {
            match width {
                Width::B1 => Self::at::<u8>(at.addr).read_volatile().into(),
                Width::B2 => Self::at::<u16>(at.addr).read_volatile().into(),
                Width::B4 => Self::at::<u32>(at.addr).read_volatile().into(),
                Width::B8 => Self::at::<u64>(at.addr).read_volatile(),
            }
        })
    }
    #[inline(always)]
    fn store_n(&mut self, at: At<()>, v: Val<()>, width: Width) {
        // SAFETY: as for loads.
        unsafe {
            match width {
                Width::B1 => Self::at::<u8>(at.addr).write_volatile(v.v as u8),
                Width::B2 => Self::at::<u16>(at.addr).write_volatile(v.v as u16),
                Width::B4 => Self::at::<u32>(at.addr).write_volatile(v.v as u32),
                Width::B8 => Self::at::<u64>(at.addr).write_volatile(v.v),
            }
        }
    }
    #[inline(always)]
    fn nt_store(&mut self, at: At<()>, v: Val<()>) {
        // A plain store stands for `movnti`: it addresses memory the same way, which the intrinsic, being assembly, keeps from the
        // compiler.
        self.store(at, v);
    }
    #[inline(always)]
    fn flush(&mut self, at: At<()>, _: Flush) {
        if MARKED {
            // The tracer does not print flushes: a load stands for it.
            self.load(at);
        } else {
            // SAFETY: a mapped address. `clflush` stands for `clwb`, which not every tool knows.
            unsafe { _mm_clflush(Self::at(at.addr)) }
        }
    }
    #[inline(always)]
    fn fence(&mut self, _: Fence) {
        if MARKED {
            mark(FENCE);
        } else {
            // SAFETY: SSE is part of x86-64.
            unsafe { _mm_sfence() }
        }
    }
    #[inline(always)]
    fn rmw(&mut self, at: At<()>, op: Rmw) -> Val<()> {
        let word = Self::atomic(at.addr);
        Val::lit(match op {
            Rmw::Cas { expect, new } => word
                .compare_exchange(expect, new, Ordering::SeqCst, Ordering::SeqCst)
                .unwrap_or_else(|old| old),
            Rmw::Add(n) => word.fetch_add(n, Ordering::SeqCst),
            Rmw::Swap(n) => word.swap(n, Ordering::SeqCst),
        })
    }
    #[inline(always)]
    fn load_acquire(&mut self, at: At<()>) -> Val<()> {
        Val::lit(Self::atomic(at.addr).load(Ordering::Acquire))
    }
    #[inline(always)]
    fn store_release(&mut self, at: At<()>, v: Val<()>) {
        Self::atomic(at.addr).store(v.v, Ordering::Release);
    }
    #[inline(always)]
    fn lock(&mut self, at: At<()>) {
        while Self::atomic(at.addr).swap(1, Ordering::Acquire) != 0 {
            while Self::atomic(at.addr).load(Ordering::Relaxed) != 0 {
                std::hint::spin_loop();
            }
        }
    }
    #[inline(always)]
    fn unlock(&mut self, at: At<()>) {
        Self::atomic(at.addr).store(0, Ordering::Release);
    }
    #[inline(always)]
    fn compute(&mut self, site: Site) {
        if MARKED {
            mark(site.0 as usize);
        }
    }
}
