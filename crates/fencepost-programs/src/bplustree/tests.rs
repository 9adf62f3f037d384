//! The planted tree, and operations beside a map.

use super::*;
use crate::pool::tests::Words;
use fencepost_kernel::Dialect;
use fencepost_kernel::params::Raw;
use std::collections::BTreeMap;

fn tree(ops: u32, params: &[(&str, i64)]) -> BPlusTree {
    let settings = Settings {
        threads: 1,
        ops,
        params: params.iter().map(|(n, v)| ((*n).to_owned(), Raw::Int(*v))).collect(),
        ..Settings::default()
    };
    BPlusTree::build(&settings).expect("sizes that fit")
}
/// Every pair of a tree in the order of its leaves, and the nodes of each level, the topmost first. No leaf is deeper than another.
fn walk(m: &mut Words, root: u64, pairs: u64) -> (Vec<(u64, u64)>, Vec<u64>) {
    let (mut all, mut levels, mut level) = (Vec::new(), Vec::new(), vec![root]);
    loop {
        levels.push(level.len() as u64);
        let mut below = Vec::new();
        for node in &level {
            let at = At::<()>::new(Addr(*node));
            let word = m.load(at).v;
            let (count, leaf) = (word & (LEAF - 1), word & LEAF != 0);
            assert!(count <= pairs);
            if leaf {
                for i in 0..count {
                    let value = m.load_n(at.field(value_at(pairs, i)), Width::B4).v;
                    all.push((m.load(at.field(key_at(i))).v, value));
                }
            } else {
                below.extend((0..=count).map(|i| m.load(at.field(child_at(pairs, i))).v));
            }
        }
        assert!(below.is_empty() || all.is_empty(), "leaves at two depths");
        if below.is_empty() {
            return (all, levels);
        }
        level = below;
    }
}
/// Leaves are half full, and inner nodes have half as many children as they may.
#[test]
fn a_planted_tree_is_half_full() {
    for (keys, pairs) in [
        (0, 200),
        (1, 4),
        (100, 200),
        (101, 200),
        (9, 4),
        (10_000, 200),
        (1000, 5),
        (777, 20),
    ] {
        let t = tree(1, &[("keys", keys.max(1)), ("preload", keys), ("pairs", pairs)]);
        let mut m = Words::default();
        t.setup(&mut m);
        let (all, levels) = walk(&mut m, m_root(&t), pairs as u64);
        assert_eq!(all, t.dict.preloaded().collect::<Vec<_>>());
        // From the leaves up: as many as half a node holds of the level below, until there is one.
        let half = pairs as u64 / 2;
        let mut expected = vec![(keys as u64).div_ceil(half).max(1)];
        while expected[0] > 1 {
            expected.insert(0, expected[0].div_ceil(half));
        }
        assert_eq!(levels, expected, "{keys} keys");
        assert_eq!(t.shape.nodes.planted.count(), expected.iter().sum::<u64>());
    }
}
fn m_root(t: &BPlusTree) -> u64 {
    let mut m = Words::default();
    t.setup(&mut m);
    m.load(At::<()>::new(t.shape.nodes.root)).v
}
/// The upper levels of every tree come first, then its leaves: together they are all nodes that were there.
#[test]
fn upper_levels_are_hotter_than_leaves() {
    let t = tree(1, &[("keys", 3000), ("preload", 1500), ("pairs", 10), ("trees", 3)]);
    let mut m = Words::default();
    t.setup(&mut m);
    let resident = t.resident();
    assert_eq!((resident[0].at, resident[0].len), (t.shape.nodes.root, 2 * 64 + 8));
    let holds = |s: &Span, leaf: bool| {
        let nodes = (s.at.0..s.at.0 + s.len).step_by(4096);
        nodes
            .map(Addr)
            .all(|n| (Words(m.0.clone()).load(At::<()>::new(n)).v & LEAF != 0) == leaf)
    };
    assert!(resident[1..4].iter().all(|s| holds(s, false)) && resident[4..].iter().all(|s| holds(s, true)));
    assert_eq!(
        resident[1..].iter().map(|s| s.len).sum::<u64>(),
        t.shape.nodes.planted.span().len
    );
    assert_eq!(t.shares.iter().sum::<u64>(), 1500);
}
/// Splits at every level, on the way to four times as many pairs and back to none: what is found and what is there are a map's.
#[test]
fn toggled_keys_are_those_of_a_map() {
    for (pairs, batch) in [(4, 1), (5, 3), (16, 2)] {
        let t = tree(
            2000,
            &[("keys", 300), ("preload", 100), ("pairs", pairs), ("batch", batch)],
        );
        let mut m = Words::default();
        t.setup(&mut m);
        let mut map: BTreeMap<u64, u64> = t.dict.preloaded().collect();
        for k in 0..2000 {
            // Keys that are there are left alone while the map grows, and the others while it shrinks.
            let grows = k / 400 % 2 == 0;
            let input = t.input(0, k);
            let wanted: Vec<Toggle> = input
                .as_slice()
                .iter()
                .filter(|t| map.contains_key(&t.key) != grows)
                .copied()
                .collect();
            let found = t
                .toggle(&mut Pm::new(&mut m, Dialect::PLAIN), 0, k, &wanted)
                .expect("nothing aborts");
            for (t, found) in wanted.iter().zip(found.as_slice()) {
                let old = map.remove(&t.key);
                assert_eq!(*found, old.unwrap_or(0), "{k}");
                if old.is_none() {
                    map.insert(t.key, t.value);
                }
            }
            if k % 20 == 0 {
                let root = m.load(At::<()>::new(t.shape.nodes.root)).v;
                let (all, _) = walk(&mut m, root, pairs as u64);
                assert!(all.into_iter().eq(map.iter().map(|(k, v)| (*k, *v))), "{k}");
            }
        }
    }
}
/// Header, keys, then values of 4 bytes or children of 8, one more than keys: all of it in 4 KiB, and the largest node fills them.
#[test]
fn a_node_has_room_for_its_pairs() {
    assert_eq!((COUNT, NEXT, key_at(0), key_at(5)), (0, 8, 64, 104));
    for pairs in [4, 200, MOST_PAIRS] {
        assert_eq!(value_at(pairs, 3), 64 + pairs * 8 + 12);
        assert_eq!(child_at(pairs, 3), 64 + pairs * 8 + 24);
        assert!(child_at(pairs, pairs) + 8 <= NODE);
    }
    assert!(child_at(MOST_PAIRS + 1, MOST_PAIRS + 1) + 8 > NODE);
}
