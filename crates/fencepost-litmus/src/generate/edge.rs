//! The edges that cycles are made of.

use crate::format::test::Arch;

/// What an event does.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// Reads.
    R,
    /// Writes.
    W,
}

use Direction::{R, W};

/// Communication between threads, at one location.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Com {
    /// A read of another thread's write.
    Rfe,
    /// A write that overwrites what another thread read.
    Fre,
    /// A write that overwrites another thread's.
    Coe,
}

impl Com {
    /// What stands before and after.
    pub fn ends(self) -> (Direction, Direction) {
        match self {
            Com::Rfe => (W, R),
            Com::Fre => (R, W),
            Com::Coe => (W, W),
        }
    }
    /// diy's name.
    pub fn name(self) -> &'static str {
        match self {
            Com::Rfe => "Rfe",
            Com::Fre => "Fre",
            Com::Coe => "Coe",
        }
    }
}

/// What stands between two accesses of a thread, to different locations.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Link {
    /// Nothing.
    Po,
    /// Instructions of the instruction set, by name.
    Fence(&'static str),
    /// The second address depends on the first read.
    Addr,
    /// The second value depends on the first read.
    Data,
    /// The second is behind a branch that the first read decides.
    Ctrl,
    /// The same with a context synchronisation behind the branch.
    CtrlSync,
    /// The first read acquires.
    Acquire,
    /// The second write releases.
    Release,
    /// A flush of the first location, then perhaps a fence.
    Flush(&'static str, Option<&'static str>),
    /// The first write is non-temporal, then perhaps a fence.
    Nt(Option<&'static str>),
}

impl Link {
    /// Whether it may stand between accesses of these kinds.
    pub fn fits(self, from: Direction, to: Direction) -> bool {
        match self {
            Link::Po | Link::Flush(..) => true,
            Link::Fence("SFENCE" | "DMB ST" | "eieio") => (from, to) == (W, W),
            Link::Fence("DMB LD") => from == R,
            Link::Fence("lwsync") => (from, to) != (W, R),
            Link::Fence(_) => true,
            Link::Addr | Link::Ctrl | Link::CtrlSync | Link::Acquire => from == R,
            Link::Data => (from, to) == (R, W),
            Link::Release => to == W,
            Link::Nt(_) => from == W,
        }
    }
    /// The name in tests.
    pub fn name(self) -> String {
        let lower = |text: &str| text.to_lowercase().replace(' ', ".");
        match self {
            Link::Po => "po".into(),
            Link::Fence(text) => lower(text),
            Link::Addr => "addr".into(),
            Link::Data => "data".into(),
            Link::Ctrl => "ctrl".into(),
            Link::CtrlSync => "ctrlisync".into(),
            Link::Acquire => "acq".into(),
            Link::Release => "rel".into(),
            Link::Flush(flush, fence) => [Some(flush), fence]
                .into_iter()
                .flatten()
                .map(lower)
                .collect::<Vec<_>>()
                .join("-"),
            Link::Nt(fence) => std::iter::once("nt".to_owned())
                .chain(fence.map(lower))
                .collect::<Vec<_>>()
                .join("-"),
        }
    }
}

/// Every link of an instruction set that matters for what is visible.
pub fn visible_links(arch: Arch) -> &'static [Link] {
    use Link::{Acquire, Addr, Ctrl, CtrlSync, Data, Fence, Po, Release};
    match arch {
        Arch::X86 | Arch::X86_64 => &[Po, Fence("MFENCE")],
        Arch::Arm => &[Po, Fence("DMB"), Fence("DMB ST"), Addr, Data, Ctrl, CtrlSync],
        Arch::AArch64 => &[
            Po,
            Fence("DMB SY"),
            Fence("DMB LD"),
            Fence("DMB ST"),
            Addr,
            Data,
            Ctrl,
            CtrlSync,
            Acquire,
            Release,
        ],
        Arch::Ppc => &[
            Po,
            Fence("sync"),
            Fence("lwsync"),
            Fence("eieio"),
            Addr,
            Data,
            Ctrl,
            CtrlSync,
        ],
    }
}

/// Every link of x86 that matters for what a power failure leaves.
pub fn persist_links() -> &'static [Link] {
    use Link::{Fence, Flush, Nt, Po};
    &[
        Po,
        Fence("SFENCE"),
        Fence("MFENCE"),
        Flush("CLWB", None),
        Flush("CLFLUSH", None),
        Flush("CLWB", Some("SFENCE")),
        Flush("CLWB", Some("MFENCE")),
        Nt(None),
        Nt(Some("SFENCE")),
    ]
}
