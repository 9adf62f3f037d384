//! Flow control of the design's own between controller and module: credits that only reads bring up to date.

use super::util::round::*;
use super::util::*;
use fencepost_kernel::Ps;
use fencepost_machine::memory::*;
use fencepost_machine::seam::QueuePlan;
use std::collections::VecDeque;

/// Credits of one queue: the controller's copy, the module's, and what is on its way back.
#[derive(Debug)]
struct Credits {
    copy: u16,
    freed: u16,
    under_way: VecDeque<(Ps, u16)>,
    asked: bool,
    /// Whether it asks at all.
    asks: bool,
}
impl FlowControl for Credits {
    fn may_send(&self, _: u8) -> bool {
        self.copy > 0
    }
    fn sent(&mut self, _: u8) {
        self.copy -= 1;
    }
    fn freed(&mut self, _: u8) {
        self.freed += 1;
    }
    fn read_reached(&mut self, _: Ps, arrives: Ps, query: bool) {
        self.asked |= query;
        self.under_way.push_back((arrives, std::mem::take(&mut self.freed)));
    }
    fn arrived(&mut self, now: Ps) -> bool {
        while let Some((_, n)) = self.under_way.front().copied().filter(|x| x.0 <= now) {
            self.under_way.pop_front();
            self.copy += n;
            self.asked = false;
        }
        false
    }
    fn wants_query(&self) -> bool {
        self.asks && self.copy == 0 && self.freed > 0 && !self.asked
    }
}

const TRANSFER: u64 = 20_000;

fn harness(credits: u16, asks: bool) -> Harness {
    let module = ModuleSpec {
        entries: 8,
        transfer: Ps(TRANSFER),
        slot: Ps(BURST),
        ..ModuleSpec::default()
    };
    let c = Controller::new(&bare(), &media(), &QueuePlan::default(), true).unwrap();
    let flow = Credits {
        copy: credits,
        freed: 0,
        under_way: VecDeque::new(),
        asked: false,
        asks,
    };
    let mut h = Harness::new(&bare(), &media());
    h.c = c.with_module(&module).unwrap().with_flow_control(Box::new(flow));
    h
}
fn left(h: &Harness) -> Vec<u64> {
    let pick = |e: &(u64, MemEvent)| matches!(e.1, MemEvent::ModuleAccepted { .. }).then(|| e.0 - TRANSFER);
    h.events.iter().filter_map(pick).collect()
}
/// From leaving the controller to stored, in a bank with its row closed.
const STORE: u64 = TRANSFER + RCD + CWL + BURST;

#[test]
fn a_write_waits_until_a_query_has_brought_a_credit_back() {
    let mut h = harness(1, true);
    for bank in 0..2 {
        h.write(0, write(at(bank, 0, 0), bank, None));
    }
    h.finish();
    // Stored; the query goes out as soon as the bus has turned, and its data takes tCL and the burst.
    let turned = TRANSFER + RCD + CWL + BURST + WTR;
    assert_eq!(left(&h), [0, turned + CL + BURST]);
    assert_eq!(h.durable_time(1), turned + CL + BURST + STORE);
}

#[test]
fn a_read_of_data_brings_the_credit_as_well() {
    let mut h = harness(1, false);
    for bank in 0..2 {
        h.write(0, write(at(bank, 0, 0), bank, None));
    }
    h.run_until(1_000_000);
    assert_eq!(
        left(&h),
        [0],
        "nobody has told the controller that the first write is stored"
    );
    let read = h.read_alone(1_000_000, at(3, 0, 0));
    assert_eq!(left(&h), [0, read]);
}

#[test]
fn with_credits_left_nothing_is_asked() {
    let mut h = harness(2, true);
    for bank in 0..2 {
        h.write(0, write(at(bank, 0, 0), bank, None));
    }
    h.finish();
    assert_eq!(left(&h), [0, BURST], "a line crosses the link after the other");
}

/// Asks again as soon as it has its answer.
#[derive(Debug, Default)]
struct Curious {
    until: Ps,
}
impl FlowControl for Curious {
    fn may_send(&self, _: u8) -> bool {
        true
    }
    fn sent(&mut self, _: u8) {}
    fn freed(&mut self, _: u8) {}
    fn read_reached(&mut self, _: Ps, arrives: Ps, _: bool) {
        self.until = arrives;
    }
    fn arrived(&mut self, now: Ps) -> bool {
        if self.until <= now {
            self.until = Ps::ZERO;
        }
        false
    }
    fn wants_query(&self) -> bool {
        self.until == Ps::ZERO
    }
}

/// The bus turns to writes more slowly than queries follow one another: a write still goes once it has waited as long as one may behind reads.
#[test]
fn queries_without_end_let_a_write_go() {
    let slow = MediaSpec {
        t_rtw: Ps(CL + 10 * BURST),
        ..media()
    };
    let waits = |limit: u64| {
        let spec = ControllerSpec {
            write_wait_max: Ps(limit),
            ..bare()
        };
        let module = ModuleSpec {
            entries: 8,
            transfer: Ps(TRANSFER),
            slot: Ps(BURST),
            ..ModuleSpec::default()
        };
        let c = Controller::new(&spec, &slow, &QueuePlan::default(), true).unwrap();
        let mut h = Harness::new(&spec, &slow);
        h.c = c
            .with_module(&module)
            .unwrap()
            .with_flow_control(Box::new(Curious::default()));
        let id = h.write(0, write(at(0, 0, 0), 1, None));
        h.run_until(20_000_000);
        let durable =
            |e: &(u64, MemEvent)| matches!(e.1, MemEvent::Durable { id: done, .. } if done.0 == id).then_some(e.0);
        h.events.iter().find_map(durable)
    };
    assert_eq!(waits(0), None, "no limit: it waits for ever");
    for limit in [500_000, 1_000_000] {
        // One query is under way then; the bus turns after it.
        let turned = TRANSFER + limit + CL + BURST + slow.t_rtw.0 + CL + BURST;
        let done = waits(limit).expect("it goes");
        assert!((limit..turned + RCD + CWL + BURST).contains(&done), "{limit}: {done}");
    }
}
