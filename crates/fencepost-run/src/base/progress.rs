//! How far a crash check has come, for whoever wants to show it.

/// Is told by a crash check, from the thread that runs it. `()` ignores all of it.
pub trait Progress {
    /// A check of so many crash points begins.
    fn begin(&self, points: u64);
    /// A crash point was examined.
    fn examined(&self);
}

impl Progress for () {
    fn begin(&self, _: u64) {}
    fn examined(&self) {}
}
