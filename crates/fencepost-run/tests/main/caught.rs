//! Runs of correct designs that were not clean when the net first made them, each with what was wrong then.

use fencepost_run::request::Request;
use fencepost_run::run::run;

/// What was wrong, `PROGRAM DESIGN MACHINE MEDIUM`, hardware threads, operations and seed, and settings.
type Caught = (&'static str, &'static str, (u32, u32, u64), &'static str);

const CAUGHT: [Caught; 11] = [
    (
        "the second level wrote its older bytes back behind a victim of the first",
        "random themis fgc pwq",
        (8, 30, 470_980_524_154),
        "core.cores=8 l1.size=128B l1.ways=1 llc.size=256B llc.ways=1 core.store_queue=2 llc.writeback_buffer=1 pm.media.channels=2 \
         program.random.lines=24 program.random.volatile_lines=3 program.random.handed_on=8 program.random.flushes=10 \
         program.random.fences=2 core.threads_per_core=2 program.random.released_early=40 l2.size=256B l2.ways=4",
    ),
    (
        "a clean took older bytes of the second level while a victim of the first waited",
        "random themis fgc pwq",
        (2, 30, 646_956_123_558),
        "core.cores=4 l1.size=128B l1.ways=1 llc.size=256B llc.ways=1 core.store_queue=2 llc.writeback_buffer=1 machine.log_area=5KiB \
         core.fence_execution=serialize pm.controller.coalesce=false program.random.lines=3 program.random.fences=0 \
         program.random.length=12 core.threads_per_core=2 program.random.released_early=40 l2.size=256B l2.ways=4",
    ),
    (
        "a block of the log was written over while a line was read there",
        "random ec-wal themis loc-nvm",
        (4, 12, 1_052_126_811_939),
        "core.cores=4 l1.size=128B l1.ways=1 llc.size=256B llc.ways=1 machine.log_area=1KiB core.pipeline=in-order \
         pm.controller.drain_high=1 pm.controller.drain_low=0 program.random.lines=24 program.random.volatile_lines=3 \
         program.random.handed_on=8 program.random.loads=16 program.random.released_early=40",
    ),
    (
        "the same with aborts and names that wrap around",
        "random ec-wal themis ddr4-2400",
        (4, 60, 918_567_068_578),
        "core.cores=4 l1.size=128B l1.ways=1 llc.size=256B llc.ways=1 pm.controller.write_queue=2 l1.writeback_buffer=1 \
         machine.log_area=1KiB core.fence_execution=buffered pm.controller.drain_high=1 pm.controller.drain_low=0 \
         program.random.lines=3 program.random.volatile_lines=24 program.random.handed_on=10 program.random.synchronise=8 \
         program.random.flushes=10 program.random.fences=2 program.random.abort_percent=70 design.first_name=32762 \
         design.abort_every=3",
    ),
    (
        "a joined pcommit was answered while a write that came late was in the controller",
        "random global-commit fgc pcm",
        (3, 12, 1_048_378_728_763),
        "core.cores=4 l1.size=256B l1.ways=2 llc.size=512B llc.ways=2 core.store_queue=2 llc.writeback_buffer=1 machine.log_area=1KiB \
         pm.controller.coalesce=false program.random.lines=3 program.random.synchronise=12 program.random.released_early=40 \
         l2.size=256B l2.ways=4 design.overlap=joined",
    ),
    (
        "entries released when their data leave the controller, over a module that buffers writes",
        "random broi dpo nvm-2400",
        (4, 12, 882_569_934_573),
        "core.cores=4 l1.size=128B l1.ways=1 llc.size=256B llc.ways=1 core.store_queue=2 llc.writeback_buffer=1 machine.log_area=5KiB \
         core.fence_execution=buffered pm.media.channels=2 program.random.lines=2 program.random.words=8 \
         program.random.volatile_lines=4 program.random.handed_on=12 program.random.dependent=8 program.random.stores=4 \
         program.random.fences=0 program.random.length=12 design.release=drain",
    ),
    (
        "the reference took release at the controller for a breach",
        "random epoch fgc pcm",
        (3, 6, 36_146_090_418),
        "core.cores=4 l1.size=256B l1.ways=4 llc.size=2KiB llc.ways=4 core.store_queue=2 llc.writeback_buffer=1 machine.log_area=5KiB \
         core.fence_execution=buffered pm.controller.drain_high=1 pm.controller.drain_low=0 program.random.lines=2 \
         program.random.words=8 program.random.volatile_lines=3 program.random.handed_on=8 program.random.flushes=10 \
         program.random.fences=2 l2.size=256B l2.ways=4 design.release=drain",
    ),
    (
        "a BROI entry counted writes that acceptance had made durable",
        "hash broi themis nvm-2400",
        (4, 8, 24),
        "program.hash.buckets=3 program.hash.keys=12 program.hash.preload=4",
    ),
    (
        "an entry of the non-volatile cache was written over while a line was read there",
        "random kiln loc pwq",
        (8, 30, 24_372_075_935),
        "core.cores=8 l1.size=256B l1.ways=2 llc.size=512B llc.ways=2 core.rob=2 core.load_queue=1 core.store_queue=1 l1.mshrs=1 \
         l1.writeback_buffer=1 llc.mshrs=1 llc.writeback_buffer=1 pm.controller.write_queue=1 pm.controller.read_queue=1 \
         dram.controller.write_queue=1 dram.controller.read_queue=1 machine.log_area=1KiB core.fence_execution=serialize \
         pm.media.channels=2 program.random.lines=6 program.random.words=4 program.random.flushes=10 program.random.fences=2 \
         program.random.abort_percent=70 l2.size=256B l2.ways=4",
    ),
    (
        "older bytes of a line passed for the newest in the second level",
        "random themis fgc pwq",
        (2, 55, 447_792_670_755),
        "core.cores=2 core.threads_per_core=2 l1.size=128B l1.ways=1 l2.size=256B l2.ways=4 llc.size=256B llc.ways=1 \
         program.random.lines=6 program.random.words=4 program.random.volatile_lines=4 program.random.handed_on=12 \
         program.random.dependent=8 program.random.fences=0 program.random.stores=4 program.random.length=12 \
         program.random.released_early=30 design.drain_delay=700ns",
    ),
    (
        "a flush passed older bytes of its line that waited to leave the shared cache",
        "random themis-llc fgc pwq",
        (4, 60, 19_022_003_325),
        "core.cores=2 core.threads_per_core=4 l1.size=256B l1.ways=2 llc.size=512B llc.ways=2 machine.log_area=5KiB \
         core.fence_execution=serialize pm.controller.coalesce=false program.random.lines=24 program.random.nt_stores=10 \
         pm.module.transfer=500ns pm.module.slot=200ns program.random.released_early=40 l2.size=256B l2.ways=4",
    ),
];

#[test]
fn what_the_net_caught_is_clean() {
    for (was, where_, (threads, ops, seed), sets) in CAUGHT {
        let [program, design, machine, media] = where_.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{where_}");
        };
        let request = Request {
            program: program.into(),
            design: design.into(),
            machine: machine.into(),
            media: Some(media.into()),
            threads: Some(threads),
            ops,
            seed,
            warmup: 0,
            check: true,
            sets: sets.split_whitespace().map(str::to_owned).collect(),
            ..Request::default()
        };
        let result = run(&request).unwrap_or_else(|e| panic!("{was}: {e}"));
        let check = result.check.expect("it is checked");
        assert!(!check.violated() && check.conforms == Some(true), "{was}: {check:?}");
    }
}
