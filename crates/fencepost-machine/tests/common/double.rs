//! The recording double: a design that wants every hook.

use fencepost_kernel::{Addr, HartId, Image, LineAddr, LineData, Ps, QueueId, TxId};
use fencepost_machine::seam::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Calls seen so far, by hook.
pub type Calls = Rc<RefCell<BTreeMap<&'static str, u64>>>;

/// Wants every hook, counts the calls, and refuses each kind of question once so that asking again is seen too.
pub struct Double {
    calls: Calls,
    refused: Vec<&'static str>,
    forked: bool,
    started: bool,
    next_tx: u32,
    room_seen: bool,
}
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
            hart: Some(HartId(0)),
            delay: Ps::from_ns(3),
        };
        let before = usize::from(cx.queued(0));
        let accepted = (0..1000).take_while(|i| cx.write(write(*i)).is_ok()).count();
        assert!(accepted > 0 && accepted < 1000, "the write queue is bounded");
        assert_eq!(usize::from(cx.queued(0)), before + accepted);
        let epoch = cx.end_epoch(0);
        assert!(epoch >= cx.active_epoch(0) && epoch == cx.open_epoch(0));
        cx.when_drained(DrainScope::AcceptedSoFar(None), 9);
        cx.when_drained(DrainScope::Empty(Some(0)), 10);
        assert!(cx.banks() > 0 && cx.bank(line) < cx.banks());
        assert!(!cx.durable_on_accept());
        cx.durable_elsewhere(LineAddr(line.0 + 5000), &LineData::default());
        cx.clean(HartId(0), Addr::pm(1 << 20).line(), CleanKind::KeepExclusive, 11);
        cx.count(0, 1);
        cx.sample(0, 42);
    }
}

impl Design for Double {
    fn hooks(&self) -> Hooks {
        Hooks {
            gates: true,
            loads: true,
            stores: true,
            snoops: true,
            holds: true,
            leaving: true,
            versions: true,
            reads: true,
            writes: true,
            issue: true,
        }
    }
    fn queue_plan(&self) -> QueuePlan {
        self.saw("queue_plan");
        QueuePlan::default()
    }
    fn instr(&mut self, cx: &mut dyn Cx, hart: HartId, instr: Instr) -> Gate {
        self.start(cx);
        let hook = match instr {
            Instr::Flush(line, _) => {
                if self.refused.contains(&"flush") {
                    cx.clean(hart, line, CleanKind::KeepShared, 3);
                }
                "flush"
            }
            Instr::Fence(_) => "fence",
            Instr::Locked => "locked",
            Instr::TxCommit(_) => "tx_commit",
            Instr::TxAbort(tx) => {
                if self.refused.contains(&"tx_abort") {
                    cx.roll_back(hart, tx);
                }
                "tx_abort"
            }
            Instr::TxFlush => "tx_flush",
            Instr::CommitQueue(_) => "commit_queue",
            Instr::ReleaseQueue(_) => "release_queue",
        };
        self.gate(cx, hook)
    }
    fn tx_begin(&mut self, cx: &mut dyn Cx, _: HartId) -> TxStart {
        if self.once(cx, "tx_begin") {
            return TxStart::Wait(Cause::WindowFull);
        }
        self.next_tx += 1;
        TxStart::Go(TxId(self.next_tx))
    }
    fn bind(&mut self, _: &mut dyn Cx, _: HartId, _: Addr, _: u64) -> QueueId {
        self.saw("bind");
        QueueId(3)
    }
    fn nt_store(&mut self, cx: &mut dyn Cx, hart: HartId, line: LineAddr, data: &LineData, mask: u8) -> Gate {
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
            hart: Some(hart),
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
    fn may_access(&mut self, cx: &mut dyn Cx, _: HartId, _: LineAddr, access: Access) -> Gate {
        self.gate(
            cx,
            if access == Access::Load {
                "may_load"
            } else {
                "may_store"
            },
        )
    }
    fn performed(
        &mut self,
        cx: &mut dyn Cx,
        hart: HartId,
        line: LineAddr,
        access: Access,
        now: &LineData,
        meta: &mut u32,
    ) {
        self.saw(if access == Access::Load {
            "performed_load"
        } else {
            "performed_store"
        });
        if access == Access::Store {
            assert_eq!(now.words, cx.coherent(line).words);
            *meta = 5;
        }
        if self.once(cx, "block_l1") {
            cx.block_l1(cx.core_of(hart), Some(Cause::L1Blocked));
            let at = cx.now() + Ps::from_ns(30);
            cx.timer(at, 2);
        }
    }
    fn place(&mut self, _: &mut dyn Cx, _: HartId, way: &Way) -> Place {
        self.saw("place");
        assert!(!way.frozen);
        if !way.dirty {
            return Place::Here;
        }
        if std::mem::replace(&mut self.forked, true) {
            Place::Here
        } else {
            Place::Fork
        }
    }
    fn snooped(&mut self, cx: &mut dyn Cx, _: HartId, _: LineAddr, _: Snoop) -> SnoopAnswer {
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
    fn victim(&mut self, level: Level, ways: &[Way]) -> Option<usize> {
        self.saw("victim");
        assert!(matches!(level, Level::L1(_)) && !ways.is_empty());
        // Prefer the frozen version, so that overflow is seen.
        ways.iter().position(|w| w.frozen)
    }
    fn cleaned(&mut self, _: &mut dyn Cx, _: HartId, tag: u64, found: Option<&LineData>) {
        self.saw(if found.is_some() {
            "cleaned_found"
        } else {
            "cleaned_nothing"
        });
        assert!(tag == 3 || tag == 11);
    }
    fn read_missed(&mut self, _: &mut dyn Cx, _: HartId, _: LineAddr) -> bool {
        self.saw("read_missed");
        false
    }
    fn route(&self, _: LineAddr) -> u8 {
        self.saw("route");
        0
    }
    fn admit(&mut self, cx: &mut dyn Cx, _: &Write) -> Gate {
        if self.once(cx, "admit") {
            return Gate::Wait(Cause::CommitExclusive);
        }
        Gate::Go
    }
    fn accepted(&mut self, _: &mut dyn Cx, _: WriteId, _: &Write) {
        self.saw("accepted");
    }
    fn may_issue(&self, _: WriteId, _: &Write) -> bool {
        self.saw("may_issue");
        true
    }
    fn durable(&mut self, _: &mut dyn Cx, _: WriteId, _: &Write) {
        self.saw("durable");
    }
    fn write_room(&mut self, _: &mut dyn Cx, _: u8) {
        self.room_seen = true;
        self.saw("write_room");
    }
    fn drained(&mut self, _: &mut dyn Cx, tag: u64) {
        self.saw(if tag == 9 { "drained_snapshot" } else { "drained_empty" });
    }
    fn owned_read(&mut self, cx: &mut dyn Cx, line: LineAddr) -> Option<LineData> {
        self.saw("owned_read");
        (line == cx.log_area().0.line()).then(LineData::default)
    }
    fn read_done(&mut self, _: &mut dyn Cx, tag: u64, _: LineAddr, _: &LineData) {
        self.saw(if tag == 7 {
            "read_done_owned"
        } else {
            "read_done_memory"
        });
    }
    fn remote_write(&mut self, cx: &mut dyn Cx, write: RemoteWrite, data: &[LineData]) -> Gate {
        if self.once(cx, "remote_write") {
            return Gate::Wait(Cause::RemotePending);
        }
        cx.ddio_fill(write.base.line(), &data[0]);
        cx.acknowledge_remote(write.channel, write.sequence);
        Gate::Go
    }
    fn ddio_filled(&mut self, _: &mut dyn Cx, _: LineAddr) {
        self.saw("ddio_filled");
    }
    fn remote_lost(&mut self, _: &mut dyn Cx, channel: u8) {
        self.saw("remote_lost");
        assert_eq!(channel, 1);
    }
    fn timer(&mut self, cx: &mut dyn Cx, tag: u64) {
        self.saw("timer");
        if tag == 2 {
            for c in 0..2 {
                cx.block_l1(fencepost_kernel::CoreId(c), None);
            }
        }
        cx.kick(None);
        cx.kick_writes();
    }
    fn drain(&mut self, _: &mut dyn Cx) -> bool {
        self.saw("drain");
        true
    }
    fn recover(&self, image: &mut Image) {
        self.saw("recover");
        image.set_word(Addr::pm(8), 1, None);
    }
    fn stats(&self) -> &'static [StatInfo] {
        &[StatInfo {
            name: "seen",
            unit: "1",
            doc: "Counts one.",
        }]
    }
    fn histograms(&self) -> &'static [StatInfo] {
        &[StatInfo {
            name: "values",
            unit: "1",
            doc: "One sample.",
        }]
    }
    fn explain(&self, _: HartId) -> Option<String> {
        self.saw("explain");
        Some("the double waits for nobody".into())
    }
}

/// A double that counts into `calls`.
pub fn double(calls: &Calls) -> Double {
    Double {
        calls: calls.clone(),
        refused: Vec::new(),
        forked: false,
        started: false,
        next_tx: 0,
        room_seen: false,
    }
}
