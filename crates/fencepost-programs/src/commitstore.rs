//! `commitstore`: the commit-store idiom. A record is written, then a token that vouches for it.
//!
//! Each operation owns a slot: it stores a key and a value there, and then the slot's token; a reader trusts a record
//! only if its token is set. Key, value and token lie on three different lines, so that no same-line order hides a
//! mistake.
//!
//! Hand-ordered: key and value; token. Two barriers, three flushes. The commonest published ordering bug is its
//! variant `token-first`: the token durable before the key and value it vouches for.

use crate::layout::{Footprint, Layout};
use crate::oracle::{Builder, Cut, History};
use crate::pool::Pool;
use crate::settings::{Described, ProgramError, Settings, read_params};
use crate::sites;
use crate::tx::{LogFlow, LogStep, Region, Runtime, Tx};
use crate::words::{Coupling, Scheme, Variant};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{
    Addr, At, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Val, Violation, params, rng,
};

params! {
    /// Parameters of `commitstore`.
    pub struct CommitStoreParams {
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
    }
}

const KEY: u64 = 0;
const VALUE: u64 = 64;
const TOKEN: u64 = 128;
const SLOT: u64 = 192;
const STORED: u8 = 1;
const REGION_STORE: u8 = 1;

/// The program.
#[derive(Clone, Debug)]
pub struct CommitStore {
    rt: Runtime,
    seed: u64,
    threads: u32,
    ops: u32,
    slots: Addr,
    footprint: Footprint,
}

impl Described for CommitStore {
    const WORD: &'static str = "commitstore";
    const ABOUT: &'static str = "commit store: key and value, then the token that vouches for them";
    const SCHEMES: &'static [Scheme] = &[
        Scheme::Raw,
        Scheme::UndoArray,
        Scheme::UndoList,
        Scheme::Redo,
        Scheme::Ido,
    ];
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake, Variant::TokenFirst];

    fn fields() -> Vec<Field> {
        CommitStoreParams::fields()
    }
    fn build(s: &Settings) -> Result<CommitStore, ProgramError> {
        let params: CommitStoreParams = read_params::<CommitStore, _>(s)?;
        let mut layout = Layout::default();
        let slots = layout.pm(u64::from(s.threads) * u64::from(s.ops) * SLOT);
        let pool = Pool::new(&mut layout, s.threads, 64, 0);
        let rt = Runtime::new(
            &mut layout,
            s.threads,
            (s.scheme, params.coupling, s.variant),
            1024,
            pool,
        );
        Ok(CommitStore {
            rt,
            seed: s.seed,
            threads: s.threads,
            ops: s.ops,
            slots,
            footprint: layout.footprint(),
        })
    }
    fn footprint(&self) -> Footprint {
        self.footprint
    }
}

/// State between two steps of the audit: the next slot, and what is known so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CommitStoreAudit {
    slot: u64,
    cut: Cut,
}

impl CommitStore {
    /// The token of operation `k`: its number from 1. Key and value are functions of it.
    fn record(&self, thread: u32, k: u32) -> (u64, u64, u64) {
        let token = (u64::from(thread) + 1) << 32 | (u64::from(k) + 1);
        (
            rng::hash(&[self.seed, token, 1]) | 1,
            rng::hash(&[self.seed, token, 2]) | 1,
            token,
        )
    }
    fn index(&self, thread: u32, k: u32) -> u64 {
        u64::from(thread) * u64::from(self.ops) + u64::from(k)
    }
    fn slot<D: Copy + Default>(&self, thread: u32, k: u32) -> At<D> {
        assert!(
            k < self.ops,
            "operation {k} of a program built for {} operations",
            self.ops
        );
        self.at(self.index(thread, k))
    }
    fn at<D: Copy + Default>(&self, slot: u64) -> At<D> {
        At::new(Addr(self.slots.0 + slot * SLOT))
    }
    /// Record, then token. The wrong orders differ only in where the token's store stands.
    #[track_caller]
    fn store<M: Mem>(&self, tx: &mut Tx<'_, M>, slot: At<M::Dep>, record: (u64, u64, u64)) {
        let (key, value, token) = record;
        let token_first = matches!(self.rt.variant(), Variant::TokenFirst | Variant::WrongStoreOrder);
        if token_first {
            tx.write(slot.field(TOKEN), Val::lit(token));
            tx.step();
        }
        tx.write(slot.field(KEY), Val::lit(key));
        tx.write(slot.field(VALUE), Val::lit(value));
        tx.step();
        if !token_first {
            tx.write(slot.field(TOKEN), Val::lit(token));
            tx.step();
        }
    }
    /// The mistake of `non-atomic-update`: the token vouches for a record whose value comes in a second transaction.
    #[track_caller]
    fn store_split<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32) -> Result<(), Rollback> {
        let (slot, (key, value, token)) = (self.slot(thread, k), self.record(thread, k));
        let mut tx = self.rt.begin(pm, thread, k)?;
        tx.write(slot.field(KEY), Val::lit(key));
        tx.step();
        tx.write(slot.field(TOKEN), Val::lit(token));
        tx.step();
        tx.commit();
        let mut tx = self.rt.begin_part(pm, thread, k, 1)?;
        tx.write(slot.field(VALUE), Val::lit(value));
        tx.step();
        tx.commit();
        Ok(())
    }
    fn resume<M: Mem<Dep = ()>>(&self, m: &mut M, thread: u32, seq: u32, region: &Region<()>) -> Result<(), Violation> {
        let (k, _) = Runtime::op_of(seq);
        let (slot, (key, value, token)) = (self.slot::<()>(thread, k), self.record(thread, k));
        if region.id != REGION_STORE {
            return Err(Violation {
                why: "a region record is none of this program's".into(),
                at: None,
            });
        }
        m.store(slot.field(KEY), Val::lit(key));
        m.store(slot.field(VALUE), Val::lit(value));
        m.store(slot.field(TOKEN), Val::lit(token));
        Ok(())
    }
}

impl Program for CommitStore {
    type Rebuild = LogStep;
    type Audit = CommitStoreAudit;
    type Model = History;

    fn setup<M: Mem>(&self, _m: &mut M) {}
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32) -> Result<Outcome, Rollback> {
        let (slot, mut record) = (self.slot(thread, k), self.record(thread, k));
        pm.m.compute(sites::COMMITSTORE_PROLOGUE);
        if self.rt.variant() == Variant::NonAtomicUpdate {
            self.store_split(pm, thread, k)?;
        } else {
            if self.rt.variant() == Variant::SemanticMistake && k % 4 == 1 {
                record.1 = self.record(thread, k - 1).1;
            }
            let mut tx = self.rt.begin(pm, thread, k)?;
            for part in [KEY, VALUE, TOKEN] {
                tx.protect(slot.field(part), 8);
            }
            tx.region(REGION_STORE, &[Val::lit(slot.addr.0)]);
            self.store(&mut tx, slot, record);
            tx.commit();
        }
        pm.m.compute(sites::COMMITSTORE_EPILOGUE);
        Ok(Outcome {
            kind: STORED,
            words: [record.2, 0, 0],
        })
    }

    fn rebuild_start(&self) -> LogStep {
        self.rt.recover_start()
    }
    fn rebuild<M: Mem<Dep = ()>>(&self, m: &mut M, state: LogStep) -> Flow<LogStep> {
        match self
            .rt
            .recover(m, state, |m, thread, seq, region| self.resume(m, thread, seq, region))
        {
            LogFlow::Next(step) => Flow::Next(step),
            LogFlow::Finished => Flow::Done(Ok(())),
            LogFlow::Broken(v) => Flow::Done(Err(v)),
        }
    }
    fn model(&self, ops: &[OpRecord]) -> History {
        let mut b = Builder::new(self.threads, ops);
        for o in ops {
            b.write(self.index(o.thread, o.k), (o.thread, o.k), o.outcome.words[0]);
        }
        b.build()
    }
    fn audit_start(&self, model: &History, crash: &CrashPoint) -> CommitStoreAudit {
        CommitStoreAudit {
            slot: 0,
            cut: model.cut(crash),
        }
    }
    /// One slot a step.
    fn audit<M: Mem<Dep = ()>>(&self, model: &History, m: &mut M, state: CommitStoreAudit) -> Flow<CommitStoreAudit> {
        let CommitStoreAudit { slot, mut cut } = state;
        if slot == u64::from(self.threads) * u64::from(self.ops) {
            return Flow::Done(Ok(()));
        }
        let at = self.at::<()>(slot);
        let token = m.load(at.field(TOKEN)).v;
        let wrong = |why: &str| Flow::Done(Err(Violation::at(at.field(TOKEN).addr, why)));
        if model.observe(&mut cut, slot, token).is_err() {
            return wrong("the tokens are those of no prefix of the operations");
        }
        if token != 0 {
            let (thread, k) = ((slot / u64::from(self.ops)) as u32, (slot % u64::from(self.ops)) as u32);
            let (key, value, _) = self.record(thread, k);
            if m.load(at.field(KEY)).v != key || m.load(at.field(VALUE)).v != value {
                return wrong("a token vouches for a record that is not there");
            }
        }
        Flow::Next(CommitStoreAudit { slot: slot + 1, cut })
    }
}
