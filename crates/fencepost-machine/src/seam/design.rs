//! The trait every design implements. All hooks have a default that means "not my business".

use super::{
    Access, ControllerParts, Cx, Exit, FenceAction, Gate, Hooks, Instr, Level, NetworkPort, Ranges, ReadAnswer, Snoop,
    SnoopAnswer, Statistics, Transactions, Versions,
};
use super::{Recovery, Way, Why, Write, WriteId};
use crate::memory::ModuleSpec;
use fencepost_kernel::{Fence, HwThread, LineAddr, LineData, Ps, WriteCause};

/// A persist-ordering mechanism. See the module documentation for the two rules that hold for every hook.
#[allow(unused_variables)]
pub trait Design {
    /// Which optional hooks the machine must call. Read once, before the first event.
    fn hooks(&self) -> Hooks {
        Hooks::default()
    }
    /// Write queues, scheduler, module and flow control of the persistent-memory controller, given the machine's module. The machine asks
    /// once; others may ask what it has.
    fn controller(&self, module: &ModuleSpec) -> ControllerParts {
        ControllerParts::of(module)
    }
    /// Its port for the network, if it has one.
    fn network_port(&mut self) -> Option<&mut dyn NetworkPort> {
        None
    }
    /// Its hardware transactions, if it has any; without, their instructions mean nothing.
    fn transactions(&mut self) -> Option<&mut dyn Transactions> {
        None
    }
    /// Versions of lines, if it keeps any beside the newest (`hooks.versions`).
    fn versions(&mut self) -> Option<&mut dyn Versions> {
        None
    }
    /// Ranges with write queues of their own, if it has any; without, all is in the default queue, and their instructions mean nothing.
    fn ranges(&mut self) -> Option<&mut dyn Ranges> {
        None
    }
    /// What it counts, and for which causes of its own it makes threads wait.
    fn statistics(&self) -> Statistics {
        Statistics::default()
    }

    /// What the core does with a fence of this kind. Read once for each kind, before the first event.
    ///
    /// The default is an x86 or Arm barrier: it waits at the head of the reorder buffer until older stores have
    /// performed, and then the design is asked ([`Instr::Fence`]). `pcommit` does not wait for stores. A fence that only
    /// orders persists and never makes its thread wait returns [`FenceAction::MARKER`].
    fn fence(&self, kind: Fence) -> FenceAction {
        match kind {
            Fence::Pcommit => FenceAction::AT_ONCE,
            _ => FenceAction::AFTER_STORES,
        }
    }

    // ---- core side

    /// An instruction of the persistence vocabulary is next. Default: fences and flushes mean nothing.
    fn instr(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, instr: Instr) -> Gate {
        Gate::Go
    }
    /// A flush, or a fence that is a marker among the stores, has committed and stands in the store queue (`hooks.queued`), where
    /// [`Design::instr`] will be asked about it. Called in program order, for a design with a queue of its own beside the store queue.
    fn queued(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, instr: Instr) {}
    /// A non-temporal store of the words in `mask` (bit per word of the line). `data` holds the line with the store applied. Default:
    /// [`straight_to_queue`], which a design that wants it only sometimes calls itself.
    fn nt_store(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, data: &LineData, mask: u8) -> Gate {
        straight_to_queue(cx, hw_thread, line, data)
    }
    /// An access is about to perform in the L1 (`hooks.gate_loads`, `hooks.gate_stores`).
    fn may_access(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, access: Access) -> Gate {
        Gate::Go
    }
    /// An access performed in the L1 (`hooks.loads`, `hooks.stores`; volatile lines too); [`Cx::coherent`] has the line as of now, `meta`
    /// is the design's mark of the way (with `hooks.marks`; otherwise it is zero and stays so).
    fn performed(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, access: Access, meta: &mut u32) {}

    // ---- cache side

    /// A bus request of `by` was granted: every port of the design sees it, whether or not its L1 holds the line
    /// (`hooks.snoops`). The grant is the atomic order point.
    fn snooped(&mut self, cx: &mut dyn Cx, by: HwThread, line: LineAddr, kind: Snoop) -> SnoopAnswer {
        SnoopAnswer::Pass
    }
    /// May a line leave this cache now (`hooks.holds`)? A refused victim waits in the write-back buffer, a refused
    /// transfer delays the requester.
    fn may_leave(&mut self, cx: &mut dyn Cx, from: Level, way: &Way, why: Why) -> Gate {
        Gate::Go
    }
    /// A dirty line leaves (`hooks.leaving`).
    fn leaving(&mut self, cx: &mut dyn Cx, from: Level, way: &Way, data: &LineData, why: Why) -> Exit {
        Exit::Down
    }
    /// A `Cx::clean` finished: with the bytes that were accepted by the controller, or `None` if nothing was dirty.
    fn cleaned(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, tag: u64, found: Option<&LineData>) {}
    /// A read missed every cache (`hooks.reads`): a buffer of the design may have newer bytes than memory.
    fn read_missed(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr) -> ReadAnswer {
        ReadAnswer::Pass
    }

    // ---- controller side

    /// A write arrived in its queue (`hooks.writes`). With a durable queue it is durable now.
    fn accepted(&mut self, cx: &mut dyn Cx, id: WriteId, write: &Write) {}
    /// The data of a write goes to the medium (`hooks.writes`). Not told of writes that were merged into another.
    fn issued(&mut self, cx: &mut dyn Cx, id: WriteId) {}
    /// A write became durable (`hooks.writes`); called in the order of the persist log, exactly once for every accepted
    /// `WriteId` (for writes that were merged in the queue: when the merged bytes become durable).
    fn durable(&mut self, cx: &mut dyn Cx, id: WriteId, write: &Write) {}
    /// A queue that refused a `Cx::write` because it was full has a free entry again. Asked for by the refusal; called once
    /// per refusal episode, after the entry is free (or after the older write to the line that stood in the way has left).
    /// Default: everything refused is asked again, which the default `nt_store` relies on.
    fn queue_freed(&mut self, cx: &mut dyn Cx, queue: u8) {
        cx.kick(None);
    }
    /// The design's flow control said that it learned what the design waits for ([`FlowControl::arrived`](crate::memory::FlowControl::arrived)).
    fn flow_changed(&mut self, cx: &mut dyn Cx) {}
    /// A drain asked for by `Cx::when_drained` is satisfied.
    fn drained(&mut self, cx: &mut dyn Cx, tag: u64) {}

    // ---- time, end, crash

    /// A timer fired.
    fn timer(&mut self, cx: &mut dyn Cx, tag: u64) {}
    /// The programs are done: push out what is buffered. Called after every event until it returns true.
    fn drain(&mut self, cx: &mut dyn Cx) -> bool {
        true
    }
    /// What the hardware itself does to a crash image before software recovery: it reads bytes, and writes them in stages. Power may fail
    /// again at any of its writes, and it then begins again on what it finds.
    fn recover(&self, memory: &mut Recovery<'_>) {}
    /// A rule of the mechanism that the run broke, as its own monitor saw it; a check of the run reports it. For rules whose
    /// breach is no crash state: a write accepted where it must be refused.
    fn broken_rule(&self) -> Option<String> {
        None
    }
    /// What is wrong with what it keeps, if anything is: counts, lists and notes that contradict one another. Asked after each moment of a
    /// run that looks for that, beside checked ones; a deliberate mistake that a parameter asks for is none of its business.
    fn unsound(&self) -> Option<String> {
        None
    }
    /// Who waits for whom, since when: printed when the machine is stuck.
    fn explain(&self, hw_thread: HwThread) -> Option<String> {
        None
    }
}

/// A non-temporal store is written straight to the controller's queue; while that is full the store waits, and
/// [`Design::queue_freed`] must have it asked again.
pub fn straight_to_queue(cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, data: &LineData) -> Gate {
    let write = Write {
        line,
        data: *data,
        queue: 0,
        epoch: None,
        cause: WriteCause::NonTemporal,
        hw_thread: Some(hw_thread),
        delay: Ps::ZERO,
    };
    match cx.write(write) {
        Ok(_) => Gate::Go,
        Err(cause) => Gate::Wait(cause),
    }
}
