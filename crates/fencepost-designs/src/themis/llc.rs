//! `themis-llc`: Themis with the order enforced where lines leave the shared cache.
//!
//! # Idea
//! Strictly, a line need not wait before it leaves the last cache: only its way to memory must be barred. The paper argues
//! that the later point gains little and costs much; this design is that comparison.
//!
//! # Paper
//! Themis, section IV-D, "Enforcing non-temporal to temporal store ordering at L1".
//!
//! # Where order is kept
//! At the shared cache: lines move between private caches and down freely, and take with them, for every core that stored
//! to them, the tail of that core's write-combining buffer at its last store. A line leaves for memory, replaced or flushed,
//! once every such core's headACK has reached its tail.
//!
//! # Durable at
//! Acceptance by the controller.
//!
//! # Contract
//! `themis`: px86, and a non-temporal store persists before every later temporal store of the same thread.
//!
//! # Hardware cost
//! A tail pointer per core for every line of the private caches and of the shared one, and the shared cache listening to
//! every core's headACK.
//!
//! # Deviations
//! As `themis`. The tags of all caches are one table of the design, from which a line's satisfied tags are dropped when it
//! is looked at; the new headACK reaches the shared cache at once.

use super::mechanism::{Tag, holding, is_transfer, may_store, paths};
use super::params::{ThemisFault, ThemisParams, configured};
use super::parked::{HISTOGRAMS, Parked};
use super::pointer_cost;
use crate::info::{CostItem, DesignInfo, Honours, MachineShape, ParamValues, Promise};
use crate::x86::{Paths, Policy, THEMIS, TwoPaths, dialect, stat};
use fencepost_contract::ContractKind;
use fencepost_kernel::decision;
use fencepost_kernel::params::{ParamError, Params as _};
use fencepost_kernel::{CoreId, HwThread, LineAddr};
use fencepost_machine::seam::{Access, Cause, Cx, Exit, Gate, Hooks, Level, StatInfo, Way, Why};
use std::collections::BTreeMap;

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "themis-llc",
    summary: "non-temporal before temporal without a fence, enforced at the shared cache",
    source: include_str!("llc.rs"),
    paper: THEMIS,
    dialect: |s| dialect("themis-llc", s, &[]),
    contract: |_| ContractKind::Themis,
    idiom_of: &[],
    promise: Promise {
        buffered: None,
        persists_every_store: false,
        reorders: true,
        honours: Honours::X86,
    },
    sound: |s| s.durable_on_accept,
    params: ThemisParams::fields,
    variants: super::VARIANTS,
    smallest: super::SMALLEST,
    build: |values, shape| Ok(Box::new(ThemisLlc::new(configured(values)?, shape))),
    cost,
    faults: super::FAULTS,
    log: None,
};

/// Lines wait where they leave for memory.
#[derive(Clone, Debug)]
pub struct AtLlc {
    fault: ThemisFault,
    parked: Parked,
    /// Per line, the tags of the cores that stored to it.
    tags: BTreeMap<LineAddr, Vec<(CoreId, Tag)>>,
}
/// Themis, enforcing at the shared cache.
pub type ThemisLlc = TwoPaths<AtLlc>;

impl ThemisLlc {
    /// The mechanism for a machine of this shape.
    pub fn new(params: ThemisParams, shape: MachineShape) -> ThemisLlc {
        let policy = AtLlc {
            fault: params.fault,
            parked: Parked::new(shape.cycle),
            tags: BTreeMap::new(),
        };
        TwoPaths::with_policy(paths(&params, shape).lines_wait_for_all(), policy)
    }
}
impl AtLlc {
    /// Whether leaving this cache for this reason brings the line to memory. Flushed lines go there directly.
    fn to_memory(from: Level, why: Why) -> bool {
        from == Level::Llc || why == Why::Cleaned
    }
    fn tag(&mut self, paths: &Paths, core: CoreId, line: LineAddr) {
        let tag = Tag::now(paths, core);
        let tags = self.tags.entry(line).or_default();
        match tags.iter_mut().find(|t| t.0 == core) {
            Some(_) if self.fault == ThemisFault::RestoreKeepsTag => {}
            Some(t) => t.1 = tag,
            None => tags.push((core, tag)),
        }
        tags.retain(|t| !t.1.satisfied(paths, t.0));
        if tags.is_empty() {
            self.tags.remove(&line);
        }
    }
    /// Whether every store of the line may persist; forgets what has been waited for.
    fn satisfied(&mut self, paths: &Paths, line: LineAddr) -> bool {
        let fault = self.fault;
        let Some(tags) = self.tags.get_mut(&line) else {
            return true;
        };
        let forgets = |core| fault == ThemisFault::OverflowForgetsWbb && paths.wcb(core).wrapping();
        tags.retain(|t| !t.1.satisfied(paths, t.0) && !forgets(t.0));
        let none = tags.is_empty();
        if decision!("themis.tag-list-empty", none) {
            self.tags.remove(&line);
        }
        none
    }
}

impl Policy for AtLlc {
    fn hooks(&self, paths: Hooks) -> Hooks {
        holding(paths)
    }
    fn may_access(
        &mut self,
        paths: &mut Paths,
        cx: &dyn Cx,
        hw_thread: HwThread,
        line: LineAddr,
        access: Access,
    ) -> Gate {
        may_store(paths, cx, hw_thread, line, access)
    }
    fn stored(&mut self, paths: &Paths, core: CoreId, line: LineAddr, _: &mut u32) {
        self.parked.stored(line);
        self.tag(paths, core, line);
    }
    fn may_leave(&mut self, paths: &mut Paths, cx: &dyn Cx, from: Level, way: &Way, why: Why) -> Gate {
        if !AtLlc::to_memory(from, why) || !way.line.is_persistent() || self.satisfied(paths, way.line) {
            return Gate::Go;
        }
        self.parked.refused(from, way.line, is_transfer(why), cx.now());
        paths.hold(None, Cause::OrderPending)
    }
    fn leaving(&mut self, cx: &mut dyn Cx, from: Level, way: &Way, why: Why) -> Exit {
        if AtLlc::to_memory(from, why) && way.line.is_persistent() {
            let waited = self.parked.leaves(cx, from, way.line, false);
            cx.count(stat::WRITEBACKS, 1);
            cx.count(stat::WRITEBACKS_DELAYED, u64::from(waited));
        } else if self.fault == ThemisFault::TransferSkipsWbb && is_transfer(why) {
            self.tags.remove(&way.line);
        }
        Exit::DownUnmarked
    }
    fn histograms(&self) -> &'static [StatInfo] {
        HISTOGRAMS
    }
    fn explain(&self) -> Option<String> {
        let n = self.parked.len();
        (n > 0).then(|| format!("{n} lines wait to leave for memory"))
    }
}

fn cost(values: ParamValues<'_>, shape: MachineShape) -> Result<Vec<CostItem>, ParamError> {
    let params = configured(values)?;
    let (cores, bits) = (u64::from(shape.cores), u64::from(params.pointer_bits));
    let item = |what: &str, lines: u32| CostItem {
        what: what.into(),
        bits: u64::from(lines) * cores * bits,
        paper_bits: None,
        note: format!("{lines} lines, for each of {cores} cores {bits} bits"),
    };
    let mut items = vec![
        item("tail pointers, per L1 data cache", shape.l1_lines),
        item("tail pointers, shared cache", shape.llc_lines),
        pointer_cost(&params),
    ];
    if shape.l2_lines > 0 {
        items.insert(1, item("tail pointers, all private second levels", shape.l2_lines));
    }
    Ok(items)
}
