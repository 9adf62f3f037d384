//! Which lines of volatile memory a thread accessed lately.

use std::cell::RefCell;

/// Lines of volatile memory of which a thread's next access is not recorded: the nearest cache has them.
const RECENT: usize = 256;

thread_local! {
    static LINES: RefCell<[u64; RECENT]> = const { RefCell::new([0; RECENT]) };
}

/// Whether a thread accesses a line of volatile memory that it has not accessed lately.
pub(crate) fn is_new(line: u64) -> bool {
    LINES.with(|lines| {
        let known = &mut lines.borrow_mut()[line as usize % RECENT];
        std::mem::replace(known, line) != line
    })
}
