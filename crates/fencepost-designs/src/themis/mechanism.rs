//! The hooks of Themis, enforcing at the L1.

use super::parked::{HISTOGRAMS, Parked};
use super::{ThemisFault, ThemisParams};
use crate::info::MachineShape;
use crate::x86::stat::STATS;
use crate::x86::{Paths, instr, snooped, stat};
use fencepost_kernel::{CoreId, HartId, LineAddr, LineData};
use fencepost_machine::seam::{
    Access, Cause, Cx, Design, Exit, Gate, Hooks, Instr, Level, Snoop, SnoopAnswer, StatInfo, Way, Why, Write, WriteId,
};

/// The word of a line: tail pointer, and above it the number of pointer resets at the time. Zero: depends on nothing.
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

/// Themis.
#[derive(Clone, Debug)]
pub struct Themis {
    paths: Paths,
    fault: ThemisFault,
    parked: Parked,
    harts_per_core: u8,
}

impl Themis {
    /// The mechanism for a machine of this shape.
    pub fn new(params: ThemisParams, shape: MachineShape) -> Themis {
        Themis {
            paths: Paths::new(params.paths(), shape, Some(params.pointer_bits)),
            fault: params.fault,
            parked: Parked::new(shape.cycle),
            harts_per_core: shape.harts.div_ceil(shape.cores.max(1)),
        }
    }
    fn may_go(&self, core: CoreId, way: &Way, transfer: bool) -> bool {
        let forgets = match self.fault {
            ThemisFault::TransferSkipsWbb => transfer,
            ThemisFault::OverflowForgetsWbb => !transfer && self.paths.wcb(core).wrapping(),
            ThemisFault::None | ThemisFault::RestoreKeepsTag => false,
        };
        forgets || Tag(way.meta).satisfied(&self.paths, core)
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
pub(super) fn may_store(paths: &mut Paths, cx: &dyn Cx, hart: HartId, line: LineAddr, access: Access) -> Gate {
    let wrapping = paths.wcb(cx.core_of(hart)).wrapping();
    match access == Access::Store && line.is_persistent() && wrapping {
        true => paths.wait(Cause::WcbWrap),
        false => Gate::Go,
    }
}

impl Design for Themis {
    fn hooks(&self) -> Hooks {
        Hooks {
            gates: true,
            stores: true,
            snoops: true,
            holds: true,
            leaving: true,
            writes: true,
            ..Hooks::default()
        }
    }
    fn instr(&mut self, cx: &mut dyn Cx, hart: HartId, what: Instr) -> Gate {
        instr(&mut self.paths, cx, hart, what)
    }
    fn nt_store(&mut self, cx: &mut dyn Cx, hart: HartId, line: LineAddr, data: &LineData, _: u8) -> Gate {
        self.paths.nt_store(cx, hart, line, data)
    }
    fn may_access(&mut self, cx: &mut dyn Cx, hart: HartId, line: LineAddr, access: Access) -> Gate {
        may_store(&mut self.paths, cx, hart, line, access)
    }
    fn performed(&mut self, cx: &mut dyn Cx, hart: HartId, line: LineAddr, _: Access, _: &LineData, meta: &mut u32) {
        if !line.is_persistent() {
            return;
        }
        let core = cx.core_of(hart);
        self.paths.stored(cx, hart);
        self.parked.stored(line);
        let keeps = self.fault == ThemisFault::RestoreKeepsTag && *meta != 0;
        if !keeps {
            *meta = Tag::now(&self.paths, core).0;
        }
    }
    fn snooped(&mut self, _: &mut dyn Cx, _: HartId, line: LineAddr, _: Snoop) -> SnoopAnswer {
        snooped(&mut self.paths, line)
    }
    fn may_leave(&mut self, cx: &mut dyn Cx, from: Level, way: &Way, why: Why) -> Gate {
        let Some(core) = private(from).filter(|_| way.line.is_persistent()) else {
            return Gate::Go;
        };
        let transfer = is_transfer(why);
        if self.may_go(core, way, transfer) {
            return Gate::Go;
        }
        self.parked.refused(from, way.line, transfer, cx.now());
        self.paths.wait(Cause::OrderPending)
    }
    fn leaving(&mut self, cx: &mut dyn Cx, from: Level, way: &Way, _: &LineData, why: Why) -> Exit {
        if private(from).is_some() && way.line.is_persistent() {
            let transfer = is_transfer(why);
            let waited = self.parked.leaves(cx, from, way.line, transfer);
            cx.count(stat::WRITEBACKS, u64::from(!transfer));
            cx.count(stat::WRITEBACKS_DELAYED, u64::from(waited && !transfer));
            cx.count(stat::TRANSFERS_DELAYED, u64::from(waited && transfer));
        }
        Exit::DownUnmarked
    }
    fn cleaned(&mut self, cx: &mut dyn Cx, hart: HartId, tag: u64, found: Option<&LineData>) {
        self.paths.cleaned(cx, hart, tag, found);
    }
    fn accepted(&mut self, cx: &mut dyn Cx, id: WriteId, write: &Write) {
        self.paths.accepted(cx, id, write);
    }
    fn write_room(&mut self, cx: &mut dyn Cx, _: u8) {
        self.paths.write_room(cx);
    }
    fn timer(&mut self, cx: &mut dyn Cx, tag: u64) {
        self.paths.timer(cx, tag);
    }
    fn drain(&mut self, _: &mut dyn Cx) -> bool {
        self.paths.idle()
    }
    fn stats(&self) -> &'static [StatInfo] {
        &STATS
    }
    fn histograms(&self) -> &'static [StatInfo] {
        &HISTOGRAMS
    }
    fn explain(&self, hart: HartId) -> Option<String> {
        let text = self.paths.explain(hart, CoreId(hart.0 / self.harts_per_core.max(1)))?;
        Some(match self.parked.len() {
            0 => text,
            n => format!("{text}; {n} lines wait to leave the private caches"),
        })
    }
}
