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
//! is looked at; the news of a moved headACK reaches the shared cache at once.

use super::mechanism::{Tag, is_transfer, may_store};
use super::parked::{HISTOGRAMS, Parked};
use super::{ThemisFault, ThemisParams, configured, pointer_cost};
use crate::info::{CostItem, DesignInfo, Honours, MachineShape, ParamValues, Promise};
use crate::x86::stat::STATS;
use crate::x86::{Paths, THEMIS, dialect, instr, snooped, stat};
use fencepost_kernel::params::{ParamError, Params as _};
use fencepost_kernel::{CoreId, HartId, LineAddr, LineData};
use fencepost_machine::seam::{
    Access, Cause, Cx, Design, Exit, Gate, Hooks, Instr, Level, Snoop, SnoopAnswer, StatInfo, Way, Why, Write, WriteId,
};
use std::collections::BTreeMap;

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "themis-llc",
    summary: "non-temporal before temporal without a fence, enforced at the shared cache",
    source: include_str!("llc.rs"),
    paper: THEMIS,
    dialect: |s| dialect("themis-llc", s, &[]),
    contract: |_| "themis",
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

/// Themis, enforcing at the shared cache.
#[derive(Clone, Debug)]
pub struct ThemisLlc {
    paths: Paths,
    fault: ThemisFault,
    parked: Parked,
    harts_per_core: u8,
    /// Per line, the tags of the cores that stored to it.
    tags: BTreeMap<LineAddr, Vec<(CoreId, Tag)>>,
}

impl ThemisLlc {
    /// The mechanism for a machine of this shape.
    pub fn new(params: ThemisParams, shape: MachineShape) -> ThemisLlc {
        ThemisLlc {
            paths: Paths::new(params.paths(), shape, Some(params.pointer_bits)),
            fault: params.fault,
            parked: Parked::new(shape.cycle),
            harts_per_core: shape.harts.div_ceil(shape.cores.max(1)),
            tags: BTreeMap::new(),
        }
    }
    /// Whether leaving this cache for this reason brings the line to memory. Flushed lines go there directly.
    fn to_memory(from: Level, why: Why) -> bool {
        from == Level::Llc || why == Why::Cleaned
    }
    fn tag(&mut self, core: CoreId, line: LineAddr) {
        let tag = Tag::now(&self.paths, core);
        let tags = self.tags.entry(line).or_default();
        match tags.iter_mut().find(|t| t.0 == core) {
            Some(_) if self.fault == ThemisFault::RestoreKeepsTag => {}
            Some(t) => t.1 = tag,
            None => tags.push((core, tag)),
        }
        tags.retain(|t| !t.1.satisfied(&self.paths, t.0));
        if tags.is_empty() {
            self.tags.remove(&line);
        }
    }
    /// Whether every store of the line may persist; forgets what has been waited for.
    fn satisfied(&mut self, line: LineAddr) -> bool {
        let (paths, fault) = (&self.paths, self.fault);
        let Some(tags) = self.tags.get_mut(&line) else {
            return true;
        };
        let forgets = |core| fault == ThemisFault::OverflowForgetsWbb && paths.wcb(core).wrapping();
        tags.retain(|t| !t.1.satisfied(paths, t.0) && !forgets(t.0));
        let none = tags.is_empty();
        if none {
            self.tags.remove(&line);
        }
        none
    }
}

impl Design for ThemisLlc {
    fn hooks(&self) -> Hooks {
        Hooks {
            gates: true,
            stores: true,
            snoops: true,
            holds: true,
            leaving: true,
            writes: true,
            ..Hooks::default()
        }
    }
    fn instr(&mut self, cx: &mut dyn Cx, hart: HartId, what: Instr) -> Gate {
        instr(&mut self.paths, cx, hart, what)
    }
    fn nt_store(&mut self, cx: &mut dyn Cx, hart: HartId, line: LineAddr, data: &LineData, _: u8) -> Gate {
        self.paths.nt_store(cx, hart, line, data)
    }
    fn may_access(&mut self, cx: &mut dyn Cx, hart: HartId, line: LineAddr, access: Access) -> Gate {
        may_store(&mut self.paths, cx, hart, line, access)
    }
    fn performed(&mut self, cx: &mut dyn Cx, hart: HartId, line: LineAddr, _: Access, _: &LineData, _: &mut u32) {
        if line.is_persistent() {
            self.paths.stored(cx, hart);
            self.parked.stored(line);
            self.tag(cx.core_of(hart), line);
        }
    }
    fn snooped(&mut self, _: &mut dyn Cx, _: HartId, line: LineAddr, _: Snoop) -> SnoopAnswer {
        snooped(&mut self.paths, line)
    }
    fn may_leave(&mut self, cx: &mut dyn Cx, from: Level, way: &Way, why: Why) -> Gate {
        if !ThemisLlc::to_memory(from, why) || !way.line.is_persistent() || self.satisfied(way.line) {
            return Gate::Go;
        }
        self.parked.refused(from, way.line, is_transfer(why), cx.now());
        self.paths.wait(Cause::OrderPending)
    }
    fn leaving(&mut self, cx: &mut dyn Cx, from: Level, way: &Way, _: &LineData, why: Why) -> Exit {
        if ThemisLlc::to_memory(from, why) && way.line.is_persistent() {
            let waited = self.parked.leaves(cx, from, way.line, false);
            cx.count(stat::WRITEBACKS, 1);
            cx.count(stat::WRITEBACKS_DELAYED, u64::from(waited));
        } else if self.fault == ThemisFault::TransferSkipsWbb && is_transfer(why) {
            self.tags.remove(&way.line);
        }
        Exit::DownUnmarked
    }
    fn cleaned(&mut self, cx: &mut dyn Cx, hart: HartId, tag: u64, found: Option<&LineData>) {
        self.paths.cleaned(cx, hart, tag, found);
    }
    fn accepted(&mut self, cx: &mut dyn Cx, id: WriteId, write: &Write) {
        self.paths.accepted(cx, id, write);
    }
    fn write_room(&mut self, cx: &mut dyn Cx, _: u8) {
        self.paths.write_room(cx);
    }
    fn timer(&mut self, cx: &mut dyn Cx, tag: u64) {
        self.paths.timer(cx, tag);
    }
    fn drain(&mut self, _: &mut dyn Cx) -> bool {
        self.paths.idle()
    }
    fn stats(&self) -> &'static [StatInfo] {
        &STATS
    }
    fn histograms(&self) -> &'static [StatInfo] {
        &HISTOGRAMS
    }
    fn explain(&self, hart: HartId) -> Option<String> {
        let text = self.paths.explain(hart, CoreId(hart.0 / self.harts_per_core.max(1)))?;
        Some(match self.parked.len() {
            0 => text,
            n => format!("{text}; {n} lines wait to leave for memory"),
        })
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
