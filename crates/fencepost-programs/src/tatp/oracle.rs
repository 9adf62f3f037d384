//! The oracle of `tatp`: a register for every field that transactions write.

use super::tables::{BIT_1, CF_NUMBER, CF_TIMES, FORWARDINGS, SF_DATA_A, TYPES, Tables, VLR_LOCATION, subscriber};
use super::{REGION, Request, Tatp, WIDTH_SHIFT, WROTE};
use crate::oracle::Builder;
use crate::registers::Registers;
use crate::tx::Region;
use fencepost_kernel::{Addr, At, Mem, OpRecord, Val, Violation, Width, rng};
use std::collections::BTreeMap;

/// Registers of a subscriber: location, bit, data_a by facility, call forwardings.
const EACH: u64 = 32;
const LOCATION: u64 = 0;
const BIT: u64 = 1;
const DATA: u64 = 2;
const FORWARDING: u64 = DATA + TYPES;

/// A row of call forwarding as one value; 0: there is none.
fn forwarding(row: [u64; 4]) -> u64 {
    if row[0] == 0 { 0 } else { rng::hash(&row) | 1 }
}

impl Tatp {
    /// iDO: repeats the stores of the interrupted transaction.
    pub(super) fn resume<M: Mem<Dep = ()>>(&self, m: &mut M, region: &Region<()>) -> Result<(), Violation> {
        for pair in region.inputs[..region.len].chunks(2) {
            let at = pair[0].v & ((1 << WIDTH_SHIFT) - 1);
            let width = match pair[0].v >> WIDTH_SHIFT {
                2 => Width::B2,
                4 => Width::B4,
                _ => Width::B8,
            };
            if region.id != REGION || pair.len() != 2 || !self.tables.changes(at, width) {
                return Err(Violation {
                    why: "a region record names no row of the tables".into(),
                    at: None,
                });
            }
            m.store_n(At::new(Addr(at)), pair[1], width);
        }
        Ok(())
    }
    fn first(&self, register: u64) -> u64 {
        let (s, field) = (register / EACH, register % EACH);
        let t = &self.tables;
        match field {
            LOCATION => Tables::first_location(s),
            BIT => t.first_bit(s),
            f if f < FORWARDING => t.first_data_a(s, f - DATA),
            f => {
                let n = f - FORWARDING;
                let (kind, slot) = (n / FORWARDINGS, n % FORWARDINGS);
                t.first_forwarding(s, kind, slot).map_or(0, forwarding)
            }
        }
    }
    /// Transactions are replayed in the order of their locks; each must have written where this order lets it.
    pub(super) fn replay(&self, ops: &[OpRecord]) -> Registers {
        let mut b = Builder::new(ops);
        let (mut now, mut explained) = (BTreeMap::<u64, u64>::new(), true);
        for o in ops {
            let mut is = |r: u64| *now.entry(r).or_insert_with(|| self.first(r));
            let slot = |s: u64, kind, slot| s * EACH + FORWARDING + kind * FORWARDINGS + slot;
            let writes: Vec<(u64, u64)> = match self.client.request(o.thread, o.k) {
                Request::Location { sub_nbr, location } => vec![(subscriber(sub_nbr) * EACH + LOCATION, location)],
                Request::Subscriber { s, bit, kind, data } if self.tables.has_facility(s, kind) => {
                    vec![(s * EACH + BIT, bit), (s * EACH + DATA + kind, data)]
                }
                Request::Insert { kind, slot: i, row, .. } => {
                    let (s, r) = (row[0] - 1, slot(row[0] - 1, kind, i));
                    let possible = self.tables.has_facility(s, kind) && is(r) == 0;
                    possible.then(|| (r, forwarding(row))).into_iter().collect()
                }
                Request::Delete { sub_nbr, kind, slot: i } => {
                    let r = slot(subscriber(sub_nbr), kind, i);
                    (is(r) != 0).then_some((r, 0)).into_iter().collect()
                }
                Request::GetSubscriber { s } => {
                    explained &= is(s * EACH + LOCATION) == o.outcome.words[1];
                    Vec::new()
                }
                _ => Vec::new(),
            };
            explained &= writes.is_empty() != (o.outcome.kind == WROTE);
            for (r, value) in writes {
                b.initial(r, self.first(r));
                b.write(r, (o.thread, o.k), value);
                now.insert(r, value);
            }
        }
        Registers::new(b.build_if(explained, "no order of the transactions explains what they found"))
    }
    /// What memory holds in a register, and where.
    pub(super) fn look<M: Mem<Dep = ()>>(&self, m: &mut M, register: u64) -> (Addr, Result<u64, &'static str>) {
        let (s, field) = (register / EACH, register % EACH);
        let t = &self.tables;
        let narrow = |m: &mut M, at: At<()>, width| (at.addr, Ok(m.load_n(at, width).v));
        match field {
            LOCATION => narrow(m, t.subscribers.at(s).field(VLR_LOCATION), Width::B4),
            BIT => narrow(m, t.subscribers.at(s).field(BIT_1), Width::B2),
            f if f < FORWARDING => {
                let row = t.facilities.at(t.facility(s, f - DATA));
                narrow(m, row.field(SF_DATA_A), Width::B2)
            }
            f => {
                let n = f - FORWARDING;
                let (kind, slot) = (n / FORWARDINGS, n % FORWARDINGS);
                let row: At<()> = t.forwardings.at(t.forwarding(s, kind, slot));
                let first: Val<()> = m.load(row);
                if first.v == 0 {
                    return (row.addr, Ok(0));
                }
                let mut word = |offset| m.load(row.field(offset)).v;
                let words = [first.v, word(CF_TIMES), word(CF_NUMBER), word(CF_NUMBER + 8)];
                let whole = words[0] == s + 1 && words[1] >> 8 == 8 * slot;
                let value = if whole {
                    Ok(forwarding(words))
                } else {
                    Err("a call forwarding is not whole: it is another one's")
                };
                (row.addr, value)
            }
        }
    }
}

/// What the tables hold before the run is what the registers hold; a forwarding of another place is none.
#[test]
fn registers_begin_as_the_tables_do() {
    use crate::pool::tests::Words;
    use crate::settings::{Described as _, Settings};
    use fencepost_kernel::Program as _;
    use fencepost_kernel::params::Raw;
    let settings = Settings {
        params: vec![
            ("subscribers".into(), Raw::Int(40)),
            ("mix".into(), Raw::Text("writes".into())),
        ],
        ..Settings::default()
    };
    let (tatp, mut m) = (Tatp::build(&settings).unwrap(), Words::default());
    tatp.setup(&mut m);
    let mut forwardings = 0;
    for register in (0..40).flat_map(|s| (0..FORWARDING + TYPES * FORWARDINGS).map(move |f| s * EACH + f)) {
        let (at, found) = tatp.look(&mut m, register);
        let (s, field) = (register / EACH, register % EACH);
        if (DATA..FORWARDING).contains(&field) {
            let facility = tatp.tables.facilities.at::<()>(tatp.tables.facility(s, field - DATA));
            if m.load(facility).v == 0 {
                continue; // the subscriber has no such facility, and nobody asks for its register
            }
        }
        assert_eq!(found, Ok(tatp.first(register)), "register {register}");
        if field >= FORWARDING && found != Ok(0) {
            forwardings += 1;
            let row = At::<()>::new(at);
            for spoilt in [row, row.field(CF_TIMES)] {
                let word = m.load(spoilt);
                m.store(spoilt, Val::lit(word.v + (64 << 8)));
                assert!(tatp.look(&mut m, register).1.is_err(), "register {register}");
                m.store(spoilt, word);
            }
        }
    }
    assert!(forwardings > 10, "{forwardings}");
}
