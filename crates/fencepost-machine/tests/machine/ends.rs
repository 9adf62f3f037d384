//! How runs end: with their threads, at a deadline, after the time to measure, or stuck, and then with the reason.

use super::common::{Plain, SITES, body, dram, pm};
use fencepost_kernel::{Fence, HwThread, Image, Mem as _, Ps, Val};
use fencepost_machine::seam::{Cx, Design, Gate, Instr};
use fencepost_machine::{Machine, MachineSpec, RunError, RunReport, ThreadBody, Workload};
use std::rc::Rc;
use std::time::Instant;

/// A machine on which a thread stores and fences as often as is asked, and then does what else is given.
fn machine(design: impl Design + 'static, times: u64, record: bool) -> Machine {
    let thread: ThreadBody = body(move |m| {
        for i in 0..times {
            m.store(dram(i % 8 * 64), Val::lit(i));
            m.store(pm(i % 8 * 64), Val::lit(i));
            m.fence(Fence::Sfence);
        }
    });
    let work = Workload {
        initial: Image::default(),
        threads: vec![thread],
        sites: Rc::from(SITES),
        resident: Default::default(),
        warm_up: 0,
        record,
    };
    Machine::new(&MachineSpec::default(), Box::new(design), work).expect("a machine")
}
fn why(ended: Result<RunReport, RunError>) -> String {
    ended.expect_err("it does not end").to_string()
}

#[test]
fn a_deadline_that_has_passed_ends_a_run_at_the_next_look() {
    let until = |deadline| machine(Plain, 20_000, false).run_until(deadline);
    let whole = until(None).expect("it ends");
    assert!(whole.events > 1 << 15, "the clock is looked at twice: {}", whole.events);
    let past = until(Some(Instant::now()));
    assert!(matches!(past, Err(RunError::OutOfTime)), "{past:?}");
    let ample = until(Instant::now().checked_add(std::time::Duration::from_secs(3600)));
    assert_eq!(ample.expect("it ends").time, whole.time);
}

#[test]
fn a_run_is_measured_for_as_long_as_was_asked() {
    let whole = machine(Plain, 2000, false).run().expect("it ends");
    let time = Ps(whole.time.0 / 2);
    let half = machine(Plain, 2000, false).measured_for(time).run().expect("it ends");
    assert_eq!(half.time, time);
    assert!(half.instructions() < whole.instructions() && half.instructions() > 0);
    let longer = machine(Plain, 2000, false)
        .measured_for(whole.time + Ps::from_ns(1_000_000))
        .run();
    assert!(matches!(longer, Err(RunError::OutOfWork)), "{longer:?}");
}

/// Refuses fences, and goes about it in one of several ways.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Never {
    /// Nobody is ever asked again.
    Silent,
    /// Everyone is asked again at once, for ever.
    AtOnce,
    /// The same a little later, for ever.
    Later,
    /// Fences complete, and the design never says that it has drained.
    Drained,
}
impl Design for Never {
    fn instr(&mut self, cx: &mut dyn Cx, _: HwThread, instr: Instr) -> Gate {
        if *self == Never::Drained || !matches!(instr, Instr::Fence(_)) {
            return Gate::Go;
        }
        let at = match self {
            Never::AtOnce => cx.now(),
            _ => cx.now() + Ps::from_ns(1),
        };
        if *self != Never::Silent {
            cx.timer(at, 0);
        }
        Gate::Wait(fencepost_machine::seam::Cause::OrderPending)
    }
    fn timer(&mut self, cx: &mut dyn Cx, _: u64) {
        cx.kick(None);
    }
    fn drain(&mut self, _: &mut dyn Cx) -> bool {
        *self != Never::Drained
    }
}

#[test]
fn a_machine_that_is_stuck_says_why() {
    let ended = |design| why(machine(design, 3, true).run());
    for (design, reason) in [
        (Never::Silent, "nothing is scheduled"),
        (Never::AtOnce, "time stands still"),
        (Never::Later, "nothing commits and nothing becomes durable"),
        (Never::Drained, "the design never finished draining"),
    ] {
        let said = ended(design);
        assert!(said.contains(reason), "{reason}: {said}");
    }
}
