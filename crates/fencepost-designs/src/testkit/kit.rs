//! The kit: a new design against random programs, before it ever meets a machine.

use super::bench::Bench;
use super::mini::{Mini, Order};
use super::mock::Call;
use super::programs::Mix;
use crate::info::{DesignInfo, Environment};
use fencepost_contract::{Contract, Demands, conform};
use fencepost_kernel::{Fence, Stream, TraceEvent};
use fencepost_machine::seam::{Design, Hooks};
use std::fmt;

/// Why a design is convicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing moves any more: something was refused and never kicked, or a write waits for what never comes.
    Stuck,
    /// A read got older bytes than were last stored, or the design supplied bytes that it does not hold.
    Stale(String),
    /// The design acts in a hook of which it declared no interest.
    Undeclared,
    /// The persist order, or what was durable when a fence completed, is not what the contract allows.
    Order(String),
}
impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mistake::Stuck => f.write_str("stuck: something was refused and never asked for again"),
            Mistake::Stale(why) => write!(f, "stale: {why}"),
            Mistake::Undeclared => f.write_str("acts in a hook that `hooks()` does not declare"),
            Mistake::Order(why) => write!(f, "contract: {why}"),
        }
    }
}

/// What a design is tried with.
#[derive(Copy, Clone, Debug)]
pub struct Kit {
    /// The contract it promises.
    pub contract: Contract,
    /// Whether every store to persistent memory must be durable in the end.
    pub complete: bool,
    /// What programs are made of.
    pub mix: Mix,
    /// How far cores run ahead.
    pub order: Order,
    /// Whether a write is durable when its controller accepts it.
    pub durable_on_accept: bool,
}

impl Kit {
    /// What a design declares, in this environment, on programs of three threads. Hardware transactions are not tried.
    pub fn of(info: &DesignInfo, environment: Environment) -> Kit {
        let honours = info.promise.honours;
        Kit {
            contract: info.contract_of(environment),
            complete: info.promise.persists_every_store,
            mix: Mix {
                threads: 3,
                ops: 14,
                pm_lines: 3,
                dram_lines: 2,
                fences: honours.fences,
                flushes: honours.flushes,
                nt_stores: honours.nt_stores,
            },
            order: if environment.tso {
                Order::InOrder
            } else {
                Order::Relaxed
            },
            durable_on_accept: environment.durable_on_accept,
        }
    }
    /// The first mistake of a design within `programs` random programs, with the seed that shows it, and how many stores
    /// became durable before older ones.
    ///
    /// # Errors
    /// The mistake.
    pub fn try_out<D: Design>(&self, make: impl Fn() -> D, programs: u64) -> Result<u64, (u64, Mistake)> {
        if let Some(mistake) = self.fence_before_stores(&make()) {
            return Err((0, mistake));
        }
        let mut reordered = 0;
        for seed in 0..programs {
            reordered += self.one(&make, seed).map_err(|m| (seed, m))?;
        }
        Ok(reordered)
    }
    /// A fence that is asked for before older stores have performed does not order them; no trace could tell, because there the stores
    /// come after it. Asking memory for durability, and beginning a strand, order nothing that is older.
    fn fence_before_stores(&self, design: &impl Design) -> Option<Mistake> {
        let orders = |kind: &Fence| kind.properties().orders_persists;
        let mut ordering = self.mix.fences.iter().copied().filter(orders);
        let early = ordering.find(|kind| !design.fence(*kind).after_stores)?;
        Some(Mistake::Order(format!("{early:?} does not wait for older stores")))
    }
    fn one<D: Design>(&self, make: &impl Fn() -> D, seed: u64) -> Result<u64, Mistake> {
        let (run, finished) = self.run(make(), seed, None);
        // Asked about everything, a design that keeps to its interests does the same.
        let (asked, _) = self.run(make(), seed, Some(Hooks::ALL));
        if behaviour(&run) != behaviour(&asked) {
            return Err(Mistake::Undeclared);
        }
        if let Some(why) = run.hierarchy.stale {
            return Err(Mistake::Stale(why));
        }
        if !finished {
            return Err(Mistake::Stuck);
        }
        let demands = Demands {
            complete: self.complete,
        };
        let judged = conform(&run.trace, &run.records, &self.contract, demands);
        judged
            .map(|r| r.reordered)
            .map_err(|refusal| Mistake::Order(refusal.to_string()))
    }
    fn run<D: Design>(&self, design: D, seed: u64, hooks: Option<Hooks>) -> (Mini<D>, bool) {
        let mut dice = Stream::new(seed, "test kit");
        let programs = self.mix.programs(&mut dice);
        // A queue of one entry, of a few, of plenty.
        let entries = [1, 3, 64][(seed % 3) as usize];
        let mut bench = Bench::new(design, self.mix.threads as u8, 1, entries);
        bench.cx.durable_on_accept = self.durable_on_accept;
        bench.hooks = hooks.unwrap_or(bench.hooks);
        let mut mini = Mini::new(bench, &programs, self.order);
        // Fences as the design declares them, and as markers in the store queue.
        mini.buffered_fences = seed / 3 % 2 == 1;
        let finished = mini.run(&mut dice);
        (mini, finished)
    }
}

/// What a run shows of a design: what it did to its handle, what happened, and whether reads found what they should.
fn behaviour<D: Design>(run: &Mini<D>) -> (&[Call], &[TraceEvent], bool) {
    (&run.bench.cx.calls, &run.trace.events, run.hierarchy.stale.is_some())
}
