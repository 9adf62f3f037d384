//! The hooks of the family: two paths to persistence, and a policy that says what waits for what between them.

use super::params::X86Params;
use super::paths::Paths;
use super::stat::{STATS, SUMS};
use crate::info::MachineShape;
use fencepost_kernel::{CoreId, HwThread, LineAddr, LineData};
use fencepost_machine::seam::{
    Access, Cause, Cx, Design, Exit, Gate, Hooks, Instr, Level, Snoop, SnoopAnswer, StatInfo, Statistics, Way, Why,
    Write, WriteId,
};
use std::fmt::Debug;

/// What a design of the family adds to the two paths: which stores and which lines wait for non-temporal stores.
#[allow(unused_variables)]
pub trait Policy: Debug {
    /// The hooks of the design; `paths` are those that the paths need.
    fn hooks(&self, paths: Hooks) -> Hooks {
        paths
    }
    /// May this access perform?
    fn may_access(
        &mut self,
        paths: &mut Paths,
        cx: &dyn Cx,
        hw_thread: HwThread,
        line: LineAddr,
        access: Access,
    ) -> Gate {
        Gate::Go
    }
    /// A temporal store of the core to a persistent line performed; `meta` is the design's part of the line's way.
    fn stored(&mut self, paths: &Paths, core: CoreId, line: LineAddr, meta: &mut u32) {}
    /// May this line leave this cache?
    fn may_leave(&mut self, paths: &mut Paths, cx: &dyn Cx, from: Level, way: &Way, why: Why) -> Gate {
        Gate::Go
    }
    /// A dirty line leaves.
    fn leaving(&mut self, cx: &mut dyn Cx, from: Level, way: &Way, why: Why) -> Exit {
        Exit::Down
    }
    /// Histograms that the policy keeps.
    fn histograms(&self) -> &'static [StatInfo] {
        &[]
    }
    /// What the policy holds back, for a stuck machine.
    fn explain(&self) -> Option<String> {
        None
    }
}

/// The baseline: nothing waits without a fence.
#[derive(Copy, Clone, Debug, Default)]
pub struct Unordered;
impl Policy for Unordered {}

/// A design of the family.
#[derive(Clone, Debug)]
pub struct TwoPaths<P> {
    paths: Paths,
    policy: P,
    /// A store performed while its core's pointers were being reset.
    store_during_reset: bool,
}
/// x86 with asynchronous DRAM refresh; also the hardware of `x86-ideal`.
pub type X86 = TwoPaths<Unordered>;

impl X86 {
    /// The mechanism for a machine of this shape.
    pub fn new(params: X86Params, shape: MachineShape) -> X86 {
        TwoPaths::with_policy(Paths::new(params, shape, None), Unordered)
    }
}
impl<P> TwoPaths<P> {
    /// The paths under a policy.
    pub fn with_policy(paths: Paths, policy: P) -> TwoPaths<P> {
        TwoPaths {
            paths,
            policy,
            store_during_reset: false,
        }
    }
}

impl<P: Policy> Design for TwoPaths<P> {
    fn hooks(&self) -> Hooks {
        self.policy.hooks(Hooks {
            stores: true,
            gate_loads: self.paths.held.holds(),
            gate_stores: self.paths.held.holds(),
            snoops: true,
            writes: true,
            ..Hooks::default()
        })
    }
    fn instr(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, instr: Instr) -> Gate {
        match instr {
            Instr::Flush(line, flush) => self.paths.flush(cx, hw_thread, line, flush),
            Instr::Fence(fence) if fence.properties().completes_flushes => self.paths.fence(cx, hw_thread),
            Instr::Locked => self.paths.fence(cx, hw_thread),
            Instr::Fence(_) => Gate::Go,
        }
    }
    fn nt_store(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, data: &LineData, _: u8) -> Gate {
        self.paths.nt_store(cx, hw_thread, line, data)
    }
    fn may_access(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, access: Access) -> Gate {
        match self.paths.held.may_access(hw_thread, line) {
            Gate::Go => self.policy.may_access(&mut self.paths, cx, hw_thread, line, access),
            wait @ Gate::Wait(_) => wait,
        }
    }
    fn performed(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, a: Access, meta: &mut u32) {
        if line.is_persistent() {
            let core = cx.core_of(hw_thread);
            if a == Access::Store && self.paths.wcb(core).wrapping() {
                self.store_during_reset = true;
            }
            self.paths.stored(cx, hw_thread);
            self.policy.stored(&self.paths, core, line, meta);
        }
    }
    /// A line whose newest bytes sit in a write-combining buffer is not served before they have left it.
    fn snooped(&mut self, _: &mut dyn Cx, _: HwThread, line: LineAddr, _: Snoop) -> SnoopAnswer {
        if !self.paths.holds_unsent(line) {
            return SnoopAnswer::Pass;
        }
        self.paths.hold(None, Cause::WcbPending);
        SnoopAnswer::Wait(Cause::WcbPending)
    }
    fn may_leave(&mut self, cx: &mut dyn Cx, from: Level, way: &Way, why: Why) -> Gate {
        self.policy.may_leave(&mut self.paths, cx, from, way, why)
    }
    fn leaving(&mut self, cx: &mut dyn Cx, from: Level, way: &Way, _: &LineData, why: Why) -> Exit {
        self.policy.leaving(cx, from, way, why)
    }
    fn cleaned(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, tag: u64, found: Option<&LineData>) {
        self.paths.cleaned(cx, hw_thread, tag, found);
    }
    fn accepted(&mut self, cx: &mut dyn Cx, id: WriteId, write: &Write) {
        self.paths.accepted(cx, id, write);
    }
    fn queue_freed(&mut self, cx: &mut dyn Cx, _: u8) {
        self.paths.queue_freed(cx);
    }
    fn timer(&mut self, cx: &mut dyn Cx, tag: u64) {
        self.paths.timer(cx, tag);
    }
    fn drain(&mut self, _: &mut dyn Cx) -> bool {
        self.paths.idle()
    }
    fn statistics(&self) -> Statistics {
        Statistics {
            histograms: self.policy.histograms(),
            sums: SUMS,
            ..Statistics::of(STATS)
        }
    }
    fn broken_rule(&self) -> Option<String> {
        let why = "a store to persistent memory performed while the pointers were being reset: no tag stands for it";
        self.store_during_reset.then(|| why.to_owned())
    }
    fn unsound(&self) -> Option<String> {
        self.paths.unsound()
    }
    fn explain(&self, hw_thread: HwThread) -> Option<String> {
        let text = self.paths.explain(hw_thread)?;
        Some(match self.policy.explain() {
            None => text,
            Some(more) => format!("{text}; {more}"),
        })
    }
}
