//! Whether a crash state is there only because two threads were not seen to meet.

use fencepost_contract::recorded::RecordedLog;
use fencepost_kernel::{HwThread, StoreId, TraceKind};
use fencepost_record::Clocks;
use std::collections::{BTreeMap, HashSet};

/// Of a thread, the newest of its stores that are lost.
#[derive(Default)]
struct Lost {
    /// One behind which no fence has come yet.
    open: Option<StoreId>,
    /// One behind which there was a fence, and the event of that.
    ordered: Option<(StoreId, u64)>,
}

/// A lost store that its thread has ordered by a fence, and a durable store of another thread after that fence, where nothing in the log
/// tells that thread of it. For logs in the instructions of a design that orders by fences alone.
pub(crate) fn apart(log: &RecordedLog, missing: &[StoreId], end: usize) -> Option<(StoreId, StoreId)> {
    let events = log.trace.events.iter().take(end);
    if events.clone().any(|e| matches!(e.kind, TraceKind::Flush { .. })) {
        return None;
    }
    let missing: HashSet<StoreId> = missing.iter().copied().collect();
    let (mut clocks, mut lost) = (Clocks::default(), BTreeMap::<HwThread, Lost>::new());
    for (i, event) in events.enumerate() {
        let Some(thread) = event.thread else { continue };
        let (me, number) = (u32::from(thread.0), i as u64);
        let stored = match event.kind {
            TraceKind::Load { addr, .. } => {
                clocks.takes_over(me, addr.word().0);
                None
            }
            TraceKind::Fence(fence) if fence.properties().orders_persists => {
                let lost = lost.entry(thread).or_default();
                lost.ordered = lost.open.take().map(|s| (s, number)).or(lost.ordered);
                None
            }
            TraceKind::Store(s) => Some(s),
            TraceKind::Rmw { addr, store, .. } => {
                clocks.takes_over(me, addr.word().0);
                store
            }
            _ => None,
        };
        let Some(store) = stored else { continue };
        let addr = log.trace.store(store).addr;
        if addr.is_persistent() {
            clocks.takes_over(me, addr.word().0);
            if missing.contains(&store) {
                lost.entry(thread).or_default().open = Some(store);
            } else {
                let others = lost.iter().filter(|(t, _)| **t != thread);
                let ordered = others.filter_map(|(t, l)| Some((u32::from(t.0), l.ordered?)));
                for (other, (before, fence)) in ordered {
                    if !clocks.comes_after(me, other, fence) {
                        return Some((before, store));
                    }
                }
            }
        }
        clocks.hands_on(me, addr.word().0, number);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_contract::recorded::parse;

    /// The first store is lost, and the last one is durable.
    fn found(between: &str) -> Option<(u32, u32)> {
        let log = parse(&format!("fencepost-log 1\n0 store pm+0 1\n{between}1 store pm+64 1\n")).unwrap();
        let missing = [StoreId::from_index(0).unwrap()];
        let (a, b) = apart(&log, &missing, log.trace.events.len())?;
        Some((a.index() as u32 + 1, b.index() as u32 + 1))
    }
    #[test]
    fn threads_are_apart_where_nothing_tells_one_of_the_others_fence() {
        assert_eq!(found("0 dmb\n"), Some((1, 2)));
        assert_eq!(found(""), None, "without a fence nothing is ordered");
        assert_eq!(found("0 dmb\n0 store 0x40 1\n1 load 0x40\n"), None);
        assert_eq!(found("0 dmb\n0 rmw 0x40 1\n1 rmw 0x40 2\n"), None);
        assert_eq!(
            found("0 dmb\n0 store 0x40 1\n1 load 0x48\n"),
            Some((1, 3)),
            "another word"
        );
        assert_eq!(
            found("0 store 0x40 1\n1 load 0x40\n0 dmb\n"),
            Some((1, 3)),
            "before the fence"
        );
        assert_eq!(
            found("0 dmb\n0 store 0x40 1\n2 load 0x40\n2 store 0x80 1\n1 load 0x80\n"),
            None,
            "by a third"
        );
        // Where data are flushed a fence alone says nothing of them.
        assert_eq!(found("0 clwb pm+0\n0 dmb\n"), None);
    }
}
