//! What an audit may pass over: data that is as set-up left it.

use fencepost_kernel::{LineAddr, Mem, Span};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// Lines of a structure's planted part that may differ from what set-up left, or that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Changed(Option<Rc<[LineAddr]>>);

impl Changed {
    /// Asks the memory.
    pub(crate) fn of<M: Mem<Dep = ()>>(m: &mut M, planted: Span) -> Changed {
        Changed(m.changed_since_setup(planted).map(Rc::from))
    }
    /// Whether all of this part is as set-up left it, for certain. It lies in what was asked for.
    pub(crate) fn none_in(&self, part: Span) -> bool {
        let (first, count) = part.lines();
        self.0.as_ref().is_some_and(|lines| {
            let next = lines.partition_point(|l| *l < first);
            lines.get(next).is_none_or(|l| l.0 >= first.0 + count)
        })
    }
}
impl Hash for Changed {
    /// Audits of one exploration are told the same lines: more than their number tells nothing apart.
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.0.as_ref().map(|lines| lines.len()).hash(h);
    }
}
