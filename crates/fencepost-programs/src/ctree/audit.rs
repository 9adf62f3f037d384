//! The audit of the crit-bit tree: its leaves from left to right, an entry a step, which is the order of the keys.

use super::node::{DIFF, KEY, REF, TAG, entry};
use crate::objects::{NODE, NONE, VALUE, Values};
use crate::oracle::{Cut, History};
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
    /// Next of the model's keys that has not been judged.
    next: usize,
    cut: Cut,
}

impl CtreeAudit {
    pub(super) fn start(root: Addr, cut: Cut) -> CtreeAudit {
        let root = Place {
            entry: root.0,
            below: 64,
            mask: 0,
            bits: 0,
        };
        CtreeAudit {
            places: vec![root],
            next: 0,
            cut,
        }
    }
    /// One entry; `None` after the last.
    pub(super) fn step<M: Mem<Dep = ()>>(
        mut self,
        m: &mut M,
        history: &History,
        (keys, values): (&[u64], Values),
        owns: impl Fn(u64) -> bool,
    ) -> Result<Option<CtreeAudit>, Violation> {
        if let Some(fault) = history.fault() {
            return Err(Violation {
                why: fault.into(),
                at: None,
            });
        }
        let Some(place) = self.places.pop() else {
            self.absent_before(history, keys, None)?;
            return Ok(None);
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
                self.absent_before(history, keys, Some(key))?;
                if keys.get(self.next) != Some(&key) {
                    return wrong("a key is out of order, twice in the tree or of no operation");
                }
                self.next += 1;
                if history.observe(&mut self.cut, key, value).is_err() {
                    return wrong("a key has the value of no prefix of the operations");
                }
            }
            _ => return wrong("an entry is not whole"),
        }
        Ok(Some(self))
    }
    /// Every key before this one (all, if there is none) that was passed over is absent.
    fn absent_before(&mut self, history: &History, keys: &[u64], key: Option<u64>) -> Result<(), Violation> {
        while let Some(passed) = keys.get(self.next).filter(|k| key.is_none_or(|key| **k < key)) {
            history.observe(&mut self.cut, *passed, 0).map_err(|_| Violation {
                why: format!("key {passed:#x} is absent in no prefix of the operations"),
                at: None,
            })?;
            self.next += 1;
        }
        Ok(())
    }
}
