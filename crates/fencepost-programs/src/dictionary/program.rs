//! The program around a structure of keys and values: description, driver with its locks, recovery by the logs, oracle.

use crate::choices::{Coupling, Scheme, Variant};
use crate::dict::{Keys, Toggle};
use crate::layout::{Footprint, Layout, Locks};
use crate::oracle::History;
use crate::ordered_keys::{Step, flow};
use crate::pool::Pool;
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::small::Small;
use crate::tx::{LogStep, Region, Runtime, Tx};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{
    At, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Site, Span, Val, Violation,
};
use std::fmt::Debug;
use std::hash::Hash;

/// A structure that has laid out its own memory, and what it needs besides.
pub struct LaidOut<C> {
    /// The structure.
    pub contents: C,
    /// Where its blocks come from.
    pub pool: Pool,
    /// Words that the largest transaction stores.
    pub stores: u64,
    /// Locks: a part of the structure each.
    pub locks: u64,
    /// How many undo records share one barrier.
    pub coupling: Coupling,
}

/// What one key's turn in a transaction led to.
#[derive(Copy, Clone, Debug)]
pub struct Changed<D> {
    /// The value that was there (0: none).
    pub found: u64,
    /// The word that was to hold the new value's last word, if the key was inserted.
    pub inserted: Option<At<D>>,
}

/// What the toggles of one operation found, where an oracle looks.
pub(crate) type Found = Small<u64, 1>;

/// What is a structure's own. An operation has one transaction, in which it changes one key or several.
pub trait Contents: Clone + Debug + Send + Sync + 'static {
    /// As in [`Described`].
    const NAME: &'static str;
    /// As in [`Described`].
    const ABOUT: &'static str;
    /// As in [`Described`].
    const SCHEMES: &'static [Scheme] = Scheme::LOGGED;
    /// As in [`Described`]; [`Variant::NonAtomicUpdate`] is made for it.
    const OWN_VARIANTS: &'static [Variant];
    /// As in [`Described`].
    const HARMLESS: &'static [(Scheme, Variant)] = &[];
    /// As in [`Described`].
    const SMALL: &'static [(&'static str, &'static str)];
    /// As in [`Described`].
    const SMALLEST: &'static [(&'static str, &'static str)] = &[];
    /// What an operation computes before it takes its lock.
    const PROLOGUE: Site = sites::PROLOGUE;
    /// Its parameters.
    type Params: Params;
    /// Which keys operations change, and to what.
    type Keys: Keys;
    /// What the oracle knows of a run.
    type Model;
    /// State between two steps of the audit.
    type Audit: Clone + Eq + Hash + Debug;

    /// Its keys, or why there can be none.
    fn keys_of(p: &Self::Params, s: &Settings) -> Result<Self::Keys, String>;
    /// Lays out its memory, or says why it cannot be had.
    fn lay_out(p: &Self::Params, s: &Settings, keys: Self::Keys, layout: &mut Layout) -> Result<LaidOut<Self>, String>;
    /// The keys that it was laid out for.
    fn keys(&self) -> &Self::Keys;
    /// The part of the structure that a key belongs to: the number of its lock.
    fn part_of(&self, key: u64) -> u64;
    /// Builds it before the run.
    fn setup<M: Mem>(&self, m: &mut M);
    /// The memory of what stands before the run.
    fn resident(&self) -> Vec<Span>;
    /// A key's turn: the last word of a new value is to be `last`.
    fn change<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, wanted: Toggle, last: u64) -> Changed<M::Dep>;
    /// The mistake of an update in two transactions: the second, in which the value is made whole.
    #[inline(always)]
    fn complete<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, at: At<M::Dep>, value: u64) {
        tx.update(at, Val::lit(value));
        tx.step();
    }
    /// The transaction of an operation, under its locks.
    ///
    /// # Errors
    /// The hardware rolled the thread back.
    #[inline(always)]
    fn transact<M: Mem>(
        &self,
        rt: &Runtime,
        pm: &mut Pm<'_, M>,
        (thread, k): (u32, u32),
        toggles: &[Toggle],
    ) -> Result<Found, Rollback> {
        let mut tx = rt.begin(pm, thread, k)?;
        let split = tx.slip(Variant::NonAtomicUpdate);
        let (mut found, mut unfinished) = (Small::new(0), None);
        for wanted in toggles {
            let changed = self.change(&mut tx, *wanted, if split { 0 } else { wanted.value });
            unfinished = changed.inserted.map(|at| (at, wanted.value));
            if M::OBSERVED {
                found.push(changed.found);
            }
        }
        tx.commit();
        if split && let Some((at, value)) = unfinished {
            let mut tx = rt.begin_part(pm, thread, k, 1)?;
            self.complete(&mut tx, at, value);
            tx.commit();
        }
        Ok(found)
    }
    /// After the transaction of so many keys, outside its locks.
    #[inline(always)]
    fn finish<M: Mem>(&self, _m: &mut M, _thread: u32, _keys: usize) {}
    /// Completes an interrupted region.
    ///
    /// # Errors
    /// What is wrong with its record.
    fn resume<M: Mem<Dep = ()>>(&self, _m: &mut M, _region: &Region<()>) -> Result<(), Violation> {
        Err(Violation {
            why: "a region record in a program without regions".into(),
            at: None,
        })
    }
    /// What the oracle knows of a run with these operations, from which this history follows.
    fn model(&self, ops: &[OpRecord], history: History) -> Self::Model;
    /// First state of the audit.
    fn audit_start(&self, model: &Self::Model, crash: &CrashPoint) -> Self::Audit;
    /// One step of the audit.
    ///
    /// # Errors
    /// What is wrong with the structure.
    fn audit<M: Mem<Dep = ()>>(&self, model: &Self::Model, m: &mut M, state: Self::Audit) -> Step<Self::Audit>;
}

/// The program.
#[derive(Clone, Debug)]
pub struct Keyed<C> {
    rt: Runtime,
    contents: C,
    locks: Locks,
    footprint: Footprint,
}

impl<C: Contents> Described for Keyed<C> {
    const NAME: &'static str = C::NAME;
    const ABOUT: &'static str = C::ABOUT;
    const SCHEMES: &'static [Scheme] = C::SCHEMES;
    const OWN_VARIANTS: &'static [Variant] = C::OWN_VARIANTS;
    const HARMLESS: &'static [(Scheme, Variant)] = C::HARMLESS;
    const SMALL: &'static [(&'static str, &'static str)] = C::SMALL;
    const SMALLEST: &'static [(&'static str, &'static str)] = C::SMALLEST;

    fn fields() -> Vec<Field> {
        C::Params::fields()
    }
    fn build(s: &Settings) -> Result<Self, ProgramError> {
        let p: C::Params = read_params::<Self, _>(s)?;
        let keys = C::keys_of(&p, s).map_err(impossible::<Self>)?;
        if let Some(why) = keys.refusal(s.ops) {
            return Err(impossible::<Self>(why));
        }
        let mut layout = Layout::default();
        let own = C::lay_out(&p, s, keys, &mut layout).map_err(impossible::<Self>)?;
        let rt = Runtime::new(&mut layout, s, own.coupling, own.stores, own.pool);
        let locks = Locks::new(&mut layout, own.locks);
        Ok(Keyed {
            rt,
            contents: own.contents,
            locks,
            footprint: layout.footprint(),
        })
    }
}

impl<C: Contents> Program for Keyed<C> {
    type Input = Small<Toggle, 1>;
    type Rebuild = LogStep;
    type Audit = C::Audit;
    type Model = C::Model;

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        self.contents.setup(m);
    }
    fn resident(&self) -> Vec<Span> {
        self.contents.resident()
    }
    fn ranges(&self, thread: u32) -> Vec<Span> {
        self.rt.ranges(thread, self.resident())
    }
    fn input(&self, thread: u32, k: u32) -> Small<Toggle, 1> {
        self.contents.keys().input(thread, k)
    }
    #[inline(always)]
    fn op<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        thread: u32,
        k: u32,
        input: &Small<Toggle, 1>,
    ) -> Result<Outcome, Rollback> {
        pm.m.compute(C::PROLOGUE);
        let (own, toggles) = (&self.contents, input.as_slice());
        let found = if let [one] = toggles {
            let lock = self.locks.of(own.part_of(one.key));
            pm.lock(lock);
            let found = own.transact(&self.rt, pm, (thread, k), toggles);
            pm.unlock(lock);
            found
        } else {
            let stripes = self.locks.stripes(toggles.iter().map(|t| own.part_of(t.key)));
            self.locks.lock_all(pm, stripes.as_slice());
            let found = own.transact(&self.rt, pm, (thread, k), toggles);
            self.locks.unlock_all(pm, stripes.as_slice());
            found
        };
        own.finish(pm.m, thread, toggles.len());
        pm.m.compute(sites::EPILOGUE);
        Ok(C::Keys::outcome::<M>(found?.as_slice()))
    }
    fn rebuild_start(&self) -> LogStep {
        self.rt.recover_start()
    }
    fn rebuild<M: Mem<Dep = ()>>(&self, m: &mut M, state: LogStep) -> Flow<LogStep> {
        self.rt
            .rebuild(m, state, |m, _, _, region| self.contents.resume(m, region))
    }
    fn model(&self, ops: &[OpRecord]) -> C::Model {
        let own = &self.contents;
        let history = own.keys().history(ops, |key| self.locks.stripe(own.part_of(key)));
        own.model(ops, history)
    }
    fn audit_start(&self, model: &C::Model, crash: &CrashPoint) -> C::Audit {
        self.contents.audit_start(model, crash)
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &C::Model, m: &mut M, state: C::Audit) -> Flow<C::Audit> {
        flow(self.contents.audit(model, m, state))
    }
}
