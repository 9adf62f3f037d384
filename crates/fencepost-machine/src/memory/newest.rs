//! The newest queued write of every line that has one.

use fencepost_kernel::LineAddr;

/// Index of an entry of the write queues.
pub type Slot = u32;

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
pub struct Newest {
    /// The first of each list.
    first: Box<[Slot]>,
    shift: u32,
    /// By entry.
    links: Vec<Link>,
}

impl Newest {
    /// An empty table for about so many entries.
    pub fn new(entries: usize) -> Newest {
        let places = (4 * entries).next_power_of_two().max(64);
        Newest {
            first: vec![NONE; places].into(),
            shift: 64 - places.trailing_zeros(),
            links: Vec::with_capacity(entries),
        }
    }
    #[inline]
    fn place(&self, line: LineAddr) -> usize {
        // Knuth's multiplicative hashing: the upper bits of the product depend on all bits of the line.
        (line.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }
    /// The newest entry of a line.
    #[inline]
    pub fn get(&self, line: LineAddr) -> Option<Slot> {
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
    pub fn insert(&mut self, line: LineAddr, slot: Slot) {
        let place = self.place(line);
        let next = std::mem::replace(&mut self.first[place], slot);
        if self.links.len() <= slot as usize {
            self.links.resize(slot as usize + 1, Link { line, next });
        }
        self.links[slot as usize] = Link { line, next };
    }
    /// The newest entry of a line is no longer that.
    pub fn remove(&mut self, line: LineAddr, slot: Slot) {
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

    #[test]
    fn it_says_what_a_map_says() {
        let mut rng = Stream::new(2, "newest");
        let (mut newest, mut map, mut free) = (Newest::new(3), HashMap::new(), (0..100).collect::<Vec<Slot>>());
        for _ in 0..5000 {
            let line = LineAddr(rng.below(200) * 977);
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
        assert!(map.len() > 64, "lists of more than one are tried");
    }
}
