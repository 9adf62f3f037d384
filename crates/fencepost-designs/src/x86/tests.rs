use super::*;
use crate::info::MachineShape;
use crate::registry::find;
use crate::testkit::{Bench, dram_line, filled, pm_line};
use fencepost_kernel::params::Raw;
use fencepost_kernel::{HwThread, LineAddr, Ps, Stream};
use fencepost_machine::seam::{Access, Cause, CleanKind, Design as _, Gate, Instr, Snoop, SnoopAnswer};

const SFENCE: Instr = Instr::Fence(Fence::Sfence);

fn bench(entries: u16, queue: usize) -> Bench<X86> {
    let params = X86Params {
        wcb_entries: entries,
        ack_return: Ps::ZERO,
        ..X86Params::default()
    };
    let mut b = Bench::new(X86::new(params, MachineShape::default()), 8, 1, queue);
    b.cx.durable_on_accept = true;
    b
}
fn nt(b: &mut Bench<X86>, hw_thread: u8, line: LineAddr, value: u64) -> Gate {
    b.design
        .nt_store(&mut b.cx, HwThread(hw_thread), line, &filled(value), 1)
}

#[test]
fn a_fence_waits_from_the_store_to_its_acknowledgement() {
    let mut b = bench(16, 8);
    assert_eq!(b.instr(0, SFENCE), Gate::Go);
    assert_eq!(nt(&mut b, 0, pm_line(1), 7), Gate::Go);
    assert_eq!(b.instr(0, SFENCE), Gate::Wait(Cause::WcbPending));
    assert_eq!(b.instr(0, Instr::Locked), Gate::Wait(Cause::WcbPending));
    assert_eq!(
        b.instr(1, SFENCE),
        Gate::Go,
        "another core's stores are not its business"
    );
    // 4 ns on the path, 20 ns to the acknowledgement.
    b.run_until(Ps(23_999));
    assert!(b.cx.durable_order.is_empty());
    assert_eq!(b.instr(0, SFENCE), Gate::Wait(Cause::WcbPending));
    b.cx.kicked[0] = false;
    b.run_until(Ps(24_000));
    assert!(b.cx.kicked[0]);
    assert_eq!(b.instr(0, SFENCE), Gate::Go);
    assert_eq!(b.durable_values(pm_line(1), 0), [7]);
}

/// A fence waits for what is on its way to memory where it completes flushes, and for nothing else.
#[test]
fn a_fence_that_completes_no_flush_goes_on() {
    let mut b = bench(16, 8);
    assert_eq!(nt(&mut b, 0, pm_line(1), 7), Gate::Go);
    for fence in Fence::ALL {
        let waits = fence.properties().completes_flushes;
        let expected = if waits { Gate::Wait(Cause::WcbPending) } else { Gate::Go };
        assert_eq!(b.instr(0, Instr::Fence(fence)), expected, "{fence}");
    }
}

/// Durable on acceptance; the fence waits for the way back as well, and the line is visible to other cores before.
#[test]
fn the_acknowledgement_takes_its_way_back() {
    let params = X86Params {
        ack_return: Ps::from_ns(15),
        ..X86Params::default()
    };
    let mut b = Bench::new(X86::new(params, MachineShape::default()), 8, 1, 8);
    b.cx.durable_on_accept = true;
    for line in [1, 2] {
        assert_eq!(nt(&mut b, 0, pm_line(line), 7), Gate::Go);
    }
    b.run_until(Ps::from_ns(28));
    assert_eq!(b.cx.durable_order.len(), 2);
    // The second was sent 8 ns in, accepted 20 ns later, acknowledged 15 ns after that.
    b.run_until(Ps(42_999));
    assert_eq!(b.instr(0, SFENCE), Gate::Wait(Cause::WcbPending));
    b.run_until(Ps(43_000));
    assert_eq!(b.instr(0, SFENCE), Gate::Go);
}

#[test]
fn entries_leave_in_order_and_a_gap_apart() {
    let mut b = bench(16, 8);
    for line in [5, 3, 4] {
        nt(&mut b, 0, pm_line(line), line);
    }
    nt(&mut b, 0, pm_line(4), 9); // combined
    b.run_until(Ps::from_ns(100));
    assert_eq!(b.cx.written_lines(), [5, 3, 4].map(pm_line));
    let arrived: Vec<Ps> = b.cx.writes.iter().map(|w| w.arrives).collect();
    assert_eq!(arrived, [24, 28, 32].map(Ps::from_ns));
    assert_eq!(b.durable_values(pm_line(4), 0), [9]);
    assert_eq!(
        (b.cx.counters[&stat::NT_ENTRIES], b.cx.counters[&stat::NT_COALESCED]),
        (3, 1)
    );
}

#[test]
fn a_full_buffer_refuses_and_goes_on_when_head_ack_moves() {
    let mut b = bench(1, 8);
    assert_eq!(nt(&mut b, 0, pm_line(1), 1), Gate::Go);
    b.run_until(Ps::from_ns(10)); // sent, not acknowledged
    assert_eq!(nt(&mut b, 0, pm_line(2), 2), Gate::Wait(Cause::WcbFull));
    b.run_until(Ps::from_ns(24));
    assert!(b.cx.kicked[0]);
    assert_eq!(nt(&mut b, 0, pm_line(2), 2), Gate::Go);
}

#[test]
fn a_line_is_in_one_buffer_at_a_time_and_not_served_before_it_is_sent() {
    let mut b = bench(16, 8);
    nt(&mut b, 0, pm_line(1), 1);
    assert_eq!(nt(&mut b, 1, pm_line(1), 2), Gate::Wait(Cause::WcbPending));
    assert_eq!(
        b.snoop(1, pm_line(1), Snoop::Read),
        SnoopAnswer::Wait(Cause::WcbPending)
    );
    assert_eq!(b.snoop(1, pm_line(2), Snoop::Read), SnoopAnswer::Pass);
    b.run_until(Ps::from_ns(4));
    assert!(b.cx.kicked[1], "sent: the controller can answer now");
    assert_eq!(b.snoop(1, pm_line(1), Snoop::Read), SnoopAnswer::Pass);
    assert_eq!(nt(&mut b, 1, pm_line(1), 2), Gate::Go);
    b.run_until(Ps::from_ns(100));
    assert_eq!(b.durable_values(pm_line(1), 0), [1, 2]);
}

#[test]
fn a_flush_covers_what_is_on_its_way_past_the_caches() {
    let mut b = bench(16, 8);
    nt(&mut b, 0, pm_line(1), 1);
    let flush = Instr::Flush(pm_line(1), Flush::Clwb);
    b.run_until(Ps::from_ns(20));
    assert_eq!(b.instr(1, flush), Gate::Wait(Cause::WcbPending));
    b.run_until(Ps::from_ns(24));
    assert_eq!(b.instr(1, flush), Gate::Go);
    assert_eq!(b.cx.cleans[0].kind, CleanKind::KeepExclusive);
}

#[test]
fn a_line_that_is_flushed_is_accessed_when_it_is_written_back() {
    for flush_holds in [false, true] {
        let params = X86Params {
            flush_holds,
            ..X86Params::default()
        };
        let mut b = Bench::new(X86::new(params, MachineShape::default()), 8, 1, 8);
        assert_eq!(b.design.hooks().gate_loads, flush_holds);
        b.store(0, pm_line(1), 0, 1);
        for line in [1, 2] {
            assert_eq!(b.instr(0, Instr::Flush(pm_line(line), Flush::Clwb)), Gate::Go);
        }
        let may = |b: &mut Bench<X86>, hw_thread, line| {
            [Access::Load, Access::Store].map(|a| {
                let gate = b.design.may_access(&mut b.cx, HwThread(hw_thread), pm_line(line), a);
                gate == Gate::Go
            })
        };
        assert_eq!(may(&mut b, 0, 3), [true; 2], "another line");
        assert_eq!(may(&mut b, 0, 1), [!flush_holds; 2]);
        assert_eq!(may(&mut b, 1, 2), [!flush_holds; 2], "another hardware thread's flush");
        b.cx.kicked = vec![false; 8];
        assert!(b.finish_clean(true));
        assert_eq!(
            [b.cx.kicked[0], b.cx.kicked[1]],
            [flush_holds; 2],
            "who waits is asked again"
        );
        assert_eq!(may(&mut b, 0, 1), [true; 2]);
        assert_eq!(may(&mut b, 0, 2), [!flush_holds; 2], "its own flush is not done");
        assert!(b.finish_clean(false));
        assert_eq!(may(&mut b, 0, 2), [true; 2]);
    }
}

#[test]
fn a_synchronous_flush_is_repeated_if_its_line_changed_meanwhile() {
    let mut b = bench(16, 8);
    let flush = Instr::Flush(pm_line(1), Flush::Clflush);
    b.store(0, pm_line(1), 0, 1);
    assert_eq!(b.instr(0, flush), Gate::Wait(Cause::FlushPending));
    assert!(b.finish_clean(true));
    b.store(1, pm_line(1), 0, 2);
    assert_eq!(b.instr(0, flush), Gate::Wait(Cause::FlushPending));
    assert!(b.finish_clean(true));
    assert_eq!(b.instr(0, flush), Gate::Go);
    assert_eq!(b.durable_values(pm_line(1), 0), [1, 2]);
}

/// On cores that do not keep program order several `clflush` are under way: each waits for its own.
#[test]
fn synchronous_flushes_of_one_thread_do_not_take_each_others_completion() {
    let mut b = bench(16, 8);
    let clflush = |n| Instr::Flush(pm_line(n), Flush::Clflush);
    assert_eq!(b.instr(0, clflush(1)), Gate::Wait(Cause::FlushPending));
    assert_eq!(b.instr(0, clflush(2)), Gate::Wait(Cause::FlushPending));
    assert!(b.finish_clean(true));
    assert_eq!(
        b.instr(0, clflush(2)),
        Gate::Wait(Cause::FlushPending),
        "line 1 came back, not line 2"
    );
    assert_eq!(b.instr(0, clflush(1)), Gate::Go);
    assert!(b.finish_clean(true));
    assert_eq!(b.instr(0, clflush(2)), Gate::Go);
}

#[test]
fn cores_share_a_queue_of_one_and_everything_drains() {
    let mut b = bench(2, 1);
    let mut pick = Stream::new(4, "x86");
    for hw_thread in 0..8 {
        for k in 0..2 {
            assert_eq!(
                nt(&mut b, hw_thread, pm_line(u64::from(hw_thread) * 2 + k), 1),
                Gate::Go
            );
        }
    }
    assert_eq!(nt(&mut b, 0, dram_line(3), 1), Gate::Wait(Cause::WcbFull));
    assert!(!b.design.drain(&mut b.cx));
    assert!(b.drain(&mut pick));
    assert_eq!(b.cx.durable_order.len(), 16);
    assert_eq!(nt(&mut b, 0, dram_line(3), 1), Gate::Go);
    assert!(b.drain(&mut pick), "volatile lines are acknowledged too");
    assert_eq!(b.cx.writes.len(), 16, "and never written to persistent memory");
}

#[test]
fn switches_without_a_fence_are_counted_once() {
    let mut b = bench(16, 8);
    let switches = |b: &Bench<X86>| b.cx.counters.get(&stat::UNFENCED).copied().unwrap_or(0);
    nt(&mut b, 0, pm_line(1), 1);
    b.store(0, dram_line(9), 0, 1);
    assert_eq!(switches(&b), 0, "volatile stores need no order");
    b.store(0, pm_line(2), 0, 1);
    b.store(0, pm_line(3), 0, 1);
    assert_eq!(switches(&b), 1);
    nt(&mut b, 0, pm_line(1), 2);
    b.run_for(Ps::from_ns(60));
    assert_eq!(b.instr(0, SFENCE), Gate::Go);
    b.store(0, pm_line(2), 0, 2);
    assert_eq!(switches(&b), 1, "fenced");
}

#[test]
fn the_dialects_differ_in_the_fence_between_log_and_data_only() {
    for environment in Environment::ALL {
        let of = |name: &str| (find(name).expect("registered").dialect)(environment);
        let base = of("x86-adr");
        assert_eq!(base.log_to_data, [Fence::Sfence]);
        for design in ["x86-ideal", "themis", "themis-llc"] {
            let d = of(design);
            let program_order: &[Fence] = if environment.tso { &[] } else { &[Fence::DmbSt] };
            assert_eq!(d.log_to_data, program_order, "{design}");
            // The link of a list is past the caches, as its record is: only the bound without fences leaves that order to luck.
            assert_eq!(d.log_link, (design == "x86-ideal").then_some(program_order), "{design}");
            let same = Dialect {
                name: base.name,
                log_to_data: base.log_to_data,
                log_link: base.log_link,
                ..d
            };
            assert_eq!(same, base, "{design}");
        }
    }
}

#[test]
fn sizes_that_are_no_powers_of_two_are_refused() {
    let build = |n: i64| (INFO.build)(&[("wcb_entries".into(), Raw::Int(n))], MachineShape::default()).err();
    assert!(build(16).is_none() && build(1).is_none());
    for bad in [0, 3, 12] {
        let why = build(bad).expect("refused").to_string();
        assert!(why.contains("power of two"), "{why}");
    }
}
