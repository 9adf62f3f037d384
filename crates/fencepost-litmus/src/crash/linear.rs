//! An execution as a trace: one order of its events that every relation of its model agrees with.

use super::layout::Layout;
use super::machine::record::push_store;
use crate::executions::execution::Solution;
use crate::executions::relation::bits;
use crate::format::op::Barrier;
use crate::paths::path::{Event, Path};
use fencepost_kernel::{Fence, HwThread, StoreId, Trace, TraceKind};

/// What stands at one place of the order.
#[derive(Copy, Clone)]
enum Item {
    Event(usize),
    Fence(usize, Fence),
}

/// What a trace calls a fence; flush instructions and what only orders loads are left out.
fn fence(barrier: Barrier, x86: bool) -> Option<Fence> {
    Some(match barrier {
        Barrier::Full | Barrier::FullSync if x86 => Fence::Mfence,
        Barrier::Full | Barrier::FullSync | Barrier::Light => Fence::Dmb,
        Barrier::Store | Barrier::StoreSync | Barrier::Eieio => Fence::DmbSt,
        Barrier::Sfence => Fence::Sfence,
        Barrier::Persist => Fence::PersistBarrier,
        Barrier::NewStrand => Fence::NewStrand,
        Barrier::Load | Barrier::LoadSync | Barrier::Lfence | Barrier::Isync | Barrier::Pcommit => return None,
    })
}

struct Order<'a> {
    solution: &'a Solution<'a>,
    items: Vec<Item>,
    /// By item: items before it.
    before: Vec<Vec<usize>>,
    /// By event: its item, if it is in the trace.
    item_of: Vec<Option<usize>>,
}

/// The trace of an execution that its model orders by `solution.graph.order` and communication. Loads that the thread's own
/// later-performing store answers (forwarding) are left out where the order needs it.
pub(super) fn trace(solution: &Solution<'_>, layout: &Layout) -> Option<Trace> {
    let order = Order::new(solution);
    let placed = order.sort(true).or_else(|| order.sort(false))?;
    Some(order.record(&placed, layout))
}

impl<'a> Order<'a> {
    fn new(solution: &'a Solution<'a>) -> Order<'a> {
        let x86 = solution.program.test.arch.is_x86();
        let mut order = Order {
            solution,
            items: Vec::new(),
            before: Vec::new(),
            item_of: vec![None; solution.graph.n],
        };
        for (thread, path) in solution.paths.iter().enumerate() {
            order.thread(thread, path, x86);
        }
        order
    }

    /// The items of a thread, and what its fences order.
    fn thread(&mut self, thread: usize, path: &Path, x86: bool) {
        let first = self.solution.first[thread];
        let start = self.items.len();
        let mut fences = path
            .fences
            .iter()
            .filter_map(|(at, b)| Some((usize::from(*at), fence(*b, x86)?)))
            .peekable();
        for at in 0..=path.events.len() {
            while let Some((_, fence)) = fences.next_if(|(f, _)| *f == at) {
                self.items.push(Item::Fence(thread, fence));
                self.before.push(Vec::new());
            }
            let Some(event) = path.events.get(at).filter(|e| e.is_read() || e.is_write()) else {
                continue;
            };
            self.item_of[first + at] = Some(self.items.len());
            // A locked instruction is one item, that of its write.
            if event.atomic && path.events.get(at + 1).is_some_and(|w| w.rmw == Some(at as u8)) {
                continue;
            }
            if event.atomic && event.rmw.is_some() {
                let read = at - 1;
                self.item_of[first + read] = Some(self.items.len());
            }
            self.items.push(Item::Event(first + at));
            self.before.push(Vec::new());
        }
        for i in start..self.items.len() {
            for j in start..i {
                if self.ordered(self.items[j], self.items[i]) {
                    self.before[i].push(j);
                }
            }
        }
    }

    fn ordered(&self, a: Item, b: Item) -> bool {
        let passes = |fence: Fence, event: usize| {
            let stores_only = !fence.properties().orders_loads;
            stores_only && self.solution.event(event).1.is_read()
        };
        match (a, b) {
            (Item::Fence(..), Item::Fence(..)) => true,
            (Item::Fence(_, f), Item::Event(e)) | (Item::Event(e), Item::Fence(_, f)) => !passes(f, e),
            (Item::Event(_), Item::Event(_)) => false,
        }
    }

    /// A linear order of the items, smallest first; `forwarded`: own reads come after the stores that they read.
    fn sort(&self, forwarded: bool) -> Option<Vec<usize>> {
        let g = self.solution.graph;
        let mut before = self.before.clone();
        let mut dropped = vec![false; self.items.len()];
        for event in 0..g.n {
            let Some(at) = self.item_of[event] else { continue };
            let internal = g.rf.row(event) & g.thread[event];
            if !forwarded {
                for read in bits(internal) {
                    let read = self.item_of[read]?;
                    dropped[read] = matches!(self.items[read], Item::Event(e) if self.solution.event(e).1.is_read());
                }
            }
            let external = g.rf.row(event) & !g.thread[event];
            let reads = if forwarded { external | internal } else { external };
            let later = g.order.row(event) | g.strong.row(event) | g.co.row(event) | g.fr.row(event) | reads;
            for next in bits(later).filter_map(|e| self.item_of[e]).filter(|n| *n != at) {
                before[next].push(at);
            }
        }
        let mut placed = Vec::new();
        let mut done = dropped;
        let total = done.iter().filter(|d| !**d).count();
        while placed.len() < total {
            let ready = (0..self.items.len()).find(|i| !done[*i] && before[*i].iter().all(|b| done[*b]))?;
            done[ready] = true;
            placed.push(ready);
        }
        Some(placed)
    }

    fn record(&self, placed: &[usize], layout: &Layout) -> Trace {
        let solution = self.solution;
        let mut trace = Trace {
            threads: solution.paths.len() as u32,
            ..Trace::default()
        };
        let mut stores: Vec<Option<StoreId>> = vec![None; solution.graph.n];
        let mut place: Vec<Option<u32>> = vec![None; solution.graph.n];
        for item in placed {
            let number = match self.items[*item] {
                Item::Fence(thread, fence) => {
                    trace.push(HwThread(thread as u8), TraceKind::Fence(fence));
                    continue;
                }
                Item::Event(number) => number,
            };
            let (thread, event) = solution.event(number);
            let Some(word) = layout.index(event.addr) else { continue };
            let (hw_thread, addr) = (HwThread(thread as u8), layout.words[word].addr);
            let source = |read: usize| (0..solution.graph.n).find(|w| solution.graph.rf.has(*w, read));
            place[number] = Some(trace.next_event());
            if event.is_read() {
                let from = source(number).and_then(|w| stores[w]);
                trace.push(hw_thread, TraceKind::Load { addr, from });
            } else {
                let id = push_store(&mut trace, hw_thread, addr, event.value, event.nt);
                stores[number] = id;
                let read = event
                    .rmw
                    .filter(|_| event.atomic)
                    .map(|r| solution.first[thread] + usize::from(r));
                match (read, id) {
                    (Some(read), store) => {
                        place[read] = place[number];
                        let from = source(read).and_then(|w| stores[w]);
                        trace.push(hw_thread, TraceKind::Rmw { addr, from, store });
                    }
                    (None, Some(id)) => trace.push(hw_thread, TraceKind::Store(id)),
                    (None, None) => {}
                }
            }
            let first = solution.first[thread];
            let here = place[number].unwrap_or(0);
            let needs = needs(solution.paths[thread], number - first, event);
            let on: Vec<u32> = bits(needs)
                .filter_map(|r| place[first + r])
                .filter(|p| *p < here)
                .collect();
            on.into_iter().for_each(|p| trace.depends_on(p));
        }
        trace
    }
}

/// The reads that an event needs: for a store also those that decided branches and earlier addresses.
fn needs(path: &Path, at: usize, event: &Event) -> u64 {
    let n = &event.needs;
    let isync = n.isync_ctrl | n.isync_addr | n.isync_pick;
    if event.is_read() {
        return n.addr | n.pick | isync;
    }
    let addresses = path.events[..at].iter().fold(0, |s, e| s | e.needs.addr);
    n.addr | n.data | n.ctrl | n.pick | isync | addresses
}
