//! The audit of the crit-bit tree: its leaves from left to right, an entry a step, which is the order of the keys. What hangs below a
//! node as set-up left it is one step.

use super::node::{DIFF, KEY, REF, TAG, entry};
use crate::changed::Changed;
use crate::layout::Rows;
use crate::objects::{NODE, NONE, VALUE, Values};
use crate::ordered_keys::{Ascent, KeyModel, Step};
use fencepost_kernel::{Addr, At, Mem, Violation};
use std::ops::Range;

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
    /// What may differ from what set-up left; asked at the first step.
    changed: Option<Changed>,
}

/// What an audit knows of the tree.
#[derive(Copy, Clone)]
pub(super) struct Known<'a> {
    pub model: &'a KeyModel,
    pub values: Values,
    /// Blocks of the planted keys: of the `n`-th in order its value, and the node that parts it from the next.
    pub planted: Rows,
}
impl Known<'_> {
    /// The planted keys below the node at `to`, which tells bit `diff` apart, if all of them hang there as set-up left them.
    fn untouched(&self, changed: &Changed, place: &Place, to: u64, diff: u64) -> Option<Range<usize>> {
        let keys = &self.model.planted;
        let block = self.planted.number(to).filter(|block| block % 2 == 1)?;
        let number = (block / 2) as usize;
        let (key, _) = keys.get(number)?;
        let below = u64::MAX >> (63 - diff);
        let from = keys.partition_point(|k| k.0 < key & !below);
        let end = keys.partition_point(|k| k.0 <= key | below);
        let blocks = self.planted.part(2 * from as u64..2 * end as u64 - 1);
        // A node among the blocks that are as they were is itself what set-up made of it.
        let whole = number + 1 < end && changed.none_in(blocks);
        (whole && key & place.mask == place.bits).then_some(from..end)
    }
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
            changed: None,
        }
    }
    /// One entry; `None` after the last.
    pub(super) fn step<M: Mem<Dep = ()>>(
        mut self,
        m: &mut M,
        tree: Known<'_>,
        owns: impl Fn(u64) -> bool,
    ) -> Step<CtreeAudit> {
        let Known { model, values, planted } = tree;
        model.sound()?;
        let changed = self.changed.get_or_insert_with(|| Changed::of(m, planted.span()));
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
                if let Some(keys) = tree.untouched(changed, &place, to, diff) {
                    self.keys.pass_over(model, to, keys)?;
                    return Ok(Some(self));
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
