//! What the oracle of `tpcc` knows of a run, and where its audit stands.

use crate::oracle::{Cut, History};
use fencepost_kernel::CrashPoint;
use std::collections::BTreeMap;

/// What the oracle knows of a run.
#[derive(Clone, Debug)]
pub struct TpccModel {
    pub(super) history: History,
    pub(super) registers: Vec<u64>,
    /// Per district, the run's orders in the order of their numbers: which operation placed each.
    pub(super) orders: BTreeMap<u64, Vec<(u32, u32)>>,
    /// Per district, the run's deliveries in the order of what they delivered, from the first order that was new before the run.
    pub(super) deliveries: BTreeMap<u64, Vec<Delivery>>,
}
/// A delivery: who and when.
#[derive(Copy, Clone, Debug)]
pub(super) struct Delivery {
    pub carrier: u64,
    pub date: u64,
}
impl TpccModel {
    pub(super) fn cut(&self, crash: &CrashPoint) -> Cut {
        self.history.cut(crash)
    }
}

/// State between two steps of the audit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TpccAudit {
    /// The next register.
    pub(super) next: usize,
    /// The orders of a district that are yet to be read: the next and the last number.
    pub(super) orders: (u64, u64),
    /// The oldest new order of that district.
    pub(super) oldest: u64,
    pub(super) cut: Cut,
}
impl TpccAudit {
    pub(super) fn start(cut: Cut) -> TpccAudit {
        TpccAudit {
            next: 0,
            orders: (0, 0),
            oldest: 0,
            cut,
        }
    }
}
