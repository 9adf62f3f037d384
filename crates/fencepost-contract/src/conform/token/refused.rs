//! What a refusal names.

use super::super::Refusal;
use super::super::state::Names;
use super::Check;
use crate::graph::{LocationId, NodeId};

impl Check<'_> {
    /// The word holds a value that only an older store than the durable one has written.
    pub(super) fn taken_back(&self, location: LocationId, value: u64, event: usize) -> Refusal {
        let versions = self.space.graph.versions(location);
        let durable = self.durable[location.index()] as usize;
        let older = versions[..durable].iter().rev().find(|v| v.value == value);
        let newer = durable.checked_sub(1).and_then(|d| self.store_at(versions[d].node));
        match newer {
            Some(newer) => Refusal::Reversed {
                older: older.and_then(|v| self.store_at(v.node)),
                newer,
                event,
            },
            None => Refusal::Unknown {
                what: format!(
                    "a performed store of {value:#x} to {}",
                    self.space.graph.address(location)
                ),
                event,
            },
        }
    }
    /// A store is durable before what has to be.
    pub(super) fn refuse_order(&self, node: NodeId, event: usize) -> Refusal {
        let (missing, chain) = self.settled.missing_before(node);
        let names = Names::new(self.trace, self.space);
        let refusal = names.order(missing, &chain, event);
        refusal.expect("an unready store waits for a store")
    }
}
