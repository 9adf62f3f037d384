//! `commitstore`: the commit-store idiom. A record is written, then a token that validates it.
//!
//! Each operation owns a slot: it stores a key and a value there, and then the slot's token; a reader trusts a record
//! only if its token is set. Key, value and token lie on three different lines, so that no same-line order hides a
//! mistake.
//!
//! Hand-ordered: key and value; token. Two barriers, three flushes. The commonest published ordering bug is its
//! variant `token-first`: the token durable before the key and value it validates.

use crate::choices::{Coupling, Scheme, Variant, schemes_for};
use crate::layout::{Footprint, Layout, Rows};
use crate::oracle::Builder;
use crate::pool::Pool;
use crate::registers::{RegisterAudit, Registers};
use crate::settings::{Described, ProgramError, Settings, read_params};
use crate::sites;
use crate::tx::{LogStep, Region, Runtime, Tx};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{
    CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, Val, Violation, params, rng,
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
    ops: u32,
    slots: Rows,
    footprint: Footprint,
}

impl Described for CommitStore {
    const NAME: &'static str = "commitstore";
    const ABOUT: &'static str = "commit store: key and value, then the token that validates them";
    const SCHEMES: &'static [Scheme] = schemes_for!(Stores | Regions | Orders, first Raw);
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake, Variant::TokenFirst];

    fn fields() -> Vec<Field> {
        CommitStoreParams::fields()
    }
    fn build(s: &Settings) -> Result<CommitStore, ProgramError> {
        let params: CommitStoreParams = read_params::<CommitStore, _>(s)?;
        let mut layout = Layout::default();
        let slots = Rows::new(&mut layout, SLOT, u64::from(s.threads) * u64::from(s.ops));
        let pool = Pool::new(&mut layout, s.threads, 64, 0);
        let rt = Runtime::new(&mut layout, s, params.coupling, 3, pool);
        Ok(CommitStore {
            rt,
            seed: s.seed,
            ops: s.ops,
            slots,
            footprint: layout.footprint(),
        })
    }
}

/// What one operation stores.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Record {
    slot: u64,
    key: u64,
    value: u64,
    token: u64,
    /// What the mistake of logic stores for the value.
    mistaken: u64,
}

impl CommitStore {
    /// The record of operation `k`. Its token is the operation's number from 1; key and value are functions of it.
    fn record(&self, thread: u32, k: u32) -> Record {
        let token = |k: u32| (u64::from(thread) + 1) << 32 | (u64::from(k) + 1);
        let value = |k| rng::hash(&[self.seed, token(k), 2]) | 1;
        Record {
            slot: self.index(thread, k),
            key: rng::hash(&[self.seed, token(k), 1]) | 1,
            value: value(k),
            token: token(k),
            mistaken: value(k - k.min(1) * u32::from(k % 4 == 1)),
        }
    }
    fn index(&self, thread: u32, k: u32) -> u64 {
        assert!(
            k < self.ops,
            "operation {k} of a program built for {} operations",
            self.ops
        );
        u64::from(thread) * u64::from(self.ops) + u64::from(k)
    }
    /// Record, then token. The wrong orders differ only in where the token's store stands.
    #[inline(always)]
    fn store<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, record: &Record) {
        let slot = self.slots.at::<M::Dep>(record.slot);
        let token_first = tx.slip(Variant::TokenFirst) || tx.slip(Variant::WrongStoreOrder);
        let value = if tx.slip(Variant::SemanticMistake) {
            record.mistaken
        } else {
            record.value
        };
        if token_first {
            tx.write(slot.field(TOKEN), Val::lit(record.token));
            tx.step();
        }
        tx.write(slot.field(KEY), Val::lit(record.key));
        tx.write(slot.field(VALUE), Val::lit(value));
        tx.step();
        if !token_first {
            tx.write(slot.field(TOKEN), Val::lit(record.token));
            tx.step();
        }
    }
    /// The mistake of `non-atomic-update`: the token validates a record whose value comes in a second transaction.
    fn store_split<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, record: &Record) -> Result<(), Rollback> {
        let slot = self.slots.at::<M::Dep>(record.slot);
        let mut tx = self.rt.begin(pm, thread, k)?;
        tx.update(slot.field(KEY), Val::lit(record.key));
        tx.step();
        tx.update(slot.field(TOKEN), Val::lit(record.token));
        tx.step();
        tx.commit();
        let mut tx = self.rt.begin_part(pm, thread, k, 1)?;
        tx.update(slot.field(VALUE), Val::lit(record.value));
        tx.step();
        tx.commit();
        Ok(())
    }
    fn resume<M: Mem<Dep = ()>>(&self, m: &mut M, thread: u32, seq: u32, region: &Region<()>) -> Result<(), Violation> {
        let (k, _) = Runtime::op_of(seq);
        let record = self.record(thread, k);
        let slot = self.slots.at::<()>(record.slot);
        if region.id != REGION_STORE {
            return Err(Violation {
                why: "a region record is none of this program's".into(),
                at: None,
            });
        }
        m.store(slot.field(KEY), Val::lit(record.key));
        m.store(slot.field(VALUE), Val::lit(record.value));
        m.store(slot.field(TOKEN), Val::lit(record.token));
        Ok(())
    }
}

impl Program for CommitStore {
    type Input = Record;
    type Rebuild = LogStep;
    type Audit = RegisterAudit;
    type Model = Registers;

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, _m: &mut M) {}
    fn ranges(&self, thread: u32) -> Vec<Span> {
        self.rt.ranges(thread, vec![self.slots.span()])
    }
    fn input(&self, thread: u32, k: u32) -> Record {
        self.record(thread, k)
    }
    #[inline(always)]
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, input: &Record) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        if self.rt.slip::<M>(Variant::NonAtomicUpdate) {
            self.store_split(pm, thread, k, input)?;
        } else {
            let mut tx = self.rt.begin(pm, thread, k)?;
            let slot = self.slots.at::<M::Dep>(input.slot);
            for part in [KEY, VALUE, TOKEN] {
                tx.protect(slot.field(part), 8);
            }
            tx.region(REGION_STORE, &[slot.pointer()]);
            self.store(&mut tx, input);
            tx.commit();
        }
        pm.m.compute(sites::EPILOGUE);
        Ok(Outcome {
            kind: STORED,
            words: [input.token, 0, 0],
        })
    }

    fn rebuild_start(&self) -> LogStep {
        self.rt.recover_start()
    }
    fn rebuild<M: Mem<Dep = ()>>(&self, m: &mut M, state: LogStep) -> Flow<LogStep> {
        (self.rt).rebuild(m, state, |m, thread, seq, region| self.resume(m, thread, seq, region))
    }
    fn model(&self, ops: &[OpRecord]) -> Registers {
        let mut b = Builder::new(ops);
        for slot in 0..self.slots.count() {
            b.initial(slot, 0);
        }
        for o in ops {
            b.write(self.index(o.thread, o.k), (o.thread, o.k), o.outcome.words[0]);
        }
        Registers::new(b.build())
    }
    fn audit_start(&self, model: &Registers, crash: &CrashPoint) -> RegisterAudit {
        model.start(crash)
    }
    /// One slot a step.
    fn audit<M: Mem<Dep = ()>>(&self, model: &Registers, m: &mut M, state: RegisterAudit) -> Flow<RegisterAudit> {
        let wrong = "the tokens are those of no prefix of the operations";
        model.step_rows((&self.slots, m), state, wrong, |m, slot| {
            let at = self.slots.at::<()>(slot);
            let token = m.load(at.field(TOKEN)).v;
            let (thread, k) = (slot / u64::from(self.ops), slot % u64::from(self.ops));
            let record = self.record(thread as u32, k as u32);
            let whole = m.load(at.field(KEY)).v == record.key && m.load(at.field(VALUE)).v == record.value;
            if token != 0 && !whole {
                let why = "a token validates a record that is not there";
                return Err(Violation::at(at.field(TOKEN).addr, why));
            }
            Ok((token, at.field(TOKEN).addr))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Each operation has a slot of three lines, a token that names it and a key and a value of its own; what the mistake of logic stores is
    /// the value of the operation before, at every fourth.
    #[test]
    fn every_operation_has_a_record_of_its_own() {
        let settings = Settings {
            threads: 3,
            ops: 50,
            ..Settings::default()
        };
        let w = CommitStore::build(&settings).expect("it can be built");
        assert_eq!((w.slots.count(), w.slots.span().len), (150, 150 * 192));
        assert!([KEY, VALUE, TOKEN].map(|f| f / 64) == [0, 1, 2] && TOKEN + 64 == SLOT);
        let (mut slots, mut words) = (BTreeSet::new(), BTreeSet::new());
        for (thread, k) in (0..3).flat_map(|t| (0..50).map(move |k| (t, k))) {
            let r = w.record(thread, k);
            assert_eq!(r, w.input(thread, k));
            assert_eq!(
                (r.token >> 32, r.token & 0xffff_ffff),
                (u64::from(thread) + 1, u64::from(k) + 1)
            );
            assert!(slots.insert(r.slot) && words.insert(r.key) && words.insert(r.value));
            assert!(r.key != 0 && r.value != 0);
            let mistaken = if k % 4 == 1 {
                w.record(thread, k - 1).value
            } else {
                r.value
            };
            assert_eq!(r.mistaken, mistaken);
        }
        assert!(slots.into_iter().eq(0..150));
    }
    /// The program has no operations but those that it was built for.
    #[test]
    #[should_panic(expected = "built for 5 operations")]
    fn an_operation_beyond_the_last_is_none() {
        let settings = Settings {
            ops: 5,
            ..Settings::default()
        };
        CommitStore::build(&settings).expect("it can be built").index(0, 5);
    }
}
