//! Whether a row stays open after a column access.

use crate::memory::spec::PagePolicy;

impl PagePolicy {
    /// Whether the column access that has just been made precharges its bank as soon as the bank may.
    #[inline]
    pub fn precharges_after_access(self) -> bool {
        match self {
            PagePolicy::Open => false,
            PagePolicy::Closed => true,
        }
    }
}
