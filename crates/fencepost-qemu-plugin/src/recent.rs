//! Which lines a thread accessed lately.

use std::cell::RefCell;

/// Lines of which a thread's next access is not recorded: the nearest cache has them.
const RECENT: usize = 256;

thread_local! {
    static LINES: RefCell<[u64; RECENT]> = const { RefCell::new([0; RECENT]) };
}

/// Whether a thread accesses a line that it has not accessed lately.
pub(crate) fn is_new(line: u64) -> bool {
    LINES.with(|lines| {
        let known = &mut lines.borrow_mut()[line as usize % RECENT];
        std::mem::replace(known, line) != line
    })
}
/// A line that was written back, and may have left the caches.
pub(crate) fn forget(line: u64) {
    LINES.with(|lines| {
        let known = &mut lines.borrow_mut()[line as usize % RECENT];
        if *known == line {
            *known = 0;
        }
    });
}
