//! The order of use in sets of very many ways.

/// For each set its positions, the one used last first.
#[derive(Clone, Debug)]
pub(super) struct WideSets {
    order: Vec<u32>,
    ways: usize,
}

impl WideSets {
    /// So many ways in each of so many sets; the first counts as used last.
    pub(super) fn new(ways: usize, sets: usize) -> WideSets {
        let order = (0..sets).flat_map(|_| 0..ways as u32).collect();
        WideSets { order, ways }
    }
    /// The position of a set that was used `age` uses of other positions ago.
    pub(super) fn age(&self, set: usize, age: usize) -> usize {
        self.order[set * self.ways + age] as usize
    }
    /// A position of a set is used.
    pub(super) fn touch(&mut self, set: usize, position: usize) {
        let order = &mut self.order[set * self.ways..][..self.ways];
        let age = order.iter().position(|p| *p as usize == position);
        order[..=age.expect("every position has an age")].rotate_right(1);
    }
}
