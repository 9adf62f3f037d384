//! What recovery does, as a tree: which word it reads next, given the values of those it has read.

use rustc_hash::FxHashMap;

/// One point of recovery.
#[derive(Clone, Debug)]
pub(super) enum Point {
    /// Nobody has come here.
    Unknown,
    /// Recovery reads this word, and goes on by its value.
    Reads(u32, FxHashMap<u64, u32>),
    /// Recovery has ended, and survives.
    Survives,
}

/// Recovery's behaviour as far as it is known. It only knows recoveries that end well: the first that does not ends the
/// search.
#[derive(Clone, Debug, Default)]
pub(super) struct Paths {
    points: Vec<Point>,
    roots: FxHashMap<u128, u32>,
}

impl Paths {
    fn fresh(&mut self) -> u32 {
        self.points.push(Point::Unknown);
        self.points.len() as u32 - 1
    }
    /// Where recovery starts after the history with this fingerprint.
    pub(super) fn root(&mut self, history: u128) -> u32 {
        if let Some(root) = self.roots.get(&history) {
            return *root;
        }
        let root = self.fresh();
        self.roots.insert(history, root);
        root
    }
    /// The same, if a path started there.
    pub(super) fn known_root(&self, history: u128) -> Option<u32> {
        self.roots.get(&history).copied()
    }
    pub(super) fn point(&self, at: u32) -> &Point {
        &self.points[at as usize]
    }
    /// Whether recovery is known to survive an image with these values of all words.
    pub(super) fn survives(&self, root: u32, values: &[u64]) -> bool {
        let mut at = root;
        loop {
            match &self.points[at as usize] {
                Point::Survives => return true,
                Point::Unknown => return false,
                Point::Reads(word, next) => match next.get(&values[*word as usize]) {
                    Some(next) => at = *next,
                    None => return false,
                },
            }
        }
    }
    /// Where recovery goes on after reading `value` at a point that reads.
    pub(super) fn after(&mut self, at: u32, value: u64) -> u32 {
        if let Point::Reads(_, next) = &self.points[at as usize]
            && let Some(next) = next.get(&value)
        {
            return *next;
        }
        let new = self.fresh();
        if let Point::Reads(_, next) = &mut self.points[at as usize] {
            next.insert(value, new);
        }
        new
    }
    /// Adds a recovery that read these words, in this order, and survived. False if it contradicts an earlier one: with
    /// equal values it read other words.
    pub(super) fn add(&mut self, root: u32, words: impl IntoIterator<Item = u32>, values: &[u64]) -> bool {
        let mut at = root;
        let mut read = rustc_hash::FxHashSet::default();
        for word in words {
            if !read.insert(word) {
                continue;
            }
            match &mut self.points[at as usize] {
                point @ Point::Unknown => *point = Point::Reads(word, FxHashMap::default()),
                Point::Reads(known, _) if *known == word => {}
                _ => return false,
            }
            at = self.after(at, values[word as usize]);
        }
        match &mut self.points[at as usize] {
            point @ Point::Unknown => *point = Point::Survives,
            Point::Survives => {}
            Point::Reads(..) => return false,
        }
        true
    }
}
