//! Traces written event by event.

use fencepost_contract::{Contract, ContractKind, CrashSpace};
use fencepost_kernel::{Addr, Fence, HwThread, Image, StoreId, StoreInfo, Trace, TraceEvent, TraceKind, TxId};
use std::panic::Location;

pub(crate) const X: Addr = Addr::pm(0);
pub(crate) const Y: Addr = Addr::pm(64);
pub(crate) const Z: Addr = Addr::pm(128);
pub(crate) const V: Addr = Addr(4096);

/// Builds a trace event by event.
#[derive(Default)]
pub(crate) struct Script {
    pub trace: Trace,
    tx: [Option<TxId>; 4],
}
impl Script {
    pub(crate) fn of(threads: u32) -> Script {
        Script {
            trace: Trace {
                threads,
                ..Trace::default()
            },
            ..Script::default()
        }
    }
    #[track_caller]
    pub(crate) fn store(&mut self, thread: u8, addr: Addr, value: u64) -> StoreId {
        let (tx, source) = (self.tx[usize::from(thread)], Location::caller().into());
        self.trace.stores.push(StoreInfo {
            thread: HwThread(thread),
            addr,
            value,
            nt: false,
            tx,
            source,
        });
        let id = StoreId::from_index(self.trace.stores.len() - 1).unwrap();
        self.event(thread, TraceKind::Store(id));
        id
    }
    pub(crate) fn load(&mut self, thread: u8, addr: Addr, from: Option<StoreId>) {
        self.event(thread, TraceKind::Load { addr, from });
    }
    pub(crate) fn fence(&mut self, thread: u8, fence: Fence) {
        self.event(thread, TraceKind::Fence(fence));
    }
    pub(crate) fn event(&mut self, thread: u8, kind: TraceKind) {
        match kind {
            TraceKind::TxBegin(id) => self.tx[usize::from(thread)] = Some(id),
            TraceKind::TxCommit(_) | TraceKind::TxAbort(_) => self.tx[usize::from(thread)] = None,
            _ => {}
        }
        self.trace.events.push(TraceEvent {
            thread: Some(HwThread(thread)),
            kind,
        });
    }
    pub(crate) fn space(&self, kind: ContractKind) -> CrashSpace {
        Contract::from(kind).space(&self.trace, &Image::default())
    }
    pub(crate) fn ordered(&self, kind: ContractKind, a: StoreId, b: StoreId) -> bool {
        let space = self.space(kind);
        let node = |s: StoreId| space.node_of[s.index()].unwrap();
        space.graph.is_before(node(a), node(b))
    }
}
