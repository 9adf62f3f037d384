//! The policy of Themis, enforcing at the L1, and what its last-level variant shares with it.

use super::params::{ThemisFault, ThemisParams};
use super::parked::{HISTOGRAMS, Parked};
use crate::info::MachineShape;
use crate::x86::{Paths, Policy, TwoPaths, stat};
use fencepost_kernel::{CoreId, HwThread, LineAddr, planted};
use fencepost_machine::seam::{Access, Cause, Cx, Exit, Gate, Hooks, Level, StatInfo, Way, Why};

/// What a line carries: the tail pointer, and above it the number of pointer resets at the time. Zero: depends on nothing.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag(pub u32);
impl Tag {
    /// The tag of a store that performs now.
    pub(super) fn now(paths: &Paths, core: CoreId) -> Tag {
        let w = paths.wcb(core);
        match w.is_empty() {
            true => Tag(0),
            false => Tag(u32::from(w.generation()) << 16 | w.tail()),
        }
    }
    /// Whether every entry before the tail is acknowledged. A tag from before a reset is: the hardware cleared it.
    pub(super) fn satisfied(self, paths: &Paths, core: CoreId) -> bool {
        let w = paths.wcb(core);
        let (tail, generation) = (self.0 & 0xffff, (self.0 >> 16) as u16);
        tail <= w.head_ack() || tail > w.tail() || generation != w.generation()
    }
}

/// Lines wait where they leave the private caches.
#[derive(Clone, Debug)]
pub struct AtL1 {
    fault: ThemisFault,
    parked: Parked,
}
/// Themis.
pub type Themis = TwoPaths<AtL1>;

impl Themis {
    /// The mechanism for a machine of this shape.
    pub fn new(params: ThemisParams, shape: MachineShape) -> Themis {
        let policy = AtL1 {
            fault: params.fault,
            parked: Parked::new(shape.cycle),
        };
        TwoPaths::with_policy(paths(&params, shape), policy)
    }
}
impl AtL1 {
    fn may_go(&self, paths: &Paths, core: CoreId, way: &Way, transfer: bool) -> bool {
        let passes = planted!(
            "themis.write-backs-go",
            "a write-back waits for the non-temporal stores before its line's last store"
        );
        if passes {
            return true;
        }
        let forgets = match self.fault {
            ThemisFault::TransferSkipsWbb => transfer,
            ThemisFault::OverflowForgetsWbb => !transfer && paths.wcb(core).wrapping(),
            ThemisFault::None | ThemisFault::RestoreKeepsTag => false,
        };
        forgets || Tag(way.meta).satisfied(paths, core)
    }
}

/// The paths with pointers of the design's width.
pub(super) fn paths(params: &ThemisParams, shape: MachineShape) -> Paths {
    Paths::new(params.paths(), shape, Some(params.pointer_bits))
}
/// The hooks of a policy that holds lines back. Loads it lets go.
pub(super) fn holding(paths: Hooks) -> Hooks {
    Hooks {
        gate_stores: true,
        holds: true,
        leaving: true,
        ..paths
    }
}
/// The core whose private cache this is.
fn private(level: Level) -> Option<CoreId> {
    match level {
        Level::L1(core) | Level::L2(core) => Some(core),
        Level::Llc => None,
    }
}
/// Whether a line goes to another core rather than down.
pub(super) fn is_transfer(why: Why) -> bool {
    matches!(why, Why::TakenBy(_) | Why::Downgraded(_))
}
/// A store to persistent memory has to wait while its core's pointers are being reset: no tag could stand for it.
pub(super) fn may_store(paths: &mut Paths, cx: &dyn Cx, hw_thread: HwThread, line: LineAddr, access: Access) -> Gate {
    let wrapping = access == Access::Store
        && line.is_persistent()
        && paths.wcb(cx.core_of(hw_thread)).wrapping()
        && !planted!(
            "themis.store-during-wrap",
            "no store takes a tag while the pointers are being reset"
        );
    match wrapping {
        true => paths.wait(hw_thread, Cause::WcbWrap),
        false => Gate::Go,
    }
}

impl Policy for AtL1 {
    fn hooks(&self, paths: Hooks) -> Hooks {
        Hooks {
            marks: true,
            ..holding(paths)
        }
    }
    fn may_access(
        &mut self,
        paths: &mut Paths,
        cx: &dyn Cx,
        hw_thread: HwThread,
        line: LineAddr,
        access: Access,
    ) -> Gate {
        let waits = planted!(
            "themis.stores-wait",
            "stores go past what is in the write-combining buffer"
        );
        let stops =
            waits && access == Access::Store && line.is_persistent() && !paths.wcb(cx.core_of(hw_thread)).is_empty();
        match stops {
            true => paths.wait(hw_thread, Cause::WcbPending),
            false => may_store(paths, cx, hw_thread, line, access),
        }
    }
    fn stored(&mut self, paths: &Paths, core: CoreId, line: LineAddr, meta: &mut u32) {
        self.parked.stored(line);
        let keeps = self.fault == ThemisFault::RestoreKeepsTag && *meta != 0;
        if !keeps {
            *meta = Tag::now(paths, core).0;
        }
    }
    fn may_leave(&mut self, paths: &mut Paths, cx: &dyn Cx, from: Level, way: &Way, why: Why) -> Gate {
        let volatile_waits = planted!(
            "themis.volatile-lines-wait",
            "volatile lines leave whatever is outstanding"
        );
        if let (Some(core), false, true) = (private(from), way.line.is_persistent(), volatile_waits)
            && !paths.wcb(core).is_empty()
        {
            return paths.hold(Some(core), Cause::OrderPending);
        }
        let Some(core) = private(from).filter(|_| way.line.is_persistent()) else {
            return Gate::Go;
        };
        let transfer = is_transfer(why);
        if self.may_go(paths, core, way, transfer) {
            return Gate::Go;
        }
        self.parked.refused(from, way.line, transfer, cx.now());
        paths.hold(Some(core), Cause::OrderPending)
    }
    fn leaving(&mut self, cx: &mut dyn Cx, from: Level, way: &Way, why: Why) -> Exit {
        if private(from).is_some() && way.line.is_persistent() {
            let transfer = is_transfer(why);
            let waited = self.parked.leaves(cx, from, way.line, transfer);
            cx.count(stat::WRITEBACKS, u64::from(!transfer));
            cx.count(stat::WRITEBACKS_DELAYED, u64::from(waited && !transfer));
            cx.count(stat::TRANSFERS_DELAYED, u64::from(waited && transfer));
        }
        Exit::DownUnmarked
    }
    fn histograms(&self) -> &'static [StatInfo] {
        HISTOGRAMS
    }
    fn explain(&self) -> Option<String> {
        let n = self.parked.len();
        (n > 0).then(|| format!("{n} lines wait to leave the private caches"))
    }
}
