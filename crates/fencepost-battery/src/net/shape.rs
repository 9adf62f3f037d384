//! What a random run of the net looks like: a choice in each of some respects, weighted by what it brought to light so far.
//!
//! A respect is a list of alternatives, each a list of settings. Their sizes are meant to collide: caches of a few lines, queues of one,
//! lines that threads share by single words, names that start just below where they wrap.

use fencepost_kernel::Stream;

/// One alternative: the settings that make it.
pub type Settings = &'static [&'static str];

/// Everything that is drawn beside design, machine and medium.
pub const RESPECTS: [(&str, &[Settings]); 10] = [
    (
        "caches",
        &[
            &["l1.size=256B", "l1.ways=2", "llc.size=512B", "llc.ways=2"],
            &["l1.size=128B", "l1.ways=1", "llc.size=256B", "llc.ways=1"],
            &["l1.size=1KiB", "llc.size=4KiB"],
            &["l1.size=256B", "l1.ways=4", "llc.size=2KiB", "llc.ways=4"],
        ],
    ),
    (
        "queues",
        &[
            &[],
            &[
                "core.rob=2",
                "core.load_queue=1",
                "core.store_queue=1",
                "l1.mshrs=1",
                "l1.writeback_buffer=1",
                "llc.mshrs=1",
                "llc.writeback_buffer=1",
                "pm.controller.write_queue=1",
                "pm.controller.read_queue=1",
                "dram.controller.write_queue=1",
                "dram.controller.read_queue=1",
            ],
            &["l1.mshrs=1", "llc.mshrs=1", "pm.controller.read_queue=1"],
            &["pm.controller.write_queue=2", "l1.writeback_buffer=1"],
            &["core.store_queue=2", "llc.writeback_buffer=1"],
        ],
    ),
    ("log", &[&[], &["machine.log_area=1KiB"], &["machine.log_area=5KiB"]]),
    (
        "order",
        &[
            &[],
            &["core.fence_execution=buffered"],
            &["core.fence_execution=serialize"],
            &["core.pipeline=in-order"],
        ],
    ),
    (
        "memory",
        &[
            &[],
            &["pm.media.mapping=row-column-bank"],
            &["pm.media.channels=2"],
            &["pm.media.writes=buffered"],
            &["pm.controller.coalesce=false"],
            &["pm.controller.drain_high=1", "pm.controller.drain_low=0"],
        ],
    ),
    (
        "lines",
        &[
            &["program.random.lines=1", "program.random.words=8"],
            &["program.random.lines=2", "program.random.words=8"],
            &["program.random.lines=3"],
            &["program.random.lines=6", "program.random.words=4"],
            &["program.random.lines=24"],
        ],
    ),
    (
        "volatile lines",
        &[
            &[],
            &["program.random.volatile_lines=3", "program.random.handed_on=8"],
            &[
                "program.random.volatile_lines=4",
                "program.random.handed_on=12",
                "program.random.dependent=8",
                "program.random.fences=8",
                "program.random.stores=4",
            ],
            &[
                "program.random.volatile_lines=24",
                "program.random.handed_on=10",
                "program.random.synchronise=8",
            ],
        ],
    ),
    (
        "statements",
        &[
            &[],
            &["program.random.nt_stores=10"],
            &["program.random.flushes=10", "program.random.fences=2"],
            &["program.random.synchronise=12"],
            &["program.random.loads=16"],
            &["program.random.fences=0", "program.random.length=12"],
        ],
    ),
    // What is under way for a moment is met by few; what is under way for long is met by many.
    (
        "times",
        &[
            &[],
            &["bus.snoop=200ns", "bus.transfer=100ns"],
            &["bus.to_memory=300ns", "pm.controller.static_latency=200ns"],
            &["llc.latency=300ns", "l1.latency=10ns"],
            &["pm.media.t_burst=40ns", "dram.media.t_burst=40ns"],
            &["pm.module.transfer=500ns", "pm.module.slot=200ns"],
        ],
    ),
    (
        "leaving",
        &[
            &[],
            &["program.random.abort_percent=70"],
            &["program.random.released_early=40"],
            &["program.random.overlaps=50"],
            &["program.random.overlaps=30", "program.random.released_early=30"],
        ],
    ),
];

/// What is set where the design has the parameter: names that wrap soon, aborts of the hardware's own.
pub const OF_DESIGNS: [Settings; 4] = [
    &["first_name=32762", "abort_every=3"],
    &["first_name=32765"],
    &["abort_every=2", "tx_entries=3"],
    &["pointer_bits=1", "wcb_entries=2"],
];

/// What is slow where the design has the parameter: each is set in some runs, whatever else is.
pub const SLOW: [Settings; 5] = [
    &["drain_delay=2us", "path_slot=300ns"],
    &[
        "path_latency=2us",
        "ack_latency=1us",
        "path=1us",
        "log_path=1us",
        "nv_write=1us",
    ],
    &["ack_return=3us", "path_slot=2us"],
    &["filter_bytes=8", "filter_hashes=1", "path_slot=100ns"],
    &["interval=1us", "scheduling=100ns", "drain_gap=500ns"],
];

/// Cores for so many threads: one for each, or one for two or four, whose threads share its caches.
pub(super) fn cores(threads: u32, dice: &mut Stream) -> Vec<String> {
    let share = [0, 0, 2, 4][dice.below(4) as usize];
    match share {
        0 => vec![format!("core.cores={}", threads.max(4))],
        n => vec![
            format!("core.cores={}", threads.div_ceil(n).max(2)),
            format!("core.threads_per_core={n}"),
        ],
    }
}

/// How a share of runs brought something new.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Tried {
    runs: u64,
    news: u64,
}

/// Alternatives of every respect with what they brought.
#[derive(Clone, Debug)]
pub struct Steering(Vec<Vec<Tried>>);

/// Alternatives of a design's settings beyond [`OF_DESIGNS`]: its smallest sizes, one of its variants, both, or its defaults.
pub const BEYOND: usize = 4;

/// A choice in each respect; the last one is of [`OF_DESIGNS`], or beyond it.
pub type Choice = Vec<usize>;

impl Default for Steering {
    fn default() -> Steering {
        let lists = RESPECTS.iter().map(|r| vec![Tried::default(); r.1.len()]);
        let own = vec![Tried::default(); OF_DESIGNS.len() + BEYOND];
        Steering(lists.chain([own]).collect())
    }
}
impl Steering {
    /// Draws an alternative of each respect. What brought news is drawn up to eight times as often as what brings none.
    pub fn draw(&self, dice: &mut Stream) -> Choice {
        let weight = |t: &Tried| 8 + 56 * (1 + t.news) / (1 + t.runs);
        let pick = |list: &Vec<Tried>| {
            let mut left = dice.below(list.iter().map(weight).sum());
            let at = list.iter().position(|t| match left.checked_sub(weight(t)) {
                None => true,
                Some(rest) => {
                    left = rest;
                    false
                }
            });
            at.unwrap_or(0)
        };
        self.0.iter().map(pick).collect()
    }
    /// A run of this choice brought something new, or nothing.
    pub fn learn(&mut self, choice: &[usize], news: bool) {
        for (list, at) in self.0.iter_mut().zip(choice) {
            list[*at].runs += 1;
            list[*at].news += u64::from(news);
        }
    }
}

#[test]
fn what_brings_news_is_drawn_more_often() {
    let mut steering = Steering::default();
    let mut dice = Stream::new(1, "steering");
    for _ in 0..400 {
        let choice = steering.draw(&mut dice);
        let news = choice[0] == 2;
        steering.learn(&choice, news);
    }
    let drawn = (0..1000).map(|_| steering.draw(&mut dice)[0]);
    let mut counts = [0; 4];
    drawn.for_each(|at| counts[at] += 1);
    assert!(counts[2] > 500, "{counts:?}");
    assert!(counts.iter().all(|n| *n > 30), "nothing is given up: {counts:?}");
}
