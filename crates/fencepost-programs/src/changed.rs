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

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::Addr;

    /// A part is as set-up left it if none of its lines is among those that may differ; where nothing is known nothing is.
    #[test]
    fn a_part_is_untouched_if_none_of_its_lines_changed() {
        let changed = Changed(Some([3, 4, 9].map(LineAddr).into()));
        for (first, count) in (0..12u64).flat_map(|f| (1..6).map(move |c| (f, c))) {
            let part = Span {
                at: Addr(first * 64),
                len: count * 64,
            };
            let untouched = (first..first + count).all(|l| ![3, 4, 9].contains(&l));
            assert_eq!(changed.none_in(part), untouched, "{count} lines from {first}");
            assert!(!Changed(None).none_in(part));
            assert!(Changed(Some(Rc::from([]))).none_in(part));
        }
    }
    /// Of one exploration what is told is told by how much it is.
    #[test]
    fn changes_that_differ_in_number_hash_apart() {
        let hash = |lines: Option<&[u64]>| {
            let mut h = std::collections::hash_map::DefaultHasher::new();
            Changed(lines.map(|l| l.iter().copied().map(LineAddr).collect())).hash(&mut h);
            h.finish()
        };
        assert_ne!(hash(None), hash(Some(&[])));
        assert_ne!(hash(Some(&[1])), hash(Some(&[1, 2])));
    }
}
