//! Every hook of the seam, through the recording double.

use fencepost_designs::testkit::*;
use fencepost_kernel::*;
use fencepost_machine::seam::*;

struct Silent;
impl Design for Silent {}

#[test]
fn the_recording_double_sees_every_hook() {
    let r = HookRecorder::new(Silent);
    let _ = r.hooks();
    let mut b = Bench::new(r, 2, 1, 1); // controller
    let way = Way {
        line: pm_line(0),
        dirty: true,
        meta: 0,
        frozen: false,
    };
    let l1 = Level::L1(CoreId(0));
    assert_eq!(b.instr(0, Instr::Fence(Fence::Sfence)), Gate::Go);
    b.design.queued(&mut b.cx, HwThread(0), Instr::Fence(Fence::Sfence));
    assert_eq!(
        b.design.may_access(&mut b.cx, HwThread(0), pm_line(0), Access::Store),
        Gate::Go
    );
    b.store(0, pm_line(0), 0, 1); // performed
    assert_eq!(b.snoop(1, pm_line(0), Snoop::Read), SnoopAnswer::Pass);
    assert_eq!(b.design.may_leave(&mut b.cx, l1, &way, Why::Replaced), Gate::Go);
    b.design.leaving(&mut b.cx, l1, &way, &filled(1), Why::Replaced);
    b.cx.clean(HwThread(0), pm_line(0), CleanKind::KeepShared, 1);
    assert!(b.finish_clean(true)); // accepted, cleaned
    b.design.read_missed(&mut b.cx, HwThread(0), pm_line(0));
    let data = filled(2);
    assert_eq!(
        b.design.nt_store(&mut b.cx, HwThread(0), pm_line(1), &data, 1),
        Gate::Wait(Cause::WriteQueueFull)
    );
    b.cx.when_drained(DrainScope::Empty(None), 9);
    let id = b.candidates()[0];
    b.write_to_device(id); // durable, queue_freed, drained
    let now = b.cx.now();
    b.cx.timer(now, 1);
    b.run_for(Ps(1));
    b.design.drain(&mut b.cx);
    b.design.recover(&mut Recovery::new(&mut Image::default()));
    let _ = (b.design.statistics(), b.design.explain(HwThread(0)));
    assert_eq!(b.design.missing(), [] as [Hook; 0]);
    assert_eq!(b.design.seen.borrow()[&Hook::Drained], 1);
    assert_eq!(b.design.seen.borrow()[&Hook::QueueFreed], 1);
}
