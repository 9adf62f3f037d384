//! The audit of the crit-bit tree: its leaves from left to right, an entry a step, which is the order of the keys.

use super::node::{DIFF, KEY, REF, TAG, entry};
use crate::objects::{NODE, NONE, VALUE, Values};
use crate::ordered_keys::{Ascent, KeyModel, Step};
use fencepost_kernel::{Addr, At, Mem, Violation};

/// An entry that is yet to be read, and what must hold of every key below it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    entry: u64,
    /// Nodes below tell lower bits apart.
    below: u64,
    /// Bits that are decided, and how.
    mask: u64,
    bits: u64,
}

/// State between two steps of the audit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CtreeAudit {
    /// Entries yet to be read, the leftmost last.
    places: Vec<Place>,
    keys: Ascent,
}

impl CtreeAudit {
    pub(super) fn start(root: Addr, keys: Ascent) -> CtreeAudit {
        let root = Place {
            entry: root.0,
            below: 64,
            mask: 0,
            bits: 0,
        };
        CtreeAudit {
            places: vec![root],
            keys,
        }
    }
    /// One entry; `None` after the last.
    pub(super) fn step<M: Mem<Dep = ()>>(
        mut self,
        m: &mut M,
        model: &KeyModel,
        values: Values,
        owns: impl Fn(u64) -> bool,
    ) -> Step<CtreeAudit> {
        model.sound()?;
        let Some(place) = self.places.pop() else {
            return self.keys.finish(model).map(|()| None);
        };
        let at = At::new(Addr(place.entry));
        let (key, tag, to) = (
            m.load(at.field(KEY)).v,
            m.load(at.field(TAG)).v,
            m.load(at.field(REF)).v,
        );
        let wrong = |why: &str| Err(Violation::at(at.addr, why));
        match tag {
            NONE if place.below == 64 => return Ok(Some(self)),
            NODE | VALUE if !owns(to) => return wrong("an entry leads to something that is no block"),
            NODE => {
                let diff = m.load(At::new(Addr(to + DIFF))).v;
                if diff >= place.below {
                    return wrong("a node is not whole, or out of order");
                }
                let below = |side: u64| Place {
                    entry: entry(At::<()>::new(Addr(to)), side).addr.0,
                    below: diff,
                    mask: place.mask | 1 << diff,
                    bits: place.bits | side << diff,
                };
                self.places.extend([below(1), below(0)]);
            }
            VALUE => {
                if key & place.mask != place.bits {
                    return wrong("a key stands where no search finds it");
                }
                let Some(value) = values.whole(m, At::new(Addr(to))) else {
                    return wrong("a value is not whole");
                };
                self.keys.pair(model, place.entry, key, value)?;
            }
            _ => return wrong("an entry is not whole"),
        }
        Ok(Some(self))
    }
}
