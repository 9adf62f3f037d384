//! The tag array against a list of lines in the order of their last use.

use super::*;
use fencepost_kernel::{Bytes, Ps};
/// The way that must be emptied before the line can be put into its set.
fn victim(tags: &Tags, line: LineAddr) -> Option<WayRef> {
    match tags.spot(line) {
        Spot::Full(way) => Some(way),
        Spot::Here(way) => {
            assert_eq!(tags.find(line), Some(way));
            None
        }
        Spot::Free(way) => {
            assert_eq!((tags.find(line), tags.peek(way)), (None, None));
            None
        }
    }
}
fn insert(tags: &mut Tags, line: LineAddr, state: State, dirty: bool, meta: u32) -> WayRef {
    let (Spot::Here(way) | Spot::Free(way)) = tags.spot(line) else {
        panic!("a way must be free");
    };
    tags.put(way, line, state, dirty, meta);
    way
}
fn two_way() -> Tags {
    Tags::new(&CacheSpec {
        size: Bytes(64 * 2 * 4),
        ways: 2,
        latency: Ps(1),
        mshrs: 1,
        writeback_buffer: 1,
    })
}
#[test]
fn the_least_recently_used_way_is_the_victim() {
    let mut t = two_way();
    let (a, b, c) = (LineAddr(0), LineAddr(4), LineAddr(8)); // one set
    insert(&mut t, a, State::Exclusive, false, 0);
    assert_eq!(victim(&t, b), None);
    insert(&mut t, b, State::Modified, true, 7);
    let w = t.find(a).unwrap();
    t.touch(w);
    let v = victim(&t, c).unwrap();
    let gone = t.remove(v).unwrap();
    assert_eq!((gone.line, gone.dirty, gone.meta), (b, true, 7));
    insert(&mut t, c, State::Shared, false, 0);
    assert!(t.find(a).is_some() && t.find(b).is_none() && t.find(c).is_some());
}
#[test]
fn frozen_versions_are_invisible_and_leave_last() {
    let mut t = two_way();
    let (a, b) = (LineAddr(0), LineAddr(4));
    let w = insert(&mut t, a, State::Modified, true, 1);
    t.freeze(w);
    assert_eq!(t.find(a), None);
    insert(&mut t, a, State::Modified, true, 2);
    assert_eq!(t.meta(t.find(a).unwrap()), 2);
    assert_eq!(
        t.remove(victim(&t, b).unwrap()).map(|e| (e.frozen, e.meta)),
        Some((false, 2))
    );
    assert!(t.find_frozen(a, 1).is_some());
}

/// What a way of the reference holds: set, line, mark, frozen; the way used last stands last.
type Held = (u64, LineAddr, u32, bool);

#[test]
fn a_cache_is_a_list_of_lines_in_the_order_of_their_last_use() {
    let mut rng = fencepost_kernel::rng::Stream::new(4, "tags");
    for ways in [1, 4, 8, 11, 16, 17, 40] {
        let spec = CacheSpec {
            size: Bytes(64 * 4 * u64::from(ways)),
            ways,
            latency: Ps(1),
            mshrs: 1,
            writeback_buffer: 1,
        };
        let (mut tags, mut list) = (Tags::new(&spec), Vec::<Held>::new());
        for step in 0..4000u32 {
            // Several lines of a set share a byte.
            let line = LineAddr(rng.below(4) + 4 * (rng.below(6) + 128 * rng.below(6)));
            let at = |list: &[Held]| list.iter().position(|h| h.1 == line && !h.3);
            match rng.below(8) {
                0 => {
                    let gone = at(&list).map(|i| list.remove(i));
                    assert_eq!(tags.take(line).map(|g| g.meta), gone.map(|g| g.2));
                }
                1 if at(&list).is_some() => {
                    let w = tags.find(line).unwrap();
                    tags.freeze(w);
                    let i = at(&list).unwrap();
                    list[i].3 = true;
                }
                2 | 3 if at(&list).is_some() => {
                    let w = tags.find(line).unwrap();
                    tags.touch(w);
                    let used = list.remove(at(&list).unwrap());
                    list.push(used);
                }
                _ => {
                    let set = line.0 % 4;
                    let full = list.iter().filter(|h| h.0 == set).count() == ways as usize;
                    let oldest = |frozen| list.iter().position(|h| h.0 == set && h.3 == frozen);
                    let leaves = match full && at(&list).is_none() {
                        true => oldest(false).or(oldest(true)),
                        false => None,
                    };
                    let leaver = victim(&tags, line);
                    assert_eq!(leaver.is_some(), leaves.is_some());
                    if let (Some(w), Some(i)) = (leaver, leaves) {
                        let (gone, held) = (tags.remove(w).unwrap(), list.remove(i));
                        assert_eq!((gone.line, gone.meta, gone.frozen), (held.1, held.2, held.3));
                    }
                    insert(&mut tags, line, State::Shared, false, step);
                    let before = at(&list).map(|i| list.remove(i));
                    assert!(before.is_none_or(|b| b.1 == line));
                    list.push((set, line, step, false));
                }
            }
            let found = tags.find(line).map(|w| tags.meta(w));
            assert_eq!(found, at(&list).map(|i| list[i].2));
        }
    }
}

#[test]
fn a_way_is_settled_until_its_state_changes() {
    let mut t = two_way();
    let w = insert(&mut t, LineAddr(0), State::Exclusive, false, 0);
    let changes: [fn(&mut Tags, WayRef); 4] = [
        |t, w| t.set_state(w, State::Shared),
        |t, w| t.set_dirty(w, false),
        |t, w| t.set_dirty(w, true),
        |t, w| t.put(w, LineAddr(0), State::Modified, true, 0),
    ];
    for change in changes {
        assert!(!t.is_settled(w));
        t.settle(w);
        t.touch(w);
        t.set_meta(w, 3);
        assert_eq!((t.is_settled(w), t.state(w), t.dirty(w)), (true, State::Modified, true));
        change(&mut t, w);
    }
    assert!(!t.is_settled(w));
}
#[test]
fn a_line_has_no_mark_of_the_one_that_was_in_its_way() {
    for (state, dirty) in [
        (State::Shared, false),
        (State::Exclusive, false),
        (State::Modified, true),
    ] {
        let mut t = two_way();
        let way = insert(&mut t, LineAddr(0), State::Modified, true, 7);
        t.remove(way);
        assert_eq!(insert(&mut t, LineAddr(4), state, dirty, 0), way);
        assert_eq!(t.meta(way), 0, "{state:?}");
        t.put(way, LineAddr(4), state, dirty, 5);
        assert_eq!(t.meta(way), 5);
    }
}
