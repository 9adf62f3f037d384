//! A design that logs every hook call and passes it on; what the design brings along is handed out as it is.

use fencepost_kernel::{Fence, HwThread, LineAddr, LineData};
use fencepost_machine::memory::ModuleSpec;
use fencepost_machine::seam::{
    Access, ControllerParts, Cx, Design, Exit, FenceAction, Gate, Hooks, Instr, Level, NetworkPort, Ranges, ReadAnswer,
    Recovery, Snoop, SnoopAnswer, Statistics, Transactions, Versions, Way, Why, Write, WriteId,
};
use std::cell::RefCell;
use std::collections::BTreeMap;

macro_rules! hooks {
    ($($(#[$meta:meta])* $name:ident),* $(,)?) => {
        /// The hooks of the seam.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Hook { $($(#[$meta])* $name),* }
        impl Hook {
            /// Every hook.
            pub const ALL: &'static [Hook] = &[$(Hook::$name),*];
        }
    };
}
hooks! {
    /// `hooks`
    Hooks,
    /// `controller`
    Controller,
    /// `queued`
    Queued,
    /// `instr`
    Instr,
    /// `nt_store`
    NtStore,
    /// `may_access`
    MayAccess,
    /// `performed`
    Performed,
    /// `snooped`
    Snooped,
    /// `may_leave`
    MayLeave,
    /// `leaving`
    Leaving,
    /// `cleaned`
    Cleaned,
    /// `read_missed`
    ReadMissed,
    /// `accepted`
    Accepted,
    /// `durable`
    Durable,
    /// `queue_freed`
    QueueFreed,
    /// `drained`
    Drained,
    /// `timer`
    Timer,
    /// `drain`
    Drain,
    /// `recover`
    Recover,
    /// `statistics`
    Statistics,
    /// `explain`
    Explain,
}

/// Wraps a design: counts every hook, wants all of them, and returns what the inner design returns.
pub struct HookRecorder<D> {
    /// The design that answers.
    pub inner: D,
    /// How often each hook was called.
    pub seen: RefCell<BTreeMap<Hook, u64>>,
}
impl<D> HookRecorder<D> {
    /// A recorder around `inner`.
    pub fn new(inner: D) -> HookRecorder<D> {
        HookRecorder {
            inner,
            seen: RefCell::default(),
        }
    }
    /// Hooks that were never called.
    pub fn missing(&self) -> Vec<Hook> {
        let seen = self.seen.borrow();
        Hook::ALL.iter().copied().filter(|h| !seen.contains_key(h)).collect()
    }
    fn saw(&self, hook: Hook) {
        *self.seen.borrow_mut().entry(hook).or_default() += 1;
    }
}

impl<D: Design> Design for HookRecorder<D> {
    fn hooks(&self) -> Hooks {
        self.saw(Hook::Hooks);
        Hooks::ALL
    }
    fn controller(&self, module: &ModuleSpec) -> ControllerParts {
        self.saw(Hook::Controller);
        self.inner.controller(module)
    }
    fn network_port(&mut self) -> Option<&mut dyn NetworkPort> {
        self.inner.network_port()
    }
    fn transactions(&mut self) -> Option<&mut dyn Transactions> {
        self.inner.transactions()
    }
    fn versions(&mut self) -> Option<&mut dyn Versions> {
        self.inner.versions()
    }
    fn ranges(&mut self) -> Option<&mut dyn Ranges> {
        self.inner.ranges()
    }
    fn fence(&self, kind: Fence) -> FenceAction {
        self.inner.fence(kind)
    }
    fn instr(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, instr: Instr) -> Gate {
        self.saw(Hook::Instr);
        self.inner.instr(cx, hw_thread, instr)
    }
    fn queued(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, instr: Instr) {
        self.saw(Hook::Queued);
        self.inner.queued(cx, hw_thread, instr);
    }
    fn nt_store(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, data: &LineData, mask: u8) -> Gate {
        self.saw(Hook::NtStore);
        self.inner.nt_store(cx, hw_thread, line, data, mask)
    }
    fn may_access(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, access: Access) -> Gate {
        self.saw(Hook::MayAccess);
        self.inner.may_access(cx, hw_thread, line, access)
    }
    fn performed(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, access: Access, meta: &mut u32) {
        self.saw(Hook::Performed);
        self.inner.performed(cx, hw_thread, line, access, meta);
    }
    fn snooped(&mut self, cx: &mut dyn Cx, by: HwThread, line: LineAddr, kind: Snoop) -> SnoopAnswer {
        self.saw(Hook::Snooped);
        self.inner.snooped(cx, by, line, kind)
    }
    fn may_leave(&mut self, cx: &mut dyn Cx, from: Level, way: &Way, why: Why) -> Gate {
        self.saw(Hook::MayLeave);
        self.inner.may_leave(cx, from, way, why)
    }
    fn leaving(&mut self, cx: &mut dyn Cx, from: Level, way: &Way, data: &LineData, why: Why) -> Exit {
        self.saw(Hook::Leaving);
        self.inner.leaving(cx, from, way, data, why)
    }
    fn cleaned(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, tag: u64, found: Option<&LineData>) {
        self.saw(Hook::Cleaned);
        self.inner.cleaned(cx, hw_thread, tag, found);
    }
    fn read_missed(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr) -> ReadAnswer {
        self.saw(Hook::ReadMissed);
        self.inner.read_missed(cx, hw_thread, line)
    }
    fn accepted(&mut self, cx: &mut dyn Cx, id: WriteId, write: &Write) {
        self.saw(Hook::Accepted);
        self.inner.accepted(cx, id, write);
    }
    fn durable(&mut self, cx: &mut dyn Cx, id: WriteId, write: &Write) {
        self.saw(Hook::Durable);
        self.inner.durable(cx, id, write);
    }
    fn queue_freed(&mut self, cx: &mut dyn Cx, queue: u8) {
        self.saw(Hook::QueueFreed);
        self.inner.queue_freed(cx, queue);
    }
    fn flow_changed(&mut self, cx: &mut dyn Cx) {
        self.inner.flow_changed(cx);
    }
    fn drained(&mut self, cx: &mut dyn Cx, tag: u64) {
        self.saw(Hook::Drained);
        self.inner.drained(cx, tag);
    }
    fn timer(&mut self, cx: &mut dyn Cx, tag: u64) {
        self.saw(Hook::Timer);
        self.inner.timer(cx, tag);
    }
    fn drain(&mut self, cx: &mut dyn Cx) -> bool {
        self.saw(Hook::Drain);
        self.inner.drain(cx)
    }
    fn recover(&self, memory: &mut Recovery<'_>) {
        self.saw(Hook::Recover);
        self.inner.recover(memory);
    }
    fn statistics(&self) -> Statistics {
        self.saw(Hook::Statistics);
        self.inner.statistics()
    }
    fn broken_rule(&self) -> Option<String> {
        self.inner.broken_rule()
    }
    fn unsound(&self) -> Option<String> {
        self.inner.unsound()
    }
    fn explain(&self, hw_thread: HwThread) -> Option<String> {
        self.saw(Hook::Explain);
        self.inner.explain(hw_thread)
    }
}
