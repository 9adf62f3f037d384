//! The newest queued write of every line that has one.

use fencepost_kernel::LineAddr;

/// Index of an entry of the write queues.
pub(super) type Slot = u32;

/// No entry.
const NONE: Slot = Slot::MAX;

/// An entry, in the list of those whose lines share a place of the table.
#[derive(Copy, Clone, Debug)]
struct Link {
    line: LineAddr,
    next: Slot,
}

/// Entries by line. Every read asks it, and nearly always there is no write to the line.
#[derive(Clone, Debug)]
pub(super) struct Newest {
    /// The first of each list.
    first: Box<[Slot]>,
    shift: u32,
    /// By entry.
    links: Vec<Link>,
    /// How many lines have an entry.
    lines: usize,
}

impl Newest {
    /// An empty table for about so many entries; with more it grows.
    pub(super) fn new(entries: usize) -> Newest {
        let places = (4 * entries).next_power_of_two().max(64);
        Newest {
            first: vec![NONE; places].into(),
            shift: 64 - places.trailing_zeros(),
            links: Vec::with_capacity(entries),
            lines: 0,
        }
    }
    /// Writes that left the queues count until the medium has them, and of those there may be many.
    #[cold]
    fn grow(&mut self) {
        let places = 4 * self.first.len();
        let before = std::mem::replace(&mut self.first, vec![NONE; places].into());
        self.shift = 64 - places.trailing_zeros();
        for mut slot in before {
            while slot != NONE {
                let Link { line, next } = self.links[slot as usize];
                self.put_first(line, slot);
                slot = next;
            }
        }
    }
    #[inline]
    fn put_first(&mut self, line: LineAddr, slot: Slot) {
        let place = self.place(line);
        let next = std::mem::replace(&mut self.first[place], slot);
        self.links[slot as usize] = Link { line, next };
    }
    #[inline]
    fn place(&self, line: LineAddr) -> usize {
        // Knuth's multiplicative hashing: the upper bits of the product depend on all bits of the line.
        (line.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }
    /// The newest entry of a line.
    #[inline]
    pub(super) fn get(&self, line: LineAddr) -> Option<Slot> {
        let mut slot = self.first[self.place(line)];
        while slot != NONE {
            let link = &self.links[slot as usize];
            if link.line == line {
                return Some(slot);
            }
            slot = link.next;
        }
        None
    }
    /// An entry becomes the newest of its line, which has none.
    pub(super) fn insert(&mut self, line: LineAddr, slot: Slot) {
        if self.links.len() <= slot as usize {
            self.links.resize(slot as usize + 1, Link { line, next: NONE });
        }
        self.lines += 1;
        if self.lines > self.first.len() {
            self.grow();
        }
        self.put_first(line, slot);
    }
    /// The newest entry of a line is no longer that.
    pub(super) fn remove(&mut self, line: LineAddr, slot: Slot) {
        self.lines -= 1;
        let (place, next) = (self.place(line), self.links[slot as usize].next);
        if self.first[place] == slot {
            self.first[place] = next;
            return;
        }
        let mut at = self.first[place];
        while at != NONE {
            let link = &mut self.links[at as usize];
            if link.next == slot {
                link.next = next;
                return;
            }
            at = link.next;
        }
        debug_assert!(false, "the newest entry of its line");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::rng::Stream;
    use std::collections::HashMap;

    /// A table for three lines with at most so many, against a map.
    fn like_a_map(lines: u32) -> Newest {
        let mut rng = Stream::new(2, "newest");
        let (mut newest, mut map, mut free) = (Newest::new(3), HashMap::new(), (0..lines).collect::<Vec<Slot>>());
        for _ in 0..50 * lines {
            let line = LineAddr(rng.below(2 * u64::from(lines)) * 977);
            assert_eq!(newest.get(line), map.get(&line).copied());
            match map.remove(&line) {
                Some(slot) => {
                    newest.remove(line, slot);
                    free.push(slot);
                }
                None => {
                    let Some(slot) = free.pop() else { continue };
                    newest.insert(line, slot);
                    map.insert(line, slot);
                }
            }
        }
        assert_eq!(newest.lines, map.len());
        newest
    }
    /// Lines in the longest list.
    fn longest(newest: &Newest) -> usize {
        let list = |first: &Slot| {
            let next = |s: &Slot| Some(newest.links[*s as usize].next).filter(|s| *s != NONE);
            std::iter::successors(Some(*first).filter(|s| *s != NONE), next).count()
        };
        newest.first.iter().map(list).max().unwrap_or(0)
    }
    #[test]
    fn it_says_what_a_map_says() {
        assert!(longest(&like_a_map(60)) > 1, "lists of more than one are tried");
    }
    #[test]
    fn lists_stay_short_however_many_lines_there_are() {
        // In the places that it begins with, some 40 lines would share one.
        let many = like_a_map(3000);
        assert!(many.lines > 2000 && longest(&many) < 12, "{}", longest(&many));
    }
}
