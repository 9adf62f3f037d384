//! The recording double: a design that wants every hook.

use fencepost_kernel::{Addr, HwThread, LineAddr, LineData, Ps, QueueId, Span, TxId};
use fencepost_machine::memory::ModuleSpec;
use fencepost_machine::seam::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Calls seen so far, by hook.
pub(crate) type Calls = Rc<RefCell<BTreeMap<&'static str, u64>>>;

/// Wants every hook, counts the calls, and refuses each kind of question once so that asking again is seen too.
pub(crate) struct Double {
    calls: Calls,
    refused: Vec<&'static str>,
    stores: u32,
    started: bool,
    next_tx: u32,
    /// Lines of the writes that were accepted and are not durable.
    under_way: BTreeMap<WriteId, LineAddr>,
}
/// The line of which versions are kept: each store makes one of the store before.
pub(crate) const VERSIONED: Addr = Addr::pm(1 << 24);

impl Double {
    fn saw(&self, hook: &'static str) {
        *self.calls.borrow_mut().entry(hook).or_insert(0) += 1;
    }
    /// Refuses the first question of its kind and asks for a kick a little later.
    fn once(&mut self, cx: &mut dyn Cx, hook: &'static str) -> bool {
        self.saw(hook);
        if self.refused.contains(&hook) {
            return false;
        }
        self.refused.push(hook);
        let at = cx.now() + Ps::from_ns(50);
        cx.timer(at, 1);
        true
    }
    fn gate(&mut self, cx: &mut dyn Cx, hook: &'static str) -> Gate {
        if self.once(cx, hook) {
            Gate::Wait(Cause::OrderPending)
        } else {
            Gate::Go
        }
    }
    fn start(&mut self, cx: &mut dyn Cx) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let (log, _) = cx.log_area();
        let line = log.line();
        cx.read(line, 7);
        cx.read(Addr::pm(0).line(), 8);
        // Fill the write queue until it refuses.
        let write = |i: u64| Write {
            line: LineAddr(line.0 + i),
            data: LineData::default(),
            queue: 0,
            epoch: None,
            cause: fencepost_kernel::WriteCause::Log,
            hw_thread: Some(HwThread(0)),
            delay: Ps::from_ns(3),
        };
        let accepted = (0..1000).take_while(|i| cx.write(write(*i)).is_ok()).count();
        assert!(accepted > 0 && accepted < 1000, "the write queue is bounded");
        let epoch = cx.end_epoch(0);
        assert!(epoch >= cx.active_epoch(0) && epoch == cx.open_epoch(0));
        cx.when_drained(DrainScope::AcceptedSoFar(None), 9);
        cx.when_drained(DrainScope::Empty(Some(0)), 10);
        assert!(!cx.durable_on_accept());
        cx.durable_together(&[(LineAddr(line.0 + 5000), LineData::default())]);
        cx.clean(HwThread(0), Addr::pm(1 << 20).line(), CleanKind::KeepExclusive, 11);
        cx.count(0, 1);
        cx.sample(0, 42);
    }
}

impl Design for Double {
    fn hooks(&self) -> Hooks {
        Hooks::ALL
    }
    fn controller(&self, module: &ModuleSpec) -> ControllerParts {
        self.saw("controller");
        ControllerParts::of(module)
    }
    fn instr(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, instr: Instr) -> Gate {
        self.start(cx);
        let hook = match instr {
            Instr::Flush(line, _) => {
                if self.refused.contains(&"flush") {
                    cx.clean(hw_thread, line, CleanKind::KeepShared, 3);
                }
                "flush"
            }
            Instr::Fence(_) => "fence",
            Instr::Locked => "locked",
        };
        self.gate(cx, hook)
    }
    fn nt_store(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, data: &LineData, mask: u8) -> Gate {
        if self.once(cx, "nt_store") {
            return Gate::Wait(Cause::WcbFull);
        }
        assert_eq!(mask.count_ones(), 1);
        let write = Write {
            line,
            data: *data,
            queue: 0,
            epoch: None,
            cause: fencepost_kernel::WriteCause::NonTemporal,
            hw_thread: Some(hw_thread),
            delay: Ps::ZERO,
        };
        match cx.write(write) {
            Ok(_) => Gate::Go,
            Err(cause) => {
                let at = cx.now() + Ps::from_ns(100);
                cx.timer(at, 1);
                Gate::Wait(cause)
            }
        }
    }
    fn may_access(&mut self, cx: &mut dyn Cx, _: HwThread, _: LineAddr, access: Access) -> Gate {
        self.gate(
            cx,
            if access == Access::Load {
                "may_load"
            } else {
                "may_store"
            },
        )
    }
    fn performed(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, _: LineAddr, access: Access, meta: &mut u32) {
        self.saw(if access == Access::Load {
            "performed_load"
        } else {
            "performed_store"
        });
        if access == Access::Store {
            self.stores += 1; // names the version
            *meta = self.stores;
        }
        if self.once(cx, "block_l1") {
            cx.block_l1(hw_thread, Some(Cause::L1Blocked));
            let at = cx.now() + Ps::from_ns(30);
            cx.timer(at, 2);
        }
    }
    fn snooped(&mut self, cx: &mut dyn Cx, _: HwThread, _: LineAddr, _: Snoop) -> SnoopAnswer {
        if self.once(cx, "snooped") {
            SnoopAnswer::Wait(Cause::OrderPending)
        } else {
            SnoopAnswer::Pass
        }
    }
    fn may_leave(&mut self, cx: &mut dyn Cx, from: Level, _: &Way, why: Why) -> Gate {
        let hook = match (from, why) {
            (Level::Llc, _) => "may_leave_llc",
            (_, Why::Replaced) => "may_leave_replaced",
            (_, Why::Cleaned) => "may_leave_cleaned",
            (_, Why::TakenBy(_)) => "may_leave_taken",
            _ => "may_leave_downgraded",
        };
        self.gate(cx, hook)
    }
    fn leaving(&mut self, cx: &mut dyn Cx, from: Level, way: &Way, _: &LineData, why: Why) -> Exit {
        self.saw(if why == Why::VersionOverflow {
            "version_overflow"
        } else {
            "leaving"
        });
        if let (Level::L1(core), true) = (from, way.frozen) {
            cx.drop_version(Level::L1(core), way.line, way.meta);
        }
        Exit::Down
    }
    fn cleaned(&mut self, _: &mut dyn Cx, _: HwThread, tag: u64, found: Option<&LineData>) {
        self.saw(if found.is_some() {
            "cleaned_found"
        } else {
            "cleaned_nothing"
        });
        assert!(tag == 3 || tag == 11);
    }
    fn read_missed(&mut self, _: &mut dyn Cx, _: HwThread, _: LineAddr) -> ReadAnswer {
        self.saw("read_missed");
        ReadAnswer::Pass
    }
    fn accepted(&mut self, _: &mut dyn Cx, id: WriteId, write: &Write) {
        self.saw("accepted");
        assert!(write.line.is_persistent(), "{id:?} goes to volatile memory");
        assert_eq!(self.under_way.insert(id, write.line), None, "{id:?} is accepted again");
    }
    fn issued(&mut self, _: &mut dyn Cx, id: WriteId) {
        self.saw("issued");
        assert!(self.under_way.contains_key(&id), "{id:?} is issued");
    }
    fn durable(&mut self, _: &mut dyn Cx, id: WriteId, write: &Write) {
        self.saw("durable");
        assert_eq!(self.under_way.remove(&id), Some(write.line), "{id:?} is durable");
    }
    fn queue_freed(&mut self, _: &mut dyn Cx, _: u8) {
        self.saw("queue_freed");
    }
    fn drained(&mut self, _: &mut dyn Cx, tag: u64) {
        self.saw(if tag == 9 { "drained_snapshot" } else { "drained_empty" });
    }
    fn timer(&mut self, cx: &mut dyn Cx, tag: u64) {
        self.saw("timer");
        if tag == 2 {
            for hw_thread in 0..cx.hw_threads() {
                cx.block_l1(HwThread(hw_thread), None);
            }
        }
        cx.kick(None);
    }
    fn drain(&mut self, _: &mut dyn Cx) -> bool {
        self.saw("drain");
        true
    }
    fn recover(&self, memory: &mut Recovery<'_>) {
        self.saw("recover");
        let line = Addr::pm(8).line();
        memory.write(line, memory.image().line(line));
    }
    fn statistics(&self) -> Statistics {
        Statistics {
            sums: &[],
            counters: &[StatInfo {
                name: "seen",
                unit: "1",
                doc: "Counts one.",
            }],
            histograms: &[StatInfo {
                name: "values",
                unit: "1",
                doc: "One sample.",
            }],
            causes: &[],
        }
    }
    fn transactions(&mut self) -> Option<&mut dyn Transactions> {
        Some(self)
    }
    fn versions(&mut self) -> Option<&mut dyn Versions> {
        Some(self)
    }
    fn ranges(&mut self) -> Option<&mut dyn Ranges> {
        Some(self)
    }
    fn explain(&self, _: HwThread) -> Option<String> {
        self.saw("explain");
        Some("the double waits for nobody".into())
    }
}

impl Transactions for Double {
    fn begin(&mut self, cx: &mut dyn Cx, _: HwThread) -> TxStart {
        if self.once(cx, "tx_begin") {
            return TxStart::Wait(Cause::WindowFull);
        }
        self.next_tx += 1;
        TxStart::Go(TxId(self.next_tx))
    }
    fn commit(&mut self, cx: &mut dyn Cx, _: HwThread, _: TxId) -> Gate {
        self.gate(cx, "tx_commit")
    }
    fn abort(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, tx: TxId) -> Gate {
        if self.refused.contains(&"tx_abort") {
            cx.roll_back(hw_thread, tx);
        }
        self.gate(cx, "tx_abort")
    }
    fn flush(&mut self, cx: &mut dyn Cx, _: HwThread) -> Gate {
        self.gate(cx, "tx_flush")
    }
}

impl Versions for Double {
    fn place(&mut self, _: &mut dyn Cx, _: HwThread, way: &Way) -> Place {
        self.saw("place");
        assert!(!way.frozen);
        match way.dirty && way.line == VERSIONED.line() {
            true => Place::Fork,
            false => Place::Here,
        }
    }
    fn read_from(&mut self, _: &mut dyn Cx, line: LineAddr) -> LineAddr {
        self.saw("read_from");
        line
    }
    fn read_done(&mut self, _: &mut dyn Cx, tag: u64, _: LineAddr, _: &LineData) {
        assert!(tag == 7 || tag == 8);
        self.saw("read_done");
    }
}

impl Ranges for Double {
    fn bind(&mut self, cx: &mut dyn Cx, _: HwThread, _: Span) -> Bound {
        if self.once(cx, "bind") {
            return Bound::Wait(Cause::CommitPending);
        }
        Bound::To(QueueId(3))
    }
    fn commit(&mut self, cx: &mut dyn Cx, _: HwThread, _: QueueId) -> Gate {
        self.gate(cx, "commit_queue")
    }
    fn release(&mut self, cx: &mut dyn Cx, _: HwThread, _: Span) -> Gate {
        self.gate(cx, "release")
    }
}

/// A double that counts into `calls`.
pub(crate) fn double(calls: &Calls) -> Double {
    Double {
        calls: calls.clone(),
        refused: Vec::new(),
        stores: 0,
        started: false,
        next_tx: 0,
        under_way: BTreeMap::new(),
    }
}
