//! `tatp`: the telecom benchmark (TATP 1.0) on its four tables, with an index from a subscriber's number to its row.
//!
//! By default every operation is UPDATE_LOCATION: a random subscriber's row is found by its 15-digit number and one 4-byte field of it
//! is written: one store. `mix=standard` runs all seven transactions in the standard's proportions. Numbers and values come from
//! the client (the input); subscribers are chosen non-uniformly unless `choice=uniform`. Locks are striped over subscribers.
//!
//! Raw form: the row is copied aside, a flag validates the copy, the row changes, the flag is cleared: four barriers (the lineage's
//! physical layout and transaction: a subscriber is 128 B, rows of the other tables 64 B).
//!
//! Used by dpo and themis.

mod change;
mod oracle;
mod requests;
mod tables;

pub use requests::{Choice, Mix, Request};

use crate::choices::{Coupling, Scheme, Variant};
use crate::layout::{Footprint, Layout, Locks};
use crate::pool::Pool;
use crate::registers::{RegisterAudit, Registers};
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::tx::{LogStep, Runtime, Tx};
use change::{Change, small, word};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{
    Addr, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, Val, Width, params,
};
use requests::Client;
use tables::{
    AI_DATA, BIT_1, CF_NUMBER, CF_TIMES, FORWARDINGS, ROW, SF_ACTIVE, SF_DATA_A, SUBSCRIBER, SUBSCRIBER_WORDS, TYPES,
    Tables, VLR_LOCATION,
};

params! {
    /// Parameters of `tatp`.
    pub struct TatpParams {
        /// Subscribers.
        #[range(1..=1 << 24)]
        subscribers: u64 = 100_000,
        /// Which transactions run.
        mix: Mix = Mix::UpdateLocation,
        /// How subscribers are chosen.
        choice: Choice = Choice::NonUniform,
        /// Lock stripes over the subscribers.
        #[range(1..=1 << 20)]
        locks: u64 = 512,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
    }
}

/// Kinds of outcomes: what wrote, and what only read.
const READ: u8 = 0;
const WROTE: u8 = 1;
const REGION: u8 = 1;
/// Above an address in a region's record: bytes of the store.
const WIDTH_SHIFT: u32 = 48;

/// The program.
#[derive(Clone, Debug)]
pub struct Tatp {
    rt: Runtime,
    client: Client,
    tables: Tables,
    locks: Locks,
    footprint: Footprint,
}

impl Described for Tatp {
    const NAME: &'static str = "tatp";
    const ABOUT: &'static str = "telecom benchmark: update a subscriber's location, or the whole mix";
    const SCHEMES: &'static [Scheme] = Scheme::BY_HAND;
    const OWN_VARIANTS: &'static [Variant] = &[
        Variant::NonAtomicUpdate,
        Variant::SemanticMistake,
        Variant::SharedFence,
        Variant::FlagNeverSet,
    ];
    const SMALL: &'static [(&'static str, &'static str)] = &[("subscribers", "3"), ("locks", "2"), ("mix", "writes")];

    fn fields() -> Vec<Field> {
        TatpParams::fields()
    }
    fn build(s: &Settings) -> Result<Tatp, ProgramError> {
        let p: TatpParams = read_params::<Tatp, _>(s)?;
        if p.subscribers + u64::from(s.threads) * u64::from(s.ops) >= 1 << 32 {
            let why = "subscribers and operations together reach 2^32, beyond which locations would repeat";
            return Err(impossible::<Tatp>(why));
        }
        let mut layout = Layout::default();
        let tables = Tables::new(&mut layout, s.seed, p.subscribers, p.mix != Mix::UpdateLocation);
        let pool = Pool::new(&mut layout, s.threads, 64, 0);
        let rt = Runtime::new(&mut layout, s, p.coupling, 8, pool).with_backups();
        let locks = Locks::new(&mut layout, p.locks.min(p.subscribers));
        let client = Client {
            seed: s.seed,
            threads: s.threads,
            subscribers: p.subscribers,
            mix: p.mix,
            choice: p.choice,
        };
        Ok(Tatp {
            rt,
            client,
            tables,
            locks,
            footprint: layout.footprint(),
        })
    }
}

impl Tatp {
    /// One transaction that only stores: these stores, at most six.
    #[inline(always)]
    fn change<M: Mem, const N: usize>(
        &self,
        pm: &mut Pm<'_, M>,
        (thread, k): (u32, u32),
        stores: [Change<M::Dep>; N],
    ) -> Result<(), Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        self.announce(&mut tx, &stores);
        if tx.has_regions() {
            let mut inputs = [Val::lit(0); 12];
            for (i, s) in stores.iter().enumerate() {
                inputs[2 * i] = s.at().pointer().map(|a| a | s.width.bytes() << WIDTH_SHIFT);
                inputs[2 * i + 1] = s.v;
            }
            tx.region(REGION, &inputs[..2 * N]);
        }
        let split = tx.slip(Variant::NonAtomicUpdate);
        for (i, s) in stores.iter().enumerate() {
            // The mistake: the last field is half done, and done in a transaction of its own.
            let half = u64::from(split && i + 1 == N);
            tx.write_n(s.at(), s.v.map(|v| v ^ half), s.width);
        }
        tx.drop_backups();
        tx.commit();
        if split && let Some(s) = stores.last() {
            let mut tx = self.rt.begin_part(pm, thread, k, 1)?;
            self.announce(&mut tx, std::slice::from_ref(s));
            tx.region(
                REGION,
                &[s.at().pointer().map(|a| a | s.width.bytes() << WIDTH_SHIFT), s.v],
            );
            tx.write_n(s.at(), s.v, s.width);
            tx.drop_backups();
            tx.commit();
        }
        Ok(())
    }
    /// Announces every word that will change, and backs up the rows.
    #[inline(always)]
    fn announce<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, stores: &[Change<M::Dep>]) {
        let mut last = 0;
        for s in stores {
            tx.protect(s.row.field(s.offset & !7), 8);
            if s.row.addr.0 != last {
                last = s.row.addr.0;
                tx.back_up(s.row, s.row_bytes);
            }
        }
        tx.backed_up();
    }
    #[inline(always)]
    fn update_location<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        op: (u32, u32),
        sub_nbr: u64,
        location: u64,
    ) -> Result<Outcome, Rollback> {
        let Some(s) = self.tables.index.find(pm.m, sub_nbr) else {
            return Ok(Outcome::default());
        };
        let lock = self.locks.of(s.v);
        pm.lock(lock);
        // The mistake: msc_location, which stands beside it.
        let wrong = self.rt.slip::<M>(Variant::SemanticMistake) && op.1 % 4 == 1;
        let change = Change {
            row: self.tables.subscribers.row(s),
            row_bytes: SUBSCRIBER,
            offset: VLR_LOCATION - 4 * u64::from(wrong),
            v: Val::lit(location),
            width: Width::B4,
        };
        let result = self.change(pm, op, [change]);
        pm.unlock(lock);
        // Nobody looks at the outcome of a measured operation.
        result.map(|()| if M::OBSERVED { wrote(s.v) } else { Outcome::default() })
    }
    /// Every other transaction. Out of line: none of them is part of the default mix.
    #[inline(never)]
    fn other<M: Mem>(&self, pm: &mut Pm<'_, M>, op: (u32, u32), request: &Request) -> Result<Outcome, Rollback> {
        let s = match *request {
            Request::Location { sub_nbr, .. } | Request::Insert { sub_nbr, .. } | Request::Delete { sub_nbr, .. } => {
                match self.tables.index.find(pm.m, sub_nbr) {
                    Some(s) => s,
                    None => return Ok(Outcome::default()),
                }
            }
            Request::Subscriber { s, .. }
            | Request::GetSubscriber { s }
            | Request::GetAccess { s, .. }
            | Request::GetDestination { s, .. } => Val::lit(s),
        };
        let lock = self.locks.of(s.v);
        pm.lock(lock);
        let result = self.locked(pm, op, s, request);
        pm.unlock(lock);
        result
    }
    fn locked<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        op: (u32, u32),
        s: Val<M::Dep>,
        request: &Request,
    ) -> Result<Outcome, Rollback> {
        let t = &self.tables;
        match *request {
            Request::Subscriber { bit, kind, data, .. } => {
                let facility = t.facilities.row(s.map(|s| t.facility(s, kind)));
                if pm.m.load(facility).v == 0 {
                    return self.nothing(pm, op);
                }
                let subscriber = t.subscribers.row(s);
                let changes = [
                    small(subscriber, SUBSCRIBER, BIT_1, bit),
                    small(facility, ROW, SF_DATA_A, data),
                ];
                self.change(pm, op, changes).map(|()| wrote(s.v))
            }
            Request::Insert { kind, slot, row, .. } => {
                let facility = t.facilities.row(s.map(|s| t.facility(s, kind)));
                let at = t.forwardings.row(s.map(|s| t.forwarding(s, kind, slot)));
                if pm.m.load(facility).v == 0 || pm.m.load(at).v != 0 {
                    return self.nothing(pm, op);
                }
                let field = |i: usize| word(at, 8 * i as u64, row[i]);
                self.change(pm, op, [field(1), field(2), field(3), field(0)])
                    .map(|()| wrote(s.v))
            }
            Request::Delete { kind, slot, .. } => {
                let at = t.forwardings.row(s.map(|s| t.forwarding(s, kind, slot)));
                if pm.m.load(at).v == 0 {
                    return self.nothing(pm, op);
                }
                self.change(pm, op, [word(at, 0, 0)]).map(|()| wrote(s.v))
            }
            _ => {
                let mut tx = self.rt.begin(pm, op.0, op.1)?;
                let found = self.read(&mut tx, s, request);
                tx.commit();
                Ok(Outcome {
                    kind: READ,
                    words: [s.v, found, 0],
                })
            }
        }
    }
    /// A transaction that found nothing to change.
    fn nothing<M: Mem>(&self, pm: &mut Pm<'_, M>, op: (u32, u32)) -> Result<Outcome, Rollback> {
        self.rt.begin(pm, op.0, op.1)?.commit();
        Ok(Outcome::default())
    }
    /// The transactions that only read.
    fn read<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, s: Val<M::Dep>, request: &Request) -> u64 {
        let t = &self.tables;
        match *request {
            Request::GetSubscriber { .. } => {
                let row = t.subscribers.row(s);
                let last = (0..SUBSCRIBER_WORDS).map(|w| tx.read(row.field(8 * w)).v).last();
                tx.compute(sites::ROW);
                // vlr_location is the upper half of the last word.
                last.unwrap_or_default() >> 32
            }
            Request::GetAccess { kind, .. } => {
                let row = t.access.row(s.map(|s| s * TYPES + kind));
                let there = tx.read(row).v != 0;
                tx.compute(sites::ROW);
                if there { tx.read(row.field(AI_DATA)).v } else { 0 }
            }
            Request::GetDestination { kind, slot, end, .. } => {
                let facility = t.facilities.row(s.map(|s| t.facility(s, kind)));
                if tx.read(facility).v == 0 || tx.read(facility.field(SF_ACTIVE)).v == 0 {
                    return 0;
                }
                let mut found = 0;
                for i in (0..FORWARDINGS).filter(|i| *i <= slot) {
                    let row = t.forwardings.row(s.map(|s| t.forwarding(s, kind, i)));
                    if tx.read(row).v != 0 && tx.read(row.field(CF_TIMES)).v & 0xff > end {
                        found += tx.read(row.field(CF_NUMBER)).v & 1 | 2;
                    }
                    tx.compute(sites::ROW);
                }
                found
            }
            _ => 0,
        }
    }
}

fn wrote(s: u64) -> Outcome {
    Outcome {
        kind: WROTE,
        words: [s, 0, 0],
    }
}
impl Program for Tatp {
    type Input = Request;
    type Rebuild = LogStep;
    type Audit = RegisterAudit;
    type Model = Registers;

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        self.tables.fill(m);
    }
    fn resident(&self) -> Vec<Span> {
        self.tables.spans()
    }
    fn ranges(&self, thread: u32) -> Vec<Span> {
        self.rt.ranges(thread, self.resident())
    }
    fn input(&self, thread: u32, k: u32) -> Request {
        self.client.request(thread, k)
    }
    #[inline(always)]
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, input: &Request) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        let result = match *input {
            Request::Location { sub_nbr, location } => self.update_location(pm, (thread, k), sub_nbr, location),
            _ => self.other(pm, (thread, k), input),
        };
        pm.m.compute(sites::EPILOGUE);
        result
    }

    fn rebuild_start(&self) -> LogStep {
        self.rt.recover_start()
    }
    fn rebuild<M: Mem<Dep = ()>>(&self, m: &mut M, state: LogStep) -> Flow<LogStep> {
        self.rt.rebuild(m, state, |m, _, _, region| self.resume(m, region))
    }
    fn model(&self, ops: &[OpRecord]) -> Registers {
        self.replay(ops)
    }
    fn audit_start(&self, model: &Registers, crash: &CrashPoint) -> RegisterAudit {
        model.start(crash)
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &Registers, m: &mut M, state: RegisterAudit) -> Flow<RegisterAudit> {
        model.step(
            state,
            "the tables are those of no prefix of the transactions",
            |register| {
                let (at, value) = self.look(m, register);
                value
                    .map(|v| (v, at))
                    .map_err(|why| fencepost_kernel::Violation::at(Addr(at.0), why))
            },
        )
    }
}
