//! What the tables hold before the run, field by field against the standard's population rules (4.3.3.1).

use super::*;
use crate::pool::tests::Words;
use fencepost_kernel::Addr;

const SCALE: Scale = Scale {
    warehouses: 2,
    districts: 3,
    customers: 1200,
    items: 50,
    orders: 10,
};
/// Orders that a district may get besides.
const MORE: u64 = 4;

fn filled() -> (Tables, Words) {
    let (tables, mut m) = (Tables::new(&mut Layout::default(), 3, SCALE, MORE), Words::default());
    tables.fill(&mut m);
    (tables, m)
}

/// The words of a row.
fn words(m: &mut Words, rows: &Rows, row: u64, bytes: u64) -> Vec<u64> {
    let at = rows.at::<()>(row);
    (0..bytes / 8).map(|w| m.load(at.field(8 * w)).v).collect()
}
fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}
fn lowercase(words: &[u64]) -> bool {
    bytes(words).iter().all(u8::is_ascii_lowercase)
}
/// 50 letters, and nothing in what is left of the last word.
fn is_text(words: &[u64]) -> bool {
    let (text, rest) = (bytes(&words[..7]), [0; 6]);
    text[..50].iter().all(u8::is_ascii_alphabetic) && text[50..] == rest
}

#[test]
fn tables_have_as_many_rows_as_the_standard_and_do_not_overlap() {
    let (t, _) = filled();
    let rows = [
        (t.warehouses, 2, 128),
        (t.districts, 6, 128),
        (t.customers, 6 * 1200, 704),
        (t.items, 50, 128),
        (t.stock, 100, 320),
        (t.orders, 60, 128 + 15 * 64),
        (t.order_index, 6 * 14, 8),
        (t.new_order_index, 6 * 14, 8),
    ];
    for (rows, count, size) in rows {
        assert_eq!((rows.count(), rows.span().len), (count, count * size));
    }
    let mut spans: Vec<Span> = rows.iter().map(|r| r.0.span()).collect();
    spans.extend([&t.item_index, &t.stock_index, &t.customer_index].map(HashIndex::span));
    spans.sort_by_key(|s| s.at.0);
    assert!(spans.windows(2).all(|w| w[0].at.0 + w[0].len <= w[1].at.0));
    assert_eq!(t.spans().len(), 8);
}

#[test]
fn warehouses_and_items_hold_what_the_standard_says() {
    let (t, mut m) = filled();
    for w in 0..2 {
        let row = words(&mut m, &t.warehouses, w, 128);
        assert_eq!((row[0], row[2]), (w + 1, 0));
        assert!(row[1] <= 2000, "a tax of up to 20 %");
    }
    for i in 0..50 {
        let row = words(&mut m, &t.items, i, 128);
        assert_eq!((row[0], row[1]), (i + 1, t.price(i)));
        assert!((100..=10_000).contains(&row[1]));
        assert!(lowercase(&row[2..5]) && row[2] != row[3] && is_text(&row[5..12]));
        assert_eq!(row[12..], [0; 4]);
    }
}

#[test]
fn stock_holds_what_the_standard_says() {
    let (t, mut m) = filled();
    for s in 0..100 {
        let row = words(&mut m, &t.stock, s, 320);
        assert_eq!(row[0], (s / 50) << 32 | (s % 50 + 1));
        // The quantity in the lower half, and no sales yet.
        assert!((10..=100).contains(&row[1]) && row[2] == 0);
        assert_eq!(row[1], t.first_quantity(s));
        for district in 0..3 {
            let info = &row[3 + 3 * district..6 + 3 * district];
            assert!(lowercase(info) && info == t.dist(s, district as u64));
            assert!(info[0] != info[1] && info[0] != row[3 + 3 * ((district + 1) % 3)]);
        }
        assert_eq!(row[12..33], [0; 21], "districts that there are not");
        assert!(is_text(&row[33..40]));
    }
    // A warehouse of more than ten districts has information for the ten of the standard.
    let scale = Scale {
        districts: 12,
        customers: 1,
        items: 1,
        orders: 1,
        warehouses: 1,
    };
    let (t, mut m) = (Tables::new(&mut Layout::default(), 3, scale, 0), Words::default());
    t.fill(&mut m);
    let row = words(&mut m, &t.stock, 0, 320);
    assert!(lowercase(&row[3..33]) && is_text(&row[33..40]));
}

/// The syllables of a name's three digits (4.3.2.3).
fn name(n: u64) -> Vec<u8> {
    let syllables = "BAR OUGHT ABLE PRI PRES ESE ANTI CALLY ATION EING";
    let syllables: Vec<&str> = syllables.split(' ').collect();
    let digits = format!("{n:03}");
    let mut text: String = digits.bytes().map(|d| syllables[usize::from(d - b'0')]).collect();
    while text.len() < 16 {
        text.push('\0');
    }
    text.into_bytes()
}

#[test]
fn districts_and_customers_hold_what_the_standard_says() {
    let (t, mut m) = filled();
    let mut bad = 0;
    for d in 0..6 {
        let row = words(&mut m, &t.districts, d, 128);
        assert_eq!((row[0], row[1], row[3]), (d + 1, 10, 0));
        assert!(row[2] <= 2000, "a tax of up to 20 %");
        for c in 0..1200 {
            let number = d * 1200 + c;
            let row = words(&mut m, &t.customers, number, 704);
            assert_eq!(row[0], c + 1);
            assert!(row[1] <= 5000, "a discount of up to 50 %");
            let credit = bytes(&row[2..3]);
            assert!(credit == *b"BC\0\0\0\0\0\0" || credit == *b"GC\0\0\0\0\0\0");
            assert_eq!(credit[0] == b'B', t.has_bad_credit(number));
            bad += u32::from(credit[0] == b'B');
            // The first thousand of a district have the thousand names, the others one of them.
            let last = if c < 1000 { c } else { t.last_name(number) };
            assert!(last < 1000 && bytes(&row[3..5]) == name(last));
            assert_eq!(row[5..], [0; 83]);
        }
    }
    assert!(bad.abs_diff(720) < 120, "one in ten of 7200: {bad}");
    let drawn: std::collections::BTreeSet<u64> = (1000..1200).map(|c| t.last_name(c)).collect();
    assert!(drawn.len() > 50, "{}", drawn.len());
}

#[test]
fn the_last_three_tenths_of_the_orders_are_new() {
    let (t, mut m) = filled();
    let mut lengths = [0; 16];
    for (d, o) in (0..6).flat_map(|d| (0..10).map(move |o| (d, o))) {
        let (order, at) = (d * 10 + o, d * 14 + o);
        let row = words(&mut m, &t.orders, order, 1088);
        let lines = t.first_lines(at);
        lengths[lines as usize] += 1;
        assert_eq!(row[..5], [o + 1, d, 1 + o, 0, lines]);
        let new = o >= 7;
        assert_eq!(row[8..10], if new { [o + 1, d] } else { [0, 0] });
        for line in 0..15 {
            let there = if line < lines { [o + 1, d << 8 | line] } else { [0, 0] };
            assert_eq!(row[16 + 8 * line as usize..][..2], there);
        }
        let block = t.orders.at::<()>(order);
        assert_eq!(m.load(t.order_index.at(at)).v, block.addr.0);
        let new_order = if new { block.addr.0 + 64 } else { 0 };
        assert_eq!(m.load(t.new_order_index.at(at)).v, new_order);
    }
    assert!(
        lengths[..5].iter().all(|n| *n == 0),
        "an order has five lines or more: {lengths:?}"
    );
    // Orders that are still to come are in neither index.
    for at in (0..6).flat_map(|d| d * 14 + 10..d * 14 + 14) {
        assert_eq!(
            (m.load(t.order_index.at(at)).v, m.load(t.new_order_index.at(at)).v),
            (0, 0)
        );
    }
}

#[test]
fn prices_and_quantities_and_lengths_reach_both_ends() {
    let (t, _) = filled();
    let (quantities, lengths): (Vec<u64>, Vec<u64>) =
        (0..4000).map(|i| (t.first_quantity(i), t.first_lines(i))).unzip();
    let ends = |all: &[u64]| (all.iter().min().copied(), all.iter().max().copied());
    assert_eq!(ends(&quantities), (Some(10), Some(100)));
    assert_eq!(ends(&lengths), (Some(5), Some(15)));
    let letters: std::collections::BTreeSet<u8> =
        (0..4000).flat_map(|h| letters(rng::hash(&[h])).to_le_bytes()).collect();
    assert!(letters.into_iter().eq(b'a'..=b'z'));
    // Keys of the indexes: a name in each district and warehouse, never 0.
    let keys: std::collections::BTreeSet<u64> = (0..6)
        .flat_map(|d| [0, 1, 1199].map(|c| t.customer_key(d, c)))
        .collect();
    assert!(keys.len() == 18 && !keys.contains(&0));
    assert_eq!((t.stock_key(0, 0), t.stock_key(1, 49)), (1, (1 << 32) + 50));
    assert_ne!(t.customer(Val::<()>::lit(0)).addr, Addr(0));
}
