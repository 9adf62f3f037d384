//! Audits of the crash images of one run, one after the other. From one to the next little memory changes: steps that read none of it,
//! from a state that is the same, end as they did before, and are not run again.

use fencepost_kernel::planted;
use fencepost_kernel::{Addr, LineAddr};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// What one step of an audit did beside its result.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    /// Lines it loaded from; while the step runs there may be repetitions.
    pub lines: Vec<LineAddr>,
    /// Whether more than these lines decides how it ends, or it stored something.
    pub more: bool,
}
impl Reads {
    /// Of a step that begins, with space for what most steps read.
    pub(super) fn of_a_step() -> Reads {
        Reads {
            lines: Vec::with_capacity(12),
            more: false,
        }
    }
}

/// The audit of the image before, step by step; the states before the steps are put away with whoever runs them.
#[derive(Debug, Default)]
pub(super) struct Before {
    reads: Vec<Reads>,
    accesses: Vec<u64>,
    /// The steps that read a line; steps that were run again since may not read it any more.
    readers: FxHashMap<LineAddr, Vec<u32>>,
    /// What recovery had written over the image.
    overlay: FxHashMap<Addr, u64>,
    /// Whether the audit came to its end.
    whole: bool,
}
impl Before {
    /// The steps, ascending, that have to be run again from their states if memory differs in `lines` and in what recovery wrote, of an
    /// audit that begins as the one before. `None`: all of them, as that did not come to its end.
    pub(super) fn stale(&self, lines: &[LineAddr], overlay: &FxHashMap<Addr, u64>) -> Option<Vec<u32>> {
        if !self.whole {
            return None;
        }
        let own = |a: &FxHashMap<Addr, u64>, b: &FxHashMap<Addr, u64>| {
            let differs = |(at, value): (&Addr, &u64)| (b.get(at) != Some(value)).then(|| at.line());
            a.iter().filter_map(differs).collect::<Vec<LineAddr>>()
        };
        let own = [own(overlay, &self.overlay), own(&self.overlay, overlay)].concat();
        let forgotten = planted!(
            "explorer.step-not-run-again",
            "a step whose memory has changed is run again"
        );
        let lines = lines.iter().filter(|_| !forgotten).chain(&own);
        let of_lines = lines.filter_map(|line| self.readers.get(line)).flatten().copied();
        let more = self.reads.iter().zip(0..).filter(|(reads, _)| reads.more);
        let mut stale: Vec<u32> = of_lines.chain(more.map(|(_, i)| i)).collect();
        stale.retain(|i| (*i as usize) < self.reads.len());
        stale.sort_unstable();
        stale.dedup();
        Some(stale)
    }
    /// How many steps there are.
    pub(super) fn len(&self) -> usize {
        self.reads.len()
    }
    /// Accesses of some of the steps.
    pub(super) fn accesses(&self, steps: Range<usize>) -> u64 {
        self.accesses[steps].iter().sum()
    }
    /// An audit begins: what is known of the one before is known of none, unless this one comes to its end.
    pub(super) fn begin(&mut self) {
        self.whole = false;
    }
    /// Forgets the steps from `step` on.
    pub(super) fn cut_off(&mut self, step: usize) {
        if step >= self.reads.len() {
            return;
        }
        self.reads.truncate(step);
        self.accesses.truncate(step);
        // Lists of lines are kept: most fill again.
        for steps in self.readers.values_mut() {
            steps.truncate(steps.partition_point(|i| (*i as usize) < step));
        }
    }
    /// Keeps what a step did: of one kept before what it read now, of a new one everything.
    pub(super) fn keep(&mut self, step: usize, mut reads: Reads, accesses: u64) {
        reads.lines.sort_unstable();
        reads.lines.dedup();
        if step == self.reads.len() {
            self.reads.push(reads);
            self.accesses.push(accesses);
        } else {
            self.reads[step] = reads;
            self.accesses[step] = accesses;
        }
        self.file(step);
    }
    fn file(&mut self, step: usize) {
        for line in &self.reads[step].lines {
            let steps = self.readers.entry(*line).or_default();
            if let Err(at) = steps.binary_search(&(step as u32)) {
                steps.insert(at, step as u32);
            }
        }
    }
    /// The audit came to its end over an image with this written over it.
    pub(super) fn ended(&mut self, overlay: FxHashMap<Addr, u64>) {
        self.whole = true;
        self.overlay = overlay;
    }
}

/// After an audit that was broken off every step of the next one is run: those that were left are of an older image.
#[test]
fn nothing_is_known_of_an_audit_that_does_not_end() {
    let line = Addr::pm(64).line();
    let reads = || Reads {
        lines: vec![line],
        more: false,
    };
    let (mut before, none) = (Before::default(), FxHashMap::default());
    assert_eq!(before.stale(&[], &none), None);
    before.begin();
    (0..2).for_each(|step| before.keep(step, reads(), 1));
    before.ended(FxHashMap::default());
    assert_eq!(
        (before.stale(&[line], &none), before.stale(&[], &none)),
        (Some(vec![0, 1]), Some(vec![]))
    );
    before.begin();
    before.keep(0, reads(), 1);
    assert_eq!(before.stale(&[], &none), None);
}
