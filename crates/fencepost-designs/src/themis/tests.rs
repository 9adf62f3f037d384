use super::llc::ThemisLlc;
use super::parked::{TRANSFER_DELAY, WBB_DELAY};
use super::*;
use crate::info::MachineShape;
use crate::registry::find;
use crate::testkit::{Bench, Call, dram_line, filled, pm_line};
use crate::x86::stat;
use fencepost_kernel::params::Raw;
use fencepost_kernel::{CoreId, HwThread, LineAddr, Ps};
use fencepost_machine::seam::{Access, Cause, Design, Exit, Gate, Level, Way, Why};

const L1: Level = Level::L1(CoreId(0));

fn shape() -> MachineShape {
    MachineShape {
        cycle: Ps(1000),
        ..MachineShape::default()
    }
}
/// An entry is acknowledged when the controller takes it.
fn params() -> ThemisParams {
    ThemisParams {
        ack_return: Ps::ZERO,
        ..ThemisParams::default()
    }
}
fn bench() -> Bench<Themis> {
    let mut b = Bench::new(Themis::new(params(), shape()), 8, 1, 64);
    b.cx.durable_on_accept = true;
    b
}
fn nt<D: Design>(b: &mut Bench<D>, hw_thread: u8, line: u64) -> Gate {
    b.design
        .nt_store(&mut b.cx, HwThread(hw_thread), pm_line(line), &filled(line), 1)
}
/// A store to a line whose word of the way is `meta`; the word afterwards.
fn store<D: Design>(b: &mut Bench<D>, hw_thread: u8, line: LineAddr, mut meta: u32) -> u32 {
    let access = Access::Store;
    assert_eq!(
        b.design.may_access(&mut b.cx, HwThread(hw_thread), line, access),
        Gate::Go
    );
    b.design
        .performed(&mut b.cx, HwThread(hw_thread), line, access, &mut meta);
    meta
}
fn leave<D: Design>(b: &mut Bench<D>, from: Level, line: LineAddr, meta: u32, why: Why) -> Gate {
    let way = Way {
        line,
        dirty: true,
        meta,
        frozen: false,
    };
    let gate = b.design.may_leave(&mut b.cx, from, &way, why);
    if gate == Gate::Go {
        let exit = b.design.leaving(&mut b.cx, from, &way, &filled(0), why);
        assert_eq!(exit, Exit::DownUnmarked);
    }
    gate
}
const WAITS: Gate = Gate::Wait(Cause::OrderPending);

#[test]
fn a_line_waits_for_the_entries_before_its_last_store() {
    for why in [
        Why::Replaced,
        Why::Cleaned,
        Why::TakenBy(CoreId(1)),
        Why::Downgraded(CoreId(1)),
    ] {
        let mut b = bench();
        nt(&mut b, 0, 100);
        nt(&mut b, 0, 101);
        let tag = store(&mut b, 0, pm_line(1), 0);
        nt(&mut b, 0, 102); // younger: not waited for
        assert_eq!(leave(&mut b, L1, pm_line(1), tag, why), WAITS);
        b.run_until(Ps::from_ns(24)); // the first is acknowledged
        assert!(b.cx.calls.contains(&Call::Release(Some(CoreId(0)))));
        assert_eq!(leave(&mut b, L1, pm_line(1), tag, why), WAITS);
        b.run_until(Ps::from_ns(28)); // the second
        assert_eq!(leave(&mut b, L1, pm_line(1), tag, why), Gate::Go);
        let transfer = matches!(why, Why::TakenBy(_) | Why::Downgraded(_));
        let histogram = if transfer { TRANSFER_DELAY } else { WBB_DELAY };
        assert_eq!(b.cx.samples[&histogram], [28], "cycles of 1 ns");
        let counter = if transfer {
            stat::TRANSFERS_DELAYED
        } else {
            stat::WRITEBACKS_DELAYED
        };
        assert_eq!(b.cx.counters[&counter], 1);
    }
}

#[test]
fn lines_that_depend_on_nothing_leave_at_once() {
    let mut b = bench();
    let before = store(&mut b, 0, pm_line(1), 0);
    nt(&mut b, 0, 100);
    assert_eq!(before, 0);
    assert_eq!(leave(&mut b, L1, pm_line(1), before, Why::Replaced), Gate::Go);
    // THM-SEM5: volatile lines carry no tag and are never asked to wait, whatever their word says.
    assert_eq!(store(&mut b, 0, dram_line(1), 0), 0);
    assert_eq!(leave(&mut b, L1, dram_line(1), 1, Why::Replaced), Gate::Go);
    // The tag means this core's buffer only, and nothing below the private caches.
    let tag = store(&mut b, 0, pm_line(2), 0);
    assert_eq!(leave(&mut b, Level::Llc, pm_line(2), tag, Why::Replaced), Gate::Go);
    assert_eq!(store(&mut b, 1, pm_line(3), 0), 0);
    assert_eq!(
        b.cx.samples[&WBB_DELAY],
        [0],
        "one persistent line left a private cache"
    );
}

#[test]
fn a_store_renews_the_tag_of_its_line() {
    let mut b = bench();
    nt(&mut b, 0, 100);
    let first = store(&mut b, 0, pm_line(1), 0);
    nt(&mut b, 0, 101);
    let second = store(&mut b, 0, pm_line(1), first);
    b.run_until(Ps::from_ns(24));
    assert_eq!(leave(&mut b, L1, pm_line(1), first, Why::Replaced), Gate::Go);
    assert_eq!(leave(&mut b, L1, pm_line(1), second, Why::Replaced), WAITS);
}

/// A line taken back from the write-back buffer has its old tag (the machine keeps the word of the way).
#[test]
fn a_line_taken_back_still_waits() {
    let mut b = bench();
    nt(&mut b, 0, 100);
    let tag = store(&mut b, 0, pm_line(1), 0);
    assert_eq!(leave(&mut b, L1, pm_line(1), tag, Why::Replaced), WAITS);
    // Loaded again from the buffer, replaced again.
    assert_eq!(leave(&mut b, L1, pm_line(1), tag, Why::Replaced), WAITS);
    b.run_until(Ps::from_ns(24));
    assert_eq!(leave(&mut b, L1, pm_line(1), tag, Why::Replaced), Gate::Go);
    assert_eq!(b.cx.samples[&WBB_DELAY], [24]);
}

/// THM-SEM4: four full uses, forced drain, all acknowledged, pointers and tags cleared; stores wait meanwhile.
#[test]
fn thm_sem4_overflow_drains_and_clears() {
    let mut b = bench();
    let mut tag = 0;
    for k in 0..64u64 {
        assert_eq!(nt(&mut b, 0, 100 + k), Gate::Go);
        if k == 62 {
            tag = store(&mut b, 0, pm_line(1), 0);
        }
        if k % 8 == 7 && k < 63 {
            b.run_for(Ps::from_ns(60));
        }
    }
    assert_eq!(tag & 0xffff, 63, "the largest tag that six bits hold");
    assert_eq!(nt(&mut b, 0, 7), Gate::Wait(Cause::WcbWrap));
    let may_store = |b: &mut Bench<Themis>, hw_thread, line| {
        b.design.may_access(&mut b.cx, HwThread(hw_thread), line, Access::Store)
    };
    assert_eq!(may_store(&mut b, 0, pm_line(1)), Gate::Wait(Cause::WcbWrap));
    assert_eq!(may_store(&mut b, 0, dram_line(1)), Gate::Go, "volatile stores go on");
    assert_eq!(may_store(&mut b, 1, pm_line(1)), Gate::Go, "so do other cores");
    assert_eq!(
        b.design.may_access(&mut b.cx, HwThread(0), pm_line(1), Access::Load),
        Gate::Go
    );
    assert_eq!(leave(&mut b, L1, pm_line(1), tag, Why::Replaced), WAITS);
    let cleared = |b: &Bench<Themis>| b.cx.calls.contains(&Call::ClearMeta(L1));
    assert!(!cleared(&b));
    b.run_for(Ps::from_ns(200));
    assert!(cleared(&b) && b.cx.kicked[0]);
    assert_eq!(b.cx.counters[&stat::WRAPS], 1);
    // What waits in the write-back buffer with a tag from before is released, although headACK is zero again.
    assert_eq!(nt(&mut b, 0, 7), Gate::Go);
    assert_eq!(leave(&mut b, L1, pm_line(1), tag, Why::Replaced), Gate::Go);
    let fresh = store(&mut b, 0, pm_line(2), 0);
    assert_eq!(fresh & 0xffff, 1);
    assert_eq!(leave(&mut b, L1, pm_line(2), fresh, Why::Replaced), WAITS);
}

/// At the shared cache a line waits for every core that stored to it, and moves freely until it leaves for memory.
#[test]
fn enforcing_at_the_shared_cache_keeps_one_tag_per_core() {
    let mut b = Bench::new(ThemisLlc::new(params(), shape()), 8, 1, 64);
    b.cx.durable_on_accept = true;
    nt(&mut b, 0, 100);
    store(&mut b, 0, pm_line(1), 0);
    b.run_until(Ps::from_ns(10));
    nt(&mut b, 1, 101);
    for why in [Why::Replaced, Why::TakenBy(CoreId(1)), Why::Downgraded(CoreId(1))] {
        assert_eq!(leave(&mut b, L1, pm_line(1), 0, why), Gate::Go);
    }
    assert_eq!(leave(&mut b, Level::Llc, dram_line(1), 0, Why::Replaced), Gate::Go);
    assert_eq!(b.cx.counters.get(&stat::WRITEBACKS), None, "nothing persistent left");
    store(&mut b, 1, pm_line(1), 0);
    let memory = |b: &mut Bench<ThemisLlc>| leave(b, Level::Llc, pm_line(1), 0, Why::Replaced);
    assert_eq!(memory(&mut b), WAITS);
    assert_eq!(
        leave(&mut b, L1, pm_line(1), 0, Why::Cleaned),
        WAITS,
        "a flush goes to memory"
    );
    b.run_until(Ps::from_ns(24));
    assert_eq!(memory(&mut b), WAITS, "core 1's entry is still out");
    b.run_until(Ps::from_ns(34));
    assert_eq!(memory(&mut b), Gate::Go);
    assert_eq!(b.cx.counters[&stat::WRITEBACKS], 1);
}

/// What a stuck machine says of lines that may not leave.
#[test]
fn lines_that_wait_to_leave_are_counted() {
    let mut b = Bench::new(ThemisLlc::new(params(), shape()), 8, 1, 64);
    b.cx.durable_on_accept = true;
    nt(&mut b, 0, 100);
    for line in 1..4 {
        store(&mut b, 0, pm_line(line), 0);
        for _ in 0..2 {
            assert_eq!(leave(&mut b, Level::Llc, pm_line(line), 0, Why::Replaced), WAITS);
        }
    }
    let said = b.design.explain(HwThread(0)).expect("lines wait");
    assert!(said.contains("3 lines wait"), "{said}");
}

/// THM-HW-4b, 6b, 8b, 10b, HW1: a tail pointer per line of a 64 KiB cache.
#[test]
fn thm_hw_storage_per_data_cache() {
    for (bits, kib) in [("4", 0.5), ("6", 0.75), ("8", 1.0), ("10", 1.25)] {
        let settings = [("pointer_bits".to_string(), Raw::Text(bits.into()))];
        let items = cost(&settings, MachineShape::default()).unwrap();
        assert_eq!(items[0].bits as f64 / 8192.0, kib, "{bits} bits");
        assert_eq!(items[0].paper_bits, Some(items[0].bits));
        let share = items[0].bits as f64 / (64.0 * 8192.0) * 100.0;
        assert!(bits != "6" || (share - 1.2).abs() < 0.05, "{share} %");
    }
    // The paper: 32 times more lines at the shared cache, and one pointer per core.
    let llc = (find("themis-llc").expect("registered").cost)(&[], MachineShape::default()).unwrap();
    let (lines, cores) = (131_072, 8);
    assert!(llc.iter().any(|i| i.bits == lines * cores * 6));
}

#[test]
fn pointers_too_narrow_for_the_index_are_refused() {
    let build = |bits: i64, entries: i64| {
        let settings = [
            ("pointer_bits".to_string(), Raw::Int(bits)),
            ("wcb_entries".to_string(), Raw::Int(entries)),
        ];
        (INFO.build)(&settings, MachineShape::default())
            .err()
            .map(|e| e.to_string())
    };
    assert_eq!(build(4, 16), None);
    assert_eq!(build(1, 1), None);
    assert!(build(3, 16).expect("refused").contains("expected 4"));
    assert!(build(16, 16).is_some() && build(0, 1).is_some());
}
