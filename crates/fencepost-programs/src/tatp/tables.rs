//! Tables of TATP: where rows lie and what they hold before the run.

use crate::index::HashIndex;
use crate::layout::{Layout, Rows};
use fencepost_kernel::{Mem, Span, Val, Width, rng};

// A subscriber: two lines. Fields of 2 bytes, as in the lineage's code; numbers as text.
pub(super) const SUBSCRIBER: u64 = 128;
const S_ID: u64 = 0;
const SUB_NBR: u64 = 8;
/// bit_1, and behind it bit_2..10, hex_1..10 and byte2_1..10.
pub(super) const BIT_1: u64 = 24;
/// msc_location, and vlr_location beside it.
const MSC_LOCATION: u64 = 88;
pub(super) const VLR_LOCATION: u64 = 92;
/// Words of a subscriber that are used.
pub(super) const SUBSCRIBER_WORDS: u64 = 12;

// The other tables: one line a row, at a place given by subscriber and type. A row is there if its first word is not 0.
pub(super) const ROW: u64 = 64;
/// data1..4 of ACCESS_INFO, packed.
pub(super) const AI_DATA: u64 = 8;
/// is_active of SPECIAL_FACILITY.
pub(super) const SF_ACTIVE: u64 = 8;
/// data_a of SPECIAL_FACILITY.
pub(super) const SF_DATA_A: u64 = 16;
/// start_time and end_time of CALL_FORWARDING, packed.
pub(super) const CF_TIMES: u64 = 8;
/// numberx.
pub(super) const CF_NUMBER: u64 = 16;

/// Types of access and of facility, and call forwardings of a facility.
pub(super) const TYPES: u64 = 4;
pub(super) const FORWARDINGS: u64 = 3;

/// The tables. Those that the chosen mix does not touch have no rows.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    seed: u64,
    /// From a subscriber's number to its row.
    pub index: HashIndex,
    pub subscribers: Rows,
    pub access: Rows,
    pub facilities: Rows,
    pub forwardings: Rows,
}

/// 15 decimal digits, packed: the key of the index.
pub(super) fn sub_nbr(s: u64) -> u64 {
    let (mut rest, mut key) = (s + 1, 0);
    for digit in 0..15 {
        key |= (rest % 10) << (4 * digit);
        rest /= 10;
    }
    key
}
/// The subscriber with this number.
pub(super) fn subscriber(sub_nbr: u64) -> u64 {
    (0..15)
        .rev()
        .fold(0, |s, digit| s * 10 + ((sub_nbr >> (4 * digit)) & 0xf))
        - 1
}
/// 15 decimal digits as text, in two words.
pub(super) fn text(number: u64) -> [u64; 2] {
    let (mut rest, mut words) = (number, [0; 2]);
    for at in (0..15).rev() {
        words[at / 8] |= (u64::from(b'0') + rest % 10) << (8 * (at % 8));
        rest /= 10;
    }
    words
}
/// start_time and end_time of a forwarding in one word.
pub(super) fn times(slot: u64, duration: u64) -> u64 {
    (8 * slot) << 8 | (8 * slot + duration)
}

impl Tables {
    /// Reserves the tables; `all`: those that only the whole mix touches too.
    pub(super) fn new(layout: &mut Layout, seed: u64, subscribers: u64, all: bool) -> Tables {
        let index = HashIndex::new(layout, subscribers);
        let rest = if all { subscribers } else { 0 };
        Tables {
            seed,
            index,
            subscribers: Rows::new(layout, SUBSCRIBER, subscribers),
            access: Rows::new(layout, ROW, rest * TYPES),
            facilities: Rows::new(layout, ROW, rest * TYPES),
            forwardings: Rows::new(layout, ROW, rest * TYPES * FORWARDINGS),
        }
    }
    /// Number of a facility among all.
    #[inline(always)]
    pub(super) fn facility(&self, s: u64, kind: u64) -> u64 {
        s * TYPES + kind
    }
    /// Number of a call forwarding among all.
    #[inline(always)]
    pub(super) fn forwarding(&self, s: u64, kind: u64, slot: u64) -> u64 {
        self.facility(s, kind) * FORWARDINGS + slot
    }
    fn draw(&self, s: u64, what: u64) -> u64 {
        rng::hash(&[self.seed, s, what])
    }
    /// `count` types or slots of `of`, beginning anywhere: whether `i` is among them.
    fn among(h: u64, count: u64, of: u64, i: u64) -> bool {
        (i + of - (h >> 32) % of) % of < count
    }
    /// Location of a subscriber before the run: different for every one.
    pub(super) fn first_location(s: u64) -> u64 {
        location(s)
    }
    pub(super) fn first_bit(&self, s: u64) -> u64 {
        self.draw(s, 1) & 1
    }
    pub(super) fn has_access(&self, s: u64, kind: u64) -> bool {
        let h = self.draw(s, 2);
        Self::among(h, 1 + h % TYPES, TYPES, kind)
    }
    pub(super) fn has_facility(&self, s: u64, kind: u64) -> bool {
        let h = self.draw(s, 3);
        Self::among(h, 1 + h % TYPES, TYPES, kind)
    }
    pub(super) fn first_data_a(&self, s: u64, kind: u64) -> u64 {
        self.draw(s, 16 + kind) & 0xff
    }
    /// The words of a call forwarding before the run, if there is one.
    pub(super) fn first_forwarding(&self, s: u64, kind: u64, slot: u64) -> Option<[u64; 4]> {
        let h = self.draw(s, 32 + kind);
        let there = self.has_facility(s, kind) && Self::among(h, h % (FORWARDINGS + 1), FORWARDINGS, slot);
        // How many there are and how long they last are drawn apart, and the latter for each by itself.
        there.then(|| Self::forwarding_row(s, times(slot, 1 + (h >> (40 + 8 * slot)) % 8), s))
    }
    /// The words of a call forwarding.
    pub(super) fn forwarding_row(s: u64, times: u64, number: u64) -> [u64; 4] {
        let [a, b] = text(number);
        [s + 1, times, a, b]
    }
    /// Fills the tables.
    pub(super) fn fill<M: Mem>(&self, m: &mut M) {
        for s in 0..self.subscribers.count() {
            let row = self.subscribers.at(s);
            self.index.insert(m, sub_nbr(s), s);
            m.store(row.field(S_ID), Val::lit(s + 1));
            for (i, half) in (0..).zip(text(s + 1)) {
                m.store(row.field(SUB_NBR + 8 * i), Val::lit(half));
            }
            let bits = self.draw(s, 4) & 0x0001_0001_0001_0000;
            m.store(row.field(BIT_1), Val::lit(bits | self.first_bit(s)));
            for word in 4..11 {
                m.store(
                    row.field(word * 8),
                    Val::lit(self.draw(s, word) & 0x00ff_00ff_00ff_00ff),
                );
            }
            let locations = (self.draw(s, 5) >> 32) | Self::first_location(s) << 32;
            m.store(row.field(MSC_LOCATION), Val::lit(locations));
            if self.access.count() > 0 {
                self.fill_rest(m, s);
            }
        }
    }
    fn fill_rest<M: Mem>(&self, m: &mut M, s: u64) {
        for kind in 0..TYPES {
            if self.has_access(s, kind) {
                let row = self.access.at(self.facility(s, kind));
                m.store(row, Val::lit(s + 1));
                m.store(row.field(AI_DATA), Val::lit(self.draw(s, 8 + kind)));
            }
            if self.has_facility(s, kind) {
                let row = self.facilities.at(self.facility(s, kind));
                m.store(row, Val::lit(s + 1));
                m.store(
                    row.field(SF_ACTIVE),
                    Val::lit(u64::from(self.draw(s, 12 + kind) % 100 < 85)),
                );
                m.store(row.field(SF_DATA_A), Val::lit(self.first_data_a(s, kind)));
            }
            for slot in 0..FORWARDINGS {
                if let Some(words) = self.first_forwarding(s, kind, slot) {
                    let row = self.forwardings.at(self.forwarding(s, kind, slot));
                    for (i, w) in (0..).zip(words) {
                        m.store(row.field(8 * i), Val::lit(w));
                    }
                }
            }
        }
    }
    /// What stays in caches, hottest first.
    pub(super) fn spans(&self) -> Vec<Span> {
        let tables = [self.subscribers, self.access, self.facilities, self.forwardings];
        let rows = tables.iter().map(Rows::span).filter(|s| s.len > 0);
        std::iter::once(self.index.span()).chain(rows).collect()
    }
    /// Whether a store of this width at `at` is one that an operation makes: recovery trusts no record before asking.
    pub(super) fn changes(&self, at: u64, width: Width) -> bool {
        let line = at / ROW * ROW;
        let row = |rows: &Rows, size: u64| rows.owns(line) || (size == SUBSCRIBER && rows.owns(line - ROW));
        at.is_multiple_of(width.bytes())
            && (row(&self.subscribers, SUBSCRIBER) || row(&self.facilities, ROW) || row(&self.forwardings, ROW))
    }
}

/// The `serial`-th location: a 32-bit number that looks drawn and is different for every serial number.
pub(super) fn location(serial: u64) -> u64 {
    (serial + 1).wrapping_mul(0x9e37_79b1) & 0xffff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn every_subscriber_begins_somewhere_else() {
        let places: std::collections::BTreeSet<u64> = (0..100_000).map(Tables::first_location).collect();
        assert_eq!(places.len(), 100_000);
    }
    #[test]
    fn numbers_have_fifteen_digits() {
        assert_eq!(sub_nbr(1_234_566), 0x0000_0000_0123_4567);
        assert_eq!(subscriber(0x0000_0000_0123_4567), 1_234_566);
        assert_eq!(
            text(42),
            [u64::from_le_bytes(*b"00000000"), u64::from_le_bytes(*b"0000042\0")]
        );
        assert_eq!(times(2, 5), 0x10 << 8 | 0x15);
    }
    /// 1 to 4 rows of access and facilities, 0 to 3 forwardings of a facility, in equal shares.
    #[test]
    fn cardinalities_are_the_standards() {
        let tables = Tables::new(&mut Layout::default(), 7, 4000, true);
        let (mut access, mut facilities, mut forwardings) = ([0; 5], [0; 5], [0; 4]);
        for s in 0..4000 {
            access[(0..TYPES).filter(|k| tables.has_access(s, *k)).count()] += 1;
            facilities[(0..TYPES).filter(|k| tables.has_facility(s, *k)).count()] += 1;
            for kind in (0..TYPES).filter(|k| tables.has_facility(s, *k)) {
                let there = |slot: &u64| tables.first_forwarding(s, kind, *slot).is_some();
                forwardings[(0..FORWARDINGS).filter(there).count()] += 1;
            }
        }
        assert_eq!((access[0], facilities[0]), (0, 0));
        assert!(
            access[1..]
                .iter()
                .chain(&facilities[1..])
                .all(|n| (900..1100).contains(n))
        );
        assert!(forwardings.iter().all(|n| (2300..2700).contains(n)), "{forwardings:?}");
    }

    #[test]
    fn numbers_are_their_decimal_digits() {
        for s in [0, 8, 9, 98, 99, 123_456, 99_999_999, 123_456_789_012_344] {
            let digits = format!("{:015}", s + 1);
            assert_eq!(sub_nbr(s), u64::from_str_radix(&digits, 16).unwrap());
            assert_eq!(subscriber(sub_nbr(s)), s);
            let bytes: Vec<u8> = text(s + 1).iter().flat_map(|w| w.to_le_bytes()).collect();
            assert_eq!(bytes, format!("{digits}\0").into_bytes());
        }
        // A forwarding begins at 0, 8 or 16 o'clock and lasts up to eight hours.
        for (slot, hours) in (0..3).flat_map(|slot| (1..9).map(move |hours| (slot, hours))) {
            assert_eq!(
                times(slot, hours).to_be_bytes()[6..],
                [slot as u8 * 8, (slot * 8 + hours) as u8]
            );
        }
    }
    /// Every field of every row against the standard's population rules; rows that nobody has are 0.
    #[test]
    fn tables_are_filled_as_the_standard_has_it() {
        use crate::pool::tests::Words;
        const N: u64 = 500;
        let (tables, mut m) = (Tables::new(&mut Layout::default(), 7, N, true), Words::default());
        tables.fill(&mut m);
        let counts = [
            &tables.subscribers,
            &tables.access,
            &tables.facilities,
            &tables.forwardings,
        ]
        .map(Rows::count);
        assert_eq!(counts, [N, 4 * N, 4 * N, 12 * N]);
        let mut word = |rows: &Rows, row, offset| m.load(rows.at::<()>(row).field(offset)).v;
        let (mut active, mut facilities, mut hours) = (0, 0, [0u32; 9]);
        let mut bits = [0; 4];
        for s in 0..N {
            let row = |offset| word(&tables.subscribers, s, offset);
            let row: Vec<u64> = (0..16).map(|w| w * 8).map(row).collect();
            assert_eq!((row[0], [row[1], row[2]]), (s + 1, text(s + 1)));
            assert_eq!(row[3] & !0x0001_0001_0001_0001, 0, "bits are 0 or 1");
            assert_eq!(row[3] & 1, tables.first_bit(s));
            bits.iter_mut()
                .enumerate()
                .for_each(|(i, n)| *n += row[3] >> (16 * i) & 1);
            assert!(row[4..11].iter().all(|w| w & !0x00ff_00ff_00ff_00ff == 0 && *w != 0));
            assert_eq!(row[11] >> 32, Tables::first_location(s), "vlr_location is at byte 92");
            assert!(row[12..].iter().all(|w| *w == 0));
            for kind in 0..4 {
                let (at, there) = (4 * s + kind, tables.has_access(s, kind));
                assert_eq!(word(&tables.access, at, 0), if there { s + 1 } else { 0 });
                assert_eq!(word(&tables.access, at, AI_DATA) != 0, there);
                let there = tables.has_facility(s, kind);
                assert_eq!(word(&tables.facilities, at, 0), if there { s + 1 } else { 0 });
                assert!(word(&tables.facilities, at, SF_DATA_A) <= 0xff);
                assert!(word(&tables.facilities, at, SF_ACTIVE) <= u64::from(there));
                facilities += u64::from(there);
                active += word(&tables.facilities, at, SF_ACTIVE);
                for slot in 0..3 {
                    let row = [0, 8, 16, 24].map(|o| word(&tables.forwardings, 3 * at + slot, o));
                    if row[0] == 0 {
                        assert_eq!(row, [0; 4]);
                        continue;
                    }
                    assert!(there, "only a facility forwards");
                    let (start, end) = (row[1] >> 8, row[1] & 0xff);
                    assert_eq!((row[0], start), (s + 1, 8 * slot));
                    assert_eq!([row[2], row[3]], text(s));
                    hours[(end - start) as usize] += 1;
                }
            }
        }
        assert!((active * 100 / facilities).abs_diff(85) < 5, "{active} of {facilities}");
        let each = hours.iter().sum::<u32>() / 8;
        let alike = |n: &u32| n.abs_diff(each) < each / 4;
        assert!(hours[0] == 0 && hours[1..].iter().all(alike), "1 to 8 hours: {hours:?}");
        assert!(bits.iter().all(|n| n.abs_diff(N / 2) < N / 8), "{bits:?}");
    }
    /// Operations change subscribers, facilities and forwardings, at multiples of what they store.
    #[test]
    fn changes_lie_in_the_tables_that_operations_change() {
        let mut layout = Layout::default();
        let tables = Tables::new(&mut layout, 7, 3, true);
        let within = |s: Span, at: u64| (s.at.0..s.at.0 + s.len).contains(&at);
        let changed = [tables.subscribers, tables.facilities, tables.forwardings].map(|r| r.span());
        let end = fencepost_kernel::Addr::pm(layout.footprint().pm.0).0;
        for at in tables.index.span().at.0.min(changed[0].at.0)..end + 128 {
            let there = changed.iter().any(|s| within(*s, at));
            assert_eq!(tables.changes(at, Width::B8), there && at % 8 == 0, "{at}");
            assert_eq!(tables.changes(at, Width::B4), there && at % 4 == 0, "{at}");
        }
        let writes = Tables::new(&mut Layout::default(), 7, 3, false);
        assert_eq!(
            (
                writes.access.count(),
                writes.facilities.count(),
                writes.forwardings.count()
            ),
            (0, 0, 0)
        );
        assert_eq!((writes.spans().len(), tables.spans().len()), (2, 5));
    }
}
