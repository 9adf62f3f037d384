//! The hooks of the baseline.

use super::X86Params;
use super::paths::Paths;
use super::stat::STATS;
use crate::info::MachineShape;
use fencepost_kernel::{Fence, HartId, LineAddr, LineData};
use fencepost_machine::seam::{
    Access, Cause, Cx, Design, Gate, Hooks, Instr, Snoop, SnoopAnswer, StatInfo, Write, WriteId,
};

/// x86 with asynchronous DRAM refresh; also the hardware of `x86-ideal`.
#[derive(Clone, Debug)]
pub struct X86 {
    paths: Paths,
    harts_per_core: u8,
}
impl X86 {
    /// The mechanism for a machine of this shape.
    pub fn new(params: X86Params, shape: MachineShape) -> X86 {
        X86 {
            paths: Paths::new(params, shape, None),
            harts_per_core: shape.harts.div_ceil(shape.cores.max(1)),
        }
    }
}

/// What each instruction means on both paths; shared with the designs built on top.
pub(crate) fn instr(paths: &mut Paths, cx: &mut dyn Cx, hart: HartId, instr: Instr) -> Gate {
    match instr {
        Instr::Flush(line, flush) => paths.flush(cx, hart, line, flush),
        Instr::Fence(Fence::Sfence | Fence::Mfence | Fence::Dsb) | Instr::Locked => paths.fence(cx, hart),
        _ => Gate::Go,
    }
}
/// A line whose newest bytes sit in a write-combining buffer is not served before they have left it.
pub(crate) fn snooped(paths: &mut Paths, line: LineAddr) -> SnoopAnswer {
    match paths.holds_unsent(line) {
        true => {
            paths.wait(Cause::WcbPending);
            SnoopAnswer::Wait(Cause::WcbPending)
        }
        false => SnoopAnswer::Pass,
    }
}

impl Design for X86 {
    fn hooks(&self) -> Hooks {
        Hooks {
            stores: true,
            snoops: true,
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
    fn performed(&mut self, cx: &mut dyn Cx, hart: HartId, line: LineAddr, _: Access, _: &LineData, _: &mut u32) {
        if line.is_persistent() {
            self.paths.stored(cx, hart);
        }
    }
    fn snooped(&mut self, _: &mut dyn Cx, _: HartId, line: LineAddr, _: Snoop) -> SnoopAnswer {
        snooped(&mut self.paths, line)
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
    fn explain(&self, hart: HartId) -> Option<String> {
        self.paths
            .explain(hart, fencepost_kernel::CoreId(hart.0 / self.harts_per_core.max(1)))
    }
}
