//! Private and shared caches of a few lines around a bench, without time or capacity: lines leave when the dice say so. It asks
//! the design what the machine would ask, in the same order, and only what the design declared an interest in.

use super::bench::Bench;
use super::outgoing::{Outgoing, tell};
use fencepost_kernel::{CoreId, HwThread, LineAddr, WriteCause};
use fencepost_machine::seam::{
    CleanKind, Cx as _, Design, Exit, Gate, Level, ReadAnswer, Snoop, SnoopAnswer, Way, Why,
};
use std::collections::BTreeMap;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum State {
    Shared,
    Exclusive,
    Modified,
}

/// A line in a cache.
#[derive(Copy, Clone, Debug)]
struct Held {
    state: State,
    dirty: bool,
    /// The design's tag of the way.
    meta: u32,
}

impl Held {
    fn new(state: State, dirty: bool, meta: u32) -> Held {
        Held { state, dirty, meta }
    }
}

/// The design, or the state of a cache, says "not yet".
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct NotYet;

/// The caches.
#[derive(Default)]
pub struct Hierarchy {
    l1: Vec<BTreeMap<LineAddr, Held>>,
    llc: BTreeMap<LineAddr, Held>,
    outgoing: Outgoing,
    /// Departures that the design refused, until it kicks.
    refused: Vec<(Level, LineAddr)>,
    /// The first read that missed the newest bytes.
    pub stale: Option<String>,
}

impl Hierarchy {
    /// Empty caches of `cores` cores.
    pub fn new(cores: usize) -> Hierarchy {
        Hierarchy {
            l1: vec![BTreeMap::new(); cores],
            ..Hierarchy::default()
        }
    }
    /// What was refused may be asked again.
    pub fn kicked(&mut self) {
        self.refused.clear();
    }

    // ---- accesses

    /// Gets the line into the core's cache, with a bus request where it takes one.
    pub fn obtain<D: Design>(
        &mut self,
        bench: &mut Bench<D>,
        hw_thread: HwThread,
        line: LineAddr,
        exclusive: bool,
    ) -> Result<(), NotYet> {
        let core = bench.cx.core_of(hw_thread);
        let own = self.l1[core.index()].get(&line).copied();
        let kind = match (own.map(|h| h.state), exclusive) {
            (Some(State::Exclusive | State::Modified), _) | (Some(State::Shared), false) => return Ok(()),
            (Some(State::Shared), true) => Snoop::Upgrade,
            (None, true) => Snoop::ReadExclusive,
            (None, false) => Snoop::Read,
        };
        self.peers_agree(bench, core, line, exclusive)?;
        let mut supplied = false;
        if bench.hooks.snoops {
            match bench.snoop(hw_thread.0, line, kind) {
                SnoopAnswer::Wait(_) => return Err(NotYet),
                SnoopAnswer::Supply => supplied = true,
                SnoopAnswer::Pass => {}
            }
        }
        let (taken, in_peer) = self.move_peers(bench, core, line, exclusive);
        let below = self.llc.get(&line).copied();
        if supplied {
            self.check_supplied(bench, line);
        } else if own.is_none() && !in_peer && below.is_none() {
            self.read_memory(bench, hw_thread, line);
            self.llc.insert(line, Held::new(State::Shared, false, 0));
        }
        let shared = self
            .l1
            .iter()
            .enumerate()
            .any(|(c, l1)| c != core.index() && l1.contains_key(&line));
        let mut fill = Held::new(State::Exclusive, own.is_some_and(|o| o.dirty), 0);
        if exclusive {
            // Dirtiness below moves to the owner.
            for from in [taken, self.llc.get(&line).copied()]
                .into_iter()
                .flatten()
                .filter(|h| h.dirty)
            {
                fill = Held::new(State::Modified, true, fill.meta.max(from.meta));
            }
            if let Some(below) = self.llc.get_mut(&line) {
                (below.dirty, below.meta) = (false, 0);
            }
        } else if shared || below.is_some_and(|b| b.dirty && b.meta != 0) {
            fill.state = State::Shared;
        }
        self.l1[core.index()].insert(line, fill);
        Ok(())
    }
    /// The design's tag of the line in the hardware thread's cache.
    pub fn meta(&mut self, core: CoreId, line: LineAddr) -> &mut u32 {
        &mut self.l1[core.index()]
            .get_mut(&line)
            .expect("the line was obtained")
            .meta
    }
    /// A store performed in the core's cache.
    pub fn modified(&mut self, core: CoreId, line: LineAddr) {
        if let Some(h) = self.l1[core.index()].get_mut(&line) {
            (h.state, h.dirty) = (State::Modified, true);
        }
        if let Some(below) = self.llc.get_mut(&line) {
            below.dirty = false;
        }
    }
    /// Takes the line out of every cache for a non-temporal store; what was dirty is written to memory.
    pub fn expel<D: Design>(&mut self, bench: &mut Bench<D>, by: HwThread, line: LineAddr) -> Result<(), NotYet> {
        if !self.llc.contains_key(&line) && self.l1.iter().all(|l1| !l1.contains_key(&line)) {
            return Ok(());
        }
        let dirty = self.dirty_copies(line);
        for (level, way) in &dirty {
            self.may_leave(bench, *level, way, Why::Cleaned)?;
        }
        if bench.hooks.snoops && matches!(bench.snoop(by.0, line, Snoop::ReadExclusive), SnoopAnswer::Wait(_)) {
            return Err(NotYet);
        }
        let mut down = false;
        for (level, way) in dirty {
            down |= self.leaves(bench, level, &way, Why::Cleaned) != Exit::Drop;
        }
        self.l1.iter_mut().for_each(|l1| {
            l1.remove(&line);
        });
        self.llc.remove(&line);
        if down {
            self.write_out(bench, line, WriteCause::Eviction, Vec::new());
        }
        Ok(())
    }

    // ---- lines that leave

    /// Evicts the line from a core's cache or, if it is not there, from the shared one; false if nothing left.
    pub fn evict<D: Design>(&mut self, bench: &mut Bench<D>, core: CoreId, line: LineAddr) -> bool {
        let (level, held) = match self.l1[core.index()].get(&line) {
            Some(h) => (Level::L1(core), *h),
            None => match self.llc.get(&line) {
                Some(h) => (Level::Llc, *h),
                None => return false,
            },
        };
        let way = way_of(line, &held);
        if held.dirty && self.may_leave(bench, level, &way, Why::Replaced).is_err() {
            return false;
        }
        match level {
            Level::Llc => self.llc.remove(&line),
            _ => self.l1[core.index()].remove(&line),
        };
        if held.dirty {
            match (self.leaves(bench, level, &way, Why::Replaced), level) {
                (Exit::Drop, _) => {}
                (_, Level::Llc) => self.write_out(bench, line, WriteCause::Eviction, Vec::new()),
                (exit, _) => self.enter_llc(line, if exit == Exit::Down { held.meta } else { 0 }),
            }
        }
        true
    }
    /// Finishes the oldest clean that the design asked for; false if there is none or it must wait.
    pub fn clean<D: Design>(&mut self, bench: &mut Bench<D>) -> bool {
        let Some(request) = bench.cx.cleans.first().copied() else {
            return false;
        };
        let (line, notify) = (request.line, vec![(request.hw_thread, request.tag)]);
        let newest = self.dirty_copies(line).into_iter().next();
        if let Some((level, way)) = newest
            && request.kind != CleanKind::ToLlc
            && self.may_leave(bench, level, &way, Why::Cleaned).is_err()
        {
            return false;
        }
        bench.cx.cleans.remove(0);
        for l1 in &mut self.l1 {
            match request.kind {
                CleanKind::Invalidate => {
                    l1.remove(&line);
                }
                kind => {
                    if let Some(h) = l1.get_mut(&line) {
                        h.dirty = false;
                        h.state = match (kind, h.state) {
                            (CleanKind::KeepShared, _) | (_, State::Shared) => State::Shared,
                            _ => State::Exclusive,
                        };
                    }
                }
            }
        }
        let data = bench.cx.coherent(line);
        let Some((level, way)) = newest else {
            self.outgoing.join(bench, line, notify);
            return true;
        };
        if request.kind != CleanKind::ToLlc
            && let Some(below) = self.llc.get_mut(&line)
        {
            (below.dirty, below.meta) = (false, 0);
        }
        match self.leaves(bench, level, &way, Why::Cleaned) {
            Exit::Drop => tell(bench, &notify, None),
            exit if request.kind == CleanKind::ToLlc => {
                self.enter_llc(line, if exit == Exit::Down { way.meta } else { 0 });
                tell(bench, &notify, Some(&data));
            }
            _ => self.write_out(bench, line, WriteCause::Flush, notify),
        }
        true
    }
    fn enter_llc(&mut self, line: LineAddr, meta: u32) {
        self.llc.insert(line, Held::new(State::Shared, true, meta));
    }
    /// The dirty copies of a line, private ones first.
    fn dirty_copies(&self, line: LineAddr) -> Vec<(Level, Way)> {
        let private = self
            .l1
            .iter()
            .enumerate()
            .filter_map(|(c, l1)| Some((Level::L1(CoreId(c as u8)), l1.get(&line)?)));
        let shared = self.llc.get(&line).map(|h| (Level::Llc, h));
        private
            .chain(shared)
            .filter(|(_, h)| h.dirty)
            .map(|(l, h)| (l, way_of(line, h)))
            .collect()
    }
    fn may_leave<D: Design>(&mut self, bench: &mut Bench<D>, from: Level, way: &Way, why: Why) -> Result<(), NotYet> {
        let asked = (from, way.line);
        if !bench.hooks.holds {
            return Ok(());
        }
        if self.refused.contains(&asked) {
            return Err(NotYet);
        }
        match bench.design.may_leave(&mut bench.cx, from, way, why) {
            Gate::Go => Ok(()),
            Gate::Wait(_) => {
                self.refused.push(asked);
                Err(NotYet)
            }
        }
    }
    fn leaves<D: Design>(&self, bench: &mut Bench<D>, from: Level, way: &Way, why: Why) -> Exit {
        let data = bench.cx.coherent(way.line);
        match bench.hooks.leaving {
            true => bench.design.leaving(&mut bench.cx, from, way, &data, why),
            false => Exit::Down,
        }
    }

    // ---- other cores

    fn peers_agree<D: Design>(
        &mut self,
        bench: &mut Bench<D>,
        core: CoreId,
        line: LineAddr,
        exclusive: bool,
    ) -> Result<(), NotYet> {
        let why = if exclusive {
            Why::TakenBy(core)
        } else {
            Why::Downgraded(core)
        };
        for (level, way) in self.dirty_copies(line) {
            if level != Level::Llc && level != Level::L1(core) {
                self.may_leave(bench, level, &way, why)?;
            }
        }
        Ok(())
    }
    /// Takes the line from every other core, or makes it shared there; what was taken dirty, and whether any core had it.
    fn move_peers<D: Design>(
        &mut self,
        bench: &mut Bench<D>,
        core: CoreId,
        line: LineAddr,
        exclusive: bool,
    ) -> (Option<Held>, bool) {
        let (mut taken, mut found) = (None, false);
        let why = if exclusive {
            Why::TakenBy(core)
        } else {
            Why::Downgraded(core)
        };
        for c in (0..self.l1.len()).filter(|c| *c != core.index()) {
            let Some(mut held) = self.l1[c].get(&line).copied() else {
                continue;
            };
            found = true;
            if held.dirty {
                let way = way_of(line, &held);
                let exit = self.leaves(bench, Level::L1(CoreId(c as u8)), &way, why);
                held.dirty = exit != Exit::Drop;
                held.meta = if exit == Exit::Down { held.meta } else { 0 };
            }
            if exclusive {
                self.l1[c].remove(&line);
                taken = Some(held);
            } else {
                self.l1[c].insert(line, Held::new(State::Shared, false, 0));
                if held.dirty {
                    self.enter_llc(line, held.meta);
                }
            }
        }
        (taken, found)
    }

    // ---- memory

    /// A read that missed every cache: the design supplies the line, or memory must hold its newest bytes.
    fn read_memory<D: Design>(&mut self, bench: &mut Bench<D>, hw_thread: HwThread, line: LineAddr) {
        if bench.hooks.reads && bench.design.read_missed(&mut bench.cx, hw_thread, line) != ReadAnswer::Pass {
            return self.check_supplied(bench, line);
        }
        let versions = bench.design.versions().filter(|_| bench.hooks.versions);
        let from = versions.map_or(line, |v| v.read_from(&mut bench.cx, line));
        let found = self.outgoing.newest(from).unwrap_or_else(|| bench.cx.in_memory(from));
        if line.is_persistent() && found.words != bench.cx.coherent(line).words {
            let why = format!(
                "a read of {line:?} finds {:?}, which is not what was last stored",
                found.words
            );
            self.stale.get_or_insert(why);
        }
    }
    /// A design can supply only what some store brought it and it still holds: what the media do not have, or, in a buffer whose
    /// entries leave in order, what became durable before an older write did.
    fn check_supplied<D: Design>(&mut self, bench: &Bench<D>, line: LineAddr) {
        let all_durable = bench.cx.writes.iter().all(|w| w.durable);
        if all_durable && bench.cx.durable_line(line).words == bench.cx.coherent(line).words {
            let why = format!("the design supplies {line:?}, of which it holds nothing that is not durable");
            self.stale.get_or_insert(why);
        }
    }
    fn write_out<D: Design>(
        &mut self,
        bench: &mut Bench<D>,
        line: LineAddr,
        cause: WriteCause,
        notify: Vec<(HwThread, u64)>,
    ) {
        self.outgoing.send(bench, line, cause, notify);
    }
    /// Admits writes of the caches' own that can be admitted; true if any was.
    pub fn try_outgoing<D: Design>(&mut self, bench: &mut Bench<D>) -> bool {
        self.outgoing.advance(bench)
    }
    /// Whether no write of the caches' own waits.
    pub fn idle(&self) -> bool {
        self.outgoing.idle()
    }
}

fn way_of(line: LineAddr, held: &Held) -> Way {
    Way {
        line,
        dirty: held.dirty,
        meta: held.meta,
        frozen: false,
    }
}
