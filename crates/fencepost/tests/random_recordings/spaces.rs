//! Where an actor has mapped which pages of the persistent files, and what it has open.

/// Bytes of a page.
pub(super) const PAGE: u64 = 4096;

/// A byte of a persistent file: which file, and where in it.
pub(super) type At = (usize, u64);

/// What a page of addresses shows.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Page {
    /// A page of a file, by its first offset.
    Shared(At),
    /// A copy of one: what is stored there is nobody else's.
    Private,
    /// Nothing.
    Gone,
}

/// Pages that one call has mapped, and what became of them.
#[derive(Clone)]
pub(super) struct Slot {
    /// Its number in the script.
    pub(super) number: u64,
    pub(super) pages: Vec<Page>,
    /// Whether all of them are still what that call has mapped.
    pub(super) one_call: bool,
}
impl Slot {
    /// The bytes of files behind so many from an offset on; none where one is private, or nobody's.
    pub(super) fn bytes(&self, offset: u64, count: u64) -> Option<Vec<At>> {
        (offset..offset + count).map(|at| self.byte(at)).collect()
    }
    fn byte(&self, at: u64) -> Option<At> {
        match self.pages.get((at / PAGE) as usize)? {
            Page::Shared((file, offset)) => Some((*file, offset + at % PAGE)),
            _ => None,
        }
    }
}

/// An open file.
#[derive(Clone)]
pub(super) struct Open {
    pub(super) file: usize,
    /// Where the next `write` goes; descriptors that are copies of one another share it.
    pub(super) position: usize,
    pub(super) append: bool,
    pub(super) synchronous: bool,
}

/// A file as far as a script must know it.
#[derive(Copy, Clone)]
pub(super) struct FileState {
    pub(super) length: u64,
    /// Whether its length has changed and is not durable yet.
    pub(super) pending: bool,
    /// Whether it was written or mapped: everything done to it counts.
    pub(super) touched: bool,
}
