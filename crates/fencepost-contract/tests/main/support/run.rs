//! A recorded execution: trace and persist log, as a machine would leave them.

use super::{Loc, Shape};
use fencepost_contract::{ConformReport, Contract, Demands, Refusal, conform};
use fencepost_kernel::{LineAddr, LineData, PersistRecord, Ps, StoreId, Stream, Trace, TraceKind, WriteCause};
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub trace: Trace,
    pub records: Vec<PersistRecord>,
    addrs: Vec<fencepost_kernel::Addr>,
    media: BTreeMap<LineAddr, LineData>,
}

/// The events with these old numbers (positions) now have those new ones.
pub(crate) fn move_dependences(trace: &mut Trace, moved: &[u32]) {
    for d in &mut trace.dependences {
        (d.event, d.on) = (moved[d.event as usize], moved[d.on as usize]);
    }
}

impl Run {
    pub(crate) fn new(shape: &Shape) -> Run {
        let addrs = (0..shape.locations.len()).map(|l| shape.addr(l)).collect();
        let trace = Trace {
            threads: shape.threads.len() as u32,
            ..Trace::default()
        };
        Run {
            trace,
            records: Vec::new(),
            addrs,
            media: BTreeMap::new(),
        }
    }
    /// Takes the durable events out of the trace.
    pub(crate) fn take_durable_events(&mut self) -> Vec<fencepost_kernel::TraceEvent> {
        let is_durable = |e: &fencepost_kernel::TraceEvent| matches!(e.kind, TraceKind::Durable { .. });
        let mut kept = 0;
        let moved = self.trace.events.iter().map(|e| {
            kept += u32::from(!is_durable(e));
            kept.saturating_sub(1)
        });
        let moved: Vec<u32> = moved.collect();
        move_dependences(&mut self.trace, &moved);
        self.trace.events.extract_if(.., |e| is_durable(e)).collect()
    }
    /// The (unique) store that wrote `value` to the location.
    pub(crate) fn store_with(&self, loc: Loc, value: u64) -> StoreId {
        let at = self
            .trace
            .stores
            .iter()
            .position(|s| s.addr == self.addrs[loc] && s.value == value);
        StoreId::from_index(at.expect("values come from stores")).unwrap()
    }
    /// The location's word becomes durable with this value: a record of the whole line.
    pub(crate) fn persist(&mut self, loc: Loc, value: u64) {
        self.persist_store(self.store_with(loc, value));
    }
    /// The store becomes durable: a record of its line as the media now has it.
    pub(crate) fn persist_store(&mut self, store: StoreId) {
        let info = self.trace.store(store);
        let line = info.addr.line();
        let data = self.media.entry(line).or_default();
        data.words[info.addr.word_in_line()] = info.value;
        data.by[info.addr.word_in_line()] = Some(store);
        let record = PersistRecord {
            time: Ps(self.records.len() as u64),
            line,
            data: *data,
            cause: WriteCause::Eviction,
        };
        self.records.push(record);
        self.trace.push_hardware(TraceKind::Durable {
            index: self.records.len() as u32 - 1,
        });
    }
    /// Merges some neighbouring writes of one line into one.
    pub(crate) fn coalesce(&mut self, rng: &mut Stream) {
        let record_of = |kind| match kind {
            TraceKind::Durable { index } => Some(index as usize),
            _ => None,
        };
        let mut i = 0;
        while i + 1 < self.trace.events.len() {
            let pair = (
                record_of(self.trace.events[i].kind),
                record_of(self.trace.events[i + 1].kind),
            );
            match pair {
                (Some(a), Some(b)) if self.records[a].line == self.records[b].line && rng.chance(1, 2) => {
                    self.trace.events.remove(i);
                }
                _ => i += 1,
            }
        }
    }
    pub(crate) fn conform(&self, contract: &Contract) -> Result<ConformReport, Box<Refusal>> {
        conform(&self.trace, &self.records, contract, Demands::default())
    }
    /// The positions of the durable events.
    pub(crate) fn durable_events(&self) -> Vec<usize> {
        let durable = |i: &usize| matches!(self.trace.events[*i].kind, TraceKind::Durable { .. });
        (0..self.trace.events.len()).filter(durable).collect()
    }
}
