//! The audit of the chained map: every chain, a bucket a step; then every key that may be there, looked up, a key a step. Chains that
//! are as set-up left them are passed over, and the keys that it put there.

use super::plan::{MapModel, Parts, Plan};
use super::table::{BUCKETS, COUNT, KEY, NEXT, Table, VALUE_AT};
use crate::objects::Values;
use crate::oracle::Cut;
use crate::ordered_keys::Step;
use fencepost_kernel::{Addr, At, Mem, Violation};
use std::rc::Rc;

/// State between two steps of the audit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HashmapAudit {
    /// What is read; made at the first step.
    plan: Option<Rc<Plan>>,
    /// Chains that have been walked.
    walked: usize,
    /// Entries of the chains walked that were not found by their keys yet.
    entries: u64,
    /// Keys looked up, once all chains have been walked.
    key: Option<usize>,
    cut: Cut,
}

impl HashmapAudit {
    pub(super) fn start(cut: Cut) -> HashmapAudit {
        HashmapAudit {
            plan: None,
            walked: 0,
            entries: 0,
            key: None,
            cut,
        }
    }
    /// A bucket or a key; `None` after the last.
    pub(super) fn step<M: Mem<Dep = ()>>(mut self, m: &mut M, map: &Parts<'_>, model: &MapModel) -> Step<HashmapAudit> {
        model.keys.sound()?;
        let root = At::new(map.table.root);
        let array = m.load(root.field(BUCKETS)).v;
        let Some(nbuckets) = map.table.buckets_at(array) else {
            return Err(Violation::at(
                root.field(BUCKETS).addr,
                "the map names no array of buckets",
            ));
        };
        let array = At::new(Addr(array));
        let plan = self.plan.get_or_insert_with(|| Rc::new(Plan::of(m, map, model, array)));
        let plan = Rc::clone(plan);
        let Some(i) = self.key else {
            return self.chain(m, map, &plan, (array, nbuckets));
        };
        let Some(key) = plan.key(i, model) else {
            let why = "the map holds a key of no operation";
            return if self.entries == 0 {
                Ok(None)
            } else {
                Err(Violation::at(root.addr, why))
            };
        };
        let head = Table::bucket(array, key, nbuckets);
        let value = find(m, head, key, map.inserts.values)?;
        let counts = value != 0 && plan.walks(Table::number(key, nbuckets));
        self.entries -= u64::from(counts).min(self.entries);
        if model.keys.history.observe(&mut self.cut, key, value).is_err() {
            let why = "a key has the value of no prefix of the operations, or is not there";
            return Err(Violation::at(head.addr, why));
        }
        self.key = Some(i + 1);
        Ok(Some(self))
    }
    /// Walks one chain: entries stand where their keys belong, and there are as many as the map counts.
    fn chain<M: Mem<Dep = ()>>(
        mut self,
        m: &mut M,
        map: &Parts<'_>,
        plan: &Plan,
        (array, nbuckets): (At<()>, u64),
    ) -> Step<HashmapAudit> {
        let count = At::new(map.table.root).field(COUNT);
        if self.walked == 0 && m.load(array).v != nbuckets {
            return Err(Violation::at(array.addr, "an array of buckets is not whole"));
        }
        let Some(bucket) = plan.bucket(self.walked, nbuckets) else {
            if m.load(count).v != plan.rest + self.entries {
                return Err(Violation::at(count.addr, "the map's count is not that of its entries"));
            }
            self.key = Some(0);
            return Ok(Some(self));
        };
        let head = array.field(8 + 8 * bucket);
        let (mut entry, counted) = (m.load(head).v, m.load(count).v);
        while entry != 0 {
            let at = At::new(Addr(entry));
            if !map.owns(entry) || !map.owns(m.load(at.field(VALUE_AT + 8)).v) {
                return Err(Violation::at(
                    Addr(entry),
                    "a chain leads to something that is no entry",
                ));
            }
            let key = m.load(at.field(KEY)).v;
            if Table::bucket(array, key, nbuckets).addr != head.addr {
                return Err(Violation::at(
                    Addr(entry),
                    "an entry is not whole: its key is not of this bucket",
                ));
            }
            self.entries += 1;
            if plan.rest + self.entries > counted {
                return Err(Violation::at(Addr(entry), "there are more entries than the map counts"));
            }
            entry = m.load(at.field(NEXT + 8)).v;
        }
        self.walked += 1;
        Ok(Some(self))
    }
}

/// The value of a key in its chain, which is known to be sound; 0 if it is absent.
fn find<M: Mem<Dep = ()>>(m: &mut M, head: At<()>, key: u64, values: Values) -> Result<u64, Violation> {
    let mut entry = m.load(head).v;
    while entry != 0 && m.load(At::new(Addr(entry + KEY))).v != key {
        entry = m.load(At::new(Addr(entry + NEXT + 8))).v;
    }
    if entry == 0 {
        return Ok(0);
    }
    let block = m.load(At::new(Addr(entry + VALUE_AT + 8))).v;
    values
        .whole(m, At::new(Addr(block)))
        .ok_or_else(|| Violation::at(Addr(block), "a value is not whole"))
}
