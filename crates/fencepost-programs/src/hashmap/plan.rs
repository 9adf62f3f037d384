//! What an audit of the map has to read: all of it, or the chains of which something may have changed since set-up.

use super::table::Table;
use crate::layout::Rows;
use crate::objects::Inserts;
use crate::ordered_keys::KeyModel;
use crate::pool::Pool;
use fencepost_kernel::{Addr, At, Mem};
use std::collections::BTreeSet;

/// Where the map's parts lie, and what set-up put there.
#[derive(Copy, Clone)]
pub(super) struct Parts<'a> {
    pub table: &'a Table,
    pub inserts: &'a Inserts,
    pub preload: Rows,
    pub pool: &'a Pool,
}
impl Parts<'_> {
    /// Whether a block begins at `at`.
    pub(super) fn owns(&self, at: u64) -> bool {
        self.preload.owns(at) || self.pool.owns(Addr(at))
    }
}

/// What the oracle knows of a run over the map.
#[derive(Clone, Debug)]
pub struct MapModel {
    pub(super) keys: KeyModel,
    /// Bucket and key of every planted pair, ascending.
    chains: Vec<(u64, u64)>,
}

/// What one audit reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    /// Buckets whose chains are walked, ascending; `None`: all.
    buckets: Option<Vec<u64>>,
    /// Keys that are looked up besides those that operations wrote, ascending; `None`: all that may be there.
    keys: Option<Vec<u64>>,
    /// Planted entries of the other chains.
    pub rest: u64,
}

impl MapModel {
    pub(super) fn new(map: &Parts<'_>, keys: KeyModel) -> MapModel {
        let (_, nbuckets) = map.table.planted(map.inserts.preload);
        let planted = keys
            .planted
            .iter()
            .map(|pair| (Table::number(pair.0, nbuckets), pair.0));
        let mut chains: Vec<(u64, u64)> = planted.collect();
        chains.sort_unstable();
        MapModel { keys, chains }
    }
    /// The planted keys of a bucket.
    fn chain(&self, bucket: u64) -> impl Iterator<Item = u64> + '_ {
        let first = self.chains.partition_point(|c| c.0 < bucket);
        let chain = self.chains[first..].iter().take_while(move |c| c.0 == bucket);
        chain.map(|c| c.1)
    }
}

impl Plan {
    /// Everything is read.
    const WHOLE: Plan = Plan {
        buckets: None,
        keys: None,
        rest: 0,
    };
    /// What has to be read of a map that uses the array at `array`.
    pub(super) fn of<M: Mem<Dep = ()>>(m: &mut M, map: &Parts<'_>, model: &MapModel, array: At<()>) -> Plan {
        let (planted, nbuckets) = map.table.planted(map.inserts.preload);
        if array.addr != planted {
            return Plan::WHOLE;
        }
        let [_, heads] = map.table.spans(map.inserts.preload);
        let changed = m.changed_since_setup(heads);
        let Some((heads, blocks)) = changed.and_then(|h| Some((h, m.changed_since_setup(map.preload.span())?))) else {
            return Plan::WHOLE;
        };
        let heads = heads.iter().flat_map(|line| Table::in_line(planted, *line, nbuckets));
        let entries = blocks.iter().flat_map(|line| map.preload.in_line(*line));
        let keys = entries.map(|block| Table::number(map.inserts.key(block / 2), nbuckets));
        let buckets: BTreeSet<u64> = heads.chain(keys).collect();
        let mut keys: Vec<u64> = buckets.iter().flat_map(|b| model.chain(*b)).collect();
        let rest = (model.chains.len() - keys.len()) as u64;
        keys.extend(&model.keys.written);
        keys.sort_unstable();
        keys.dedup();
        Plan {
            buckets: Some(buckets.into_iter().collect()),
            keys: Some(keys),
            rest,
        }
    }
    /// The `n`-th bucket whose chain is walked.
    pub(super) fn bucket(&self, n: usize, nbuckets: u64) -> Option<u64> {
        match &self.buckets {
            Some(buckets) => buckets.get(n).copied(),
            None => Some(n as u64).filter(|b| *b < nbuckets),
        }
    }
    /// Whether the chain of a bucket is walked.
    pub(super) fn walks(&self, bucket: u64) -> bool {
        self.buckets.as_ref().is_none_or(|b| b.binary_search(&bucket).is_ok())
    }
    /// The `n`-th key that is looked up.
    pub(super) fn key(&self, n: usize, model: &MapModel) -> Option<u64> {
        self.keys.as_ref().unwrap_or(&model.keys.keys).get(n).copied()
    }
}
