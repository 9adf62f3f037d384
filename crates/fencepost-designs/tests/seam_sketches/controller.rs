//! Sketches of BROI and per-task committing: order kept at the controller and the network port.

use super::write;
use fencepost_designs::testkit::*;
use fencepost_kernel::*;
use fencepost_machine::seam::*;
use std::collections::{BTreeMap, VecDeque};

// ---- BROI: the controller picks by bank and barrier; remote epochs arrive through the network port

#[derive(Default)]
struct BroiSketch {
    barrier: BTreeMap<u8, Epoch>,
    remote: VecDeque<(RemoteWrite, usize)>,
    lost: u32,
}
impl Design for BroiSketch {
    fn hooks(&self) -> Hooks {
        Hooks {
            issue: true,
            writes: true,
            ..Hooks::default()
        }
    }
    fn may_issue(&self, _: WriteId, w: &Write) -> bool {
        let open = w.hart.and_then(|h| self.barrier.get(&h.0));
        open.is_none_or(|ready| w.epoch.is_none_or(|e| e <= *ready))
    }
    fn remote_write(&mut self, cx: &mut dyn Cx, w: RemoteWrite, data: &[LineData]) -> Gate {
        if cx.queued(0) >= 4 {
            return Gate::Wait(Cause::RemotePending);
        }
        for (i, d) in data.iter().enumerate() {
            let line = LineAddr(w.base.line().0 + i as u64);
            let bank = cx.bank(line) % cx.banks();
            cx.sample(0, u64::from(bank));
            cx.ddio_fill(line, d);
        }
        self.remote.push_back((w, data.len()));
        Gate::Go
    }
    fn ddio_filled(&mut self, cx: &mut dyn Cx, line: LineAddr) {
        let data = cx.coherent(line);
        let _ = cx.write(write(line, data, 0, WriteCause::Remote, None));
    }
    fn durable(&mut self, cx: &mut dyn Cx, _: WriteId, w: &Write) {
        if let Some(hart) = w.hart {
            self.barrier.insert(hart.0, Epoch(w.epoch.map_or(0, |e| e.0) + 1));
            cx.kick_writes();
        }
        if w.cause == WriteCause::Remote
            && let Some((remote, left)) = self.remote.front_mut()
        {
            *left -= 1;
            if *left == 0 {
                cx.acknowledge_remote(remote.channel, remote.sequence);
                self.remote.pop_front();
            }
        }
    }
    fn remote_lost(&mut self, _: &mut dyn Cx, _: u8) {
        self.lost += 1;
        self.remote.clear();
    }
}

#[test]
fn broi_orders_its_own_entries_and_acknowledges_remote_epochs() {
    let mut b = Bench::new(BroiSketch::default(), 2, 1, 64);
    b.design.barrier.insert(1, Epoch(0));
    let late = Write {
        epoch: Some(Epoch(1)),
        ..write(pm_line(9), filled(1), 0, WriteCause::Persist, Some(HartId(1)))
    };
    assert!(!b.design.may_issue(WriteId(0), &late));
    let remote = RemoteWrite {
        channel: 1,
        base: pm_line(0).base(),
        len: 128,
        sequence: 5,
    };
    assert_eq!(
        b.design.remote_write(&mut b.cx, remote, &[filled(1), filled(2)]),
        Gate::Go
    );
    for line in [pm_line(0), pm_line(1)] {
        b.design.ddio_filled(&mut b.cx, line);
    }
    b.run_for(Ps(1));
    for _ in 0..2 {
        let id = b.candidates()[0];
        b.write_to_device(id);
    }
    assert!(b.cx.calls.contains(&Call::AcknowledgeRemote(1, 5)));
    b.design.remote_lost(&mut b.cx, 1);
    assert_eq!(b.design.lost, 1);
}

// ---- Per-task committing: sub-queues by range, credits at both controllers

struct FgcSketch {
    ranges: Vec<(Addr, u64, QueueId)>,
    credit: [u16; 9],
    committing: [bool; 9],
}
impl Design for FgcSketch {
    fn hooks(&self) -> Hooks {
        Hooks {
            writes: true,
            ..Hooks::default()
        }
    }
    fn queue_plan(&self) -> QueuePlan {
        QueuePlan {
            queues: 9,
            entries_each: Some(8),
            ..QueuePlan::default()
        }
    }
    fn bind(&mut self, _: &mut dyn Cx, _: HartId, base: Addr, len: u64) -> QueueId {
        let used = |q: u8| self.ranges.iter().filter(|r| r.2 == QueueId(q)).count();
        let queue = QueueId((0..8).min_by_key(|q| used(*q)).unwrap_or(0));
        self.ranges.push((base, len, queue));
        queue
    }
    fn route(&self, line: LineAddr) -> u8 {
        let at = line.base().0;
        let bound = self.ranges.iter().find(|r| (r.0.0..r.0.0 + r.1).contains(&at));
        bound.map_or(8, |r| r.2.0)
    }
    fn admit(&mut self, _: &mut dyn Cx, w: &Write) -> Gate {
        match usize::from(w.queue) {
            q if self.committing[q] => Gate::Wait(Cause::CommitPending),
            q if self.credit[q] == 0 => Gate::Wait(Cause::Credit),
            _ => Gate::Go,
        }
    }
    fn accepted(&mut self, _: &mut dyn Cx, _: WriteId, w: &Write) {
        self.credit[usize::from(w.queue)] -= 1;
    }
    fn module_accepted(&mut self, cx: &mut dyn Cx, _: WriteId, _: &Write) {
        cx.count(0, 1);
    }
    fn instr(&mut self, cx: &mut dyn Cx, _: HartId, instr: Instr) -> Gate {
        match instr {
            Instr::CommitQueue(q) if !self.committing[usize::from(q.0)] => {
                self.committing[usize::from(q.0)] = true;
                cx.gate_queue(q.0, false);
                cx.read(LineAddr(u64::from(q.0)), u64::from(q.0));
                Gate::Wait(Cause::CommitPending)
            }
            Instr::CommitQueue(q) if self.credit[usize::from(q.0)] < 8 || cx.queued(q.0) > 0 => {
                Gate::Wait(Cause::CommitPending)
            }
            Instr::CommitQueue(q) => {
                self.committing[usize::from(q.0)] = false;
                cx.gate_queue(q.0, true);
                Gate::Go
            }
            Instr::ReleaseQueue(q) => {
                self.ranges.retain(|r| r.2 != q);
                Gate::Go
            }
            _ => Gate::Go,
        }
    }
    fn read_done(&mut self, cx: &mut dyn Cx, tag: u64, _: LineAddr, _: &LineData) {
        self.credit[tag as usize] = 8;
        cx.kick(None);
    }
}

#[test]
fn per_task_commit_gates_its_queue_until_credits_are_back() {
    let design = FgcSketch {
        ranges: Vec::new(),
        credit: [8; 9],
        committing: [false; 9],
    };
    let mut b = Bench::new(design, 1, 1, 8);
    let q = b.design.bind(&mut b.cx, HartId(0), pm_line(0).base(), 4096);
    assert_eq!((b.design.route(pm_line(3)), b.design.route(pm_line(100))), (q.0, 8));
    b.cx.lines.insert(pm_line(3), filled(3));
    b.cx.clean(HartId(0), pm_line(3), CleanKind::Invalidate, 0);
    assert!(b.finish_clean(true));
    let commit = Instr::CommitQueue(q);
    assert_eq!(b.instr(0, commit), Gate::Wait(Cause::CommitPending));
    let id = b.candidates()[0];
    b.write_to_device(id);
    assert_eq!(
        b.instr(0, commit),
        Gate::Wait(Cause::CommitPending),
        "the credits are not back"
    );
    b.finish_read();
    assert_eq!(b.instr(0, commit), Gate::Go);
}
