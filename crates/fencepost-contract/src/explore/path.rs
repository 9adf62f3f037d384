//! The path of one recovery through its choices: depth-first search by replay, with marks at which paths may merge.

use super::known::Known;
use super::stop::Stop;
use super::watch::Watch;
use fencepost_kernel::planted;
use fencepost_kernel::{Addr, Image, Judged, LineAddr, Span};
use std::rc::Rc;

/// A word of the null page, where no recovery gets: 1 once recovery has written a word that the execution did not.
const STRAYED: Addr = Addr(0);

/// A place at which recovery's whole state is at hand, so that continuations from equal states need running once.
#[derive(Debug)]
pub struct Mark {
    /// Where to cut the trail to come back here.
    pub trail: usize,
    own_writes: u32,
    /// Words read by every continuation explored so far, before recovery wrote them itself; may hold repetitions.
    foot: Vec<u32>,
    /// Repetitions were last removed at this length.
    distinct: usize,
    /// Every continuation so far ended well and none was left out.
    pub clean: bool,
    /// Whether this mark's result should be kept.
    pub keep: bool,
    /// Whether an equal mark was found clean before and this one is explored again to check that.
    pub doubted: bool,
    /// Marks since the last choice.
    depth: u32,
}

enum Frame {
    Choice { pick: u32, options: u32 },
    Mark(Mark),
}

/// Crash states in which recovery came to its end after writing something: one for every run.
pub struct Ends {
    /// The durable nodes of each.
    pub states: Vec<Vec<bool>>,
    /// How many more may be kept.
    pub left: usize,
    /// How many were not kept.
    pub skipped: u64,
}

impl Ends {
    /// Keeps so many states.
    pub fn at_most(left: usize) -> Ends {
        Ends {
            states: Vec::new(),
            left,
            skipped: 0,
        }
    }
}

/// What a minimising search minimises: the number of deviating nodes, few durable ones before few lost ones.
pub(super) fn size(durable: u32, lost: u32) -> u32 {
    (2 * durable).min(2 * lost + 1)
}

/// A search over the choices that one failure point leaves to a recovery.
pub struct Path {
    pub known: Known,
    frames: Vec<Frame>,
    marks: Vec<usize>,
    /// Frames passed by the current run.
    at: usize,
    /// What the runs may do.
    pub watch: Watch,
    /// Where runs that wrote something ended, if that is wanted.
    pub ends: Option<Ends>,
    /// While minimising: only states of a smaller size than this are of interest.
    pub better_than: Option<u32>,
    /// Whether the oldest value of a word is tried first; otherwise the newest.
    pub oldest_first: bool,
    /// The failure point before, if audits may rely on it, and whether one has asked.
    pub judged: (Option<Rc<Judged>>, bool),
    /// Lines of persistent memory that recovery has stored to, run after run.
    pub written: Vec<LineAddr>,
    seen: Vec<u32>,
    epoch: u32,
}

impl Path {
    pub fn new(known: Known) -> Path {
        Path {
            known,
            frames: Vec::new(),
            marks: Vec::new(),
            at: 0,
            watch: Watch::new(),
            ends: None,
            better_than: None,
            oldest_first: false,
            judged: (None, false),
            written: Vec::new(),
            seen: Vec::new(),
            epoch: 0,
        }
    }
    /// Forgets the search so far; the failure point stays.
    pub fn reset(&mut self) {
        self.frames.clear();
        self.marks.clear();
        self.known.undo_to(0);
        self.at = 0;
    }
    /// Begins a run at the very start, replaying every choice.
    pub fn rewind(&mut self, loads: u64) {
        self.known.undo_to(0);
        self.at = 0;
        self.watch.allow(loads);
    }
    /// Begins a run at the innermost mark, replaying only the choices after it.
    pub fn rewind_to_mark(&mut self, loads: u64) {
        let at = self.marks.last().map_or(0, |m| m + 1);
        let trail = self.top().map_or(0, |m| m.trail);
        self.known.undo_to(trail);
        self.at = at;
        self.watch.allow(loads);
    }
    /// Begins another stretch of a run that makes no choices.
    pub fn allow_loads(&mut self, loads: u64) {
        self.watch.allow(loads);
    }
    fn top(&mut self) -> Option<&mut Mark> {
        match self.marks.last().map(|m| &mut self.frames[*m]) {
            Some(Frame::Mark(mark)) => Some(mark),
            _ => None,
        }
    }
    /// Number of marks on the path.
    pub fn depth(&self) -> usize {
        self.marks.len()
    }
    /// Whether recovery has written or learnt anything since the mark with this number on the path.
    pub fn moved_since(&self, mark: usize) -> bool {
        match self.marks.get(mark).map(|m| &self.frames[*m]) {
            Some(Frame::Mark(mark)) => mark.trail != self.known.mark(),
            _ => true,
        }
    }
    /// The innermost mark's continuation is not clean.
    pub fn not_clean(&mut self) {
        if let Some(mark) = self.top() {
            mark.clean = false;
        }
    }
    /// Whether an enclosing mark is explored only to check that it is clean.
    pub fn is_doubted(&self) -> bool {
        self.marks
            .iter()
            .any(|m| matches!(&self.frames[*m], Frame::Mark(mark) if mark.doubted))
    }
    /// A run ended well, or in a continuation that is known to.
    pub fn note_end(&mut self) {
        let Path { known, ends, .. } = self;
        let Some(ends) = ends.as_mut().filter(|_| known.own_writes() > 0) else {
            return;
        };
        match ends.left.checked_sub(1) {
            Some(left) => {
                ends.left = left;
                ends.states.push(known.closest().0);
            }
            None => ends.skipped += 1,
        }
    }
    /// Whether the run still replays what an earlier run did.
    pub fn replaying(&self) -> bool {
        self.at < self.frames.len()
    }
    /// Passes a mark during a replay.
    pub fn pass_mark(&mut self) {
        if !matches!(self.frames[self.at], Frame::Mark(_)) {
            Stop::Diverged.unwind();
        }
        self.at += 1;
    }
    /// Marks since the last choice, were a mark entered here.
    fn next_depth(&self) -> u32 {
        match self.frames.last() {
            Some(Frame::Mark(m)) => m.depth + 1,
            _ => 0,
        }
    }
    /// Whether looking for an equal state pays here: it costs as much as the words it compares, so
    /// it is done often right after a choice and rarely on long stretches without any.
    pub fn should_ask(&self) -> bool {
        let depth = self.next_depth();
        depth <= 8 || depth.is_power_of_two()
    }
    /// Enters a mark. Results are kept right after a choice and then ever more sparsely: between two choices all
    /// marks have one continuation, and a merge at most twice as far away serves as well.
    pub fn enter(&mut self, doubted: bool) {
        let depth = self.next_depth();
        self.marks.push(self.frames.len());
        self.frames.push(Frame::Mark(Mark {
            trail: self.known.mark(),
            own_writes: self.known.own_writes(),
            foot: Vec::new(),
            distinct: 0,
            clean: true,
            keep: depth == 0 || depth.is_power_of_two(),
            doubted,
            depth,
        }));
        self.at = self.frames.len();
    }
    /// The innermost mark's continuation also reads these words.
    pub fn read_also(&mut self, words: &[u32]) {
        let Path {
            known, frames, marks, ..
        } = self;
        if let Some(Frame::Mark(mark)) = marks.last().map(|m| &mut frames[*m]) {
            mark.foot
                .extend(words.iter().filter(|w| !known.wrote_since(**w, mark.trail)));
        }
    }
    /// Reads a word, choosing among the values it can have.
    pub fn load(&mut self, at: Addr) -> u64 {
        let slot = self.known.slot(at);
        if !self.replaying() {
            self.read_also(&[slot]);
        }
        let own = self.known.own(slot);
        let seen = own.is_some() && !planted!("explorer.own-store-unseen", "recovery reads what it has stored");
        if let Some(own) = own.filter(|_| seen) {
            return own;
        }
        let (initial, parts) = self.known.parts(slot);
        if let [part] = *parts {
            let versions = self.choose_version(part.id);
            return initial & !part.mask | self.known.value(part, initial, versions);
        }
        let mut word = initial;
        for i in 0..parts.len() {
            let part = self.known.parts(slot).1[i];
            let versions = self.choose_version(part.id);
            word = word & !part.mask | self.known.value(part, initial, versions);
        }
        word
    }
    /// Writes a word on behalf of recovery.
    pub fn store(&mut self, at: Addr, value: u64) {
        let slot = self.known.slot(at);
        let strays = at.is_persistent() && self.known.parts(slot).1.is_empty();
        self.known.write(slot, value);
        if at.is_persistent() && self.written.last() != Some(&at.line()) {
            self.written.push(at.line());
        }
        if strays {
            let strayed = self.known.slot(STRAYED);
            self.known.write(strayed, 1);
        }
    }
    /// Lines of `span` that may hold something else than `setup` in the states under consideration, ascending. `None` where recovery
    /// has written words that the execution did not: whether it has is a word like any other, so that equal views agree on it.
    pub fn changed(&mut self, setup: &Image, span: Span) -> Option<Vec<LineAddr>> {
        let strayed = self.load(STRAYED) != 0;
        (!strayed).then(|| self.known.order().changed(setup, span))
    }
    /// What an audit may rely on: the failure point before, and what may have changed since, recovery's own stores included.
    pub fn judged(&mut self) -> Option<Rc<Judged>> {
        self.judged.1 = true;
        let judged = self.judged.0.as_ref()?;
        if self.known.own_writes() == 0 {
            return Some(Rc::clone(judged));
        }
        let mut judged = (**judged).clone();
        judged.changed.extend(self.known.own_words().map(|at| at.line()));
        judged.changed.sort_unstable();
        judged.changed.dedup();
        Some(Rc::new(judged))
    }
    /// What follows holds as long as the memory of a span looks as it does.
    pub fn relies_on(&mut self, span: Span) {
        let slot = self.known.slot_of_span(span);
        if !self.replaying() {
            self.read_also(&[slot]);
        }
    }
    fn choose_version(&mut self, part: u32) -> u32 {
        let (low, high) = self.known.bounds(part);
        if low == high {
            return low;
        }
        let left_out = planted!("explorer.choice-left-out", "every value that a word may hold is tried");
        let choice = self.choose(high - low + 1 - u32::from(left_out));
        let versions = match self.oldest_first {
            true => low + choice,
            false => high - choice,
        };
        self.known.narrow(part, versions);
        let (durable, lost) = self.known.decided();
        if self.better_than.is_some_and(|best| size(durable, lost) >= best) {
            Stop::NotSmaller.unwind();
        }
        versions
    }
    fn choose(&mut self, options: u32) -> u32 {
        if !self.replaying() {
            self.frames.push(Frame::Choice { pick: 0, options });
        }
        match self.frames[self.at] {
            Frame::Choice { pick, options: before } if before == options => {
                self.at += 1;
                pick
            }
            _ => Stop::Diverged.unwind(),
        }
    }
    /// Moves to the next untried choice; false when there is none. Every mark whose continuations are used up is
    /// handed to `close` with its distinct words, while `known` stands at the mark again.
    pub fn backtrack(&mut self, mut close: impl FnMut(&Known, &Mark, &[u32])) -> bool {
        while let Some(frame) = self.frames.last_mut() {
            match frame {
                Frame::Choice { pick, options } if *pick + 1 < *options => {
                    *pick += 1;
                    return true;
                }
                Frame::Choice { .. } => {
                    self.frames.pop();
                }
                Frame::Mark(_) => {
                    self.marks.pop();
                    if let Some(Frame::Mark(mut mark)) = self.frames.pop() {
                        self.known.undo_to(mark.trail);
                        if mark.keep || mark.foot.len() > 2 * mark.distinct + 256 {
                            self.remove_repetitions(&mut mark);
                        }
                        close(&self.known, &mark, &mark.foot);
                        self.fold(mark);
                    }
                }
            }
        }
        false
    }
    /// Adds what a finished mark has read to the mark around it.
    fn fold(&mut self, mut inner: Mark) {
        let Path {
            known, frames, marks, ..
        } = self;
        let Some(Frame::Mark(outer)) = marks.last().map(|m| &mut frames[*m]) else {
            return;
        };
        outer.clean &= inner.clean;
        if outer.own_writes != inner.own_writes {
            inner.foot.retain(|w| !known.wrote_since(*w, outer.trail));
        }
        if inner.foot.len() > outer.foot.len() {
            std::mem::swap(&mut inner.foot, &mut outer.foot);
            outer.distinct = outer.distinct.max(inner.distinct);
        }
        outer.foot.extend(inner.foot);
    }
    fn remove_repetitions(&mut self, mark: &mut Mark) {
        self.epoch += 1;
        self.seen.resize(self.known.slots(), 0);
        let (seen, epoch) = (&mut self.seen, self.epoch);
        mark.foot
            .retain(|w| std::mem::replace(&mut seen[*w as usize], epoch) != epoch);
        mark.distinct = mark.foot.len();
    }
}
