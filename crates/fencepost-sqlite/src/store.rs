//! Where the bytes of a database lie.

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;

/// Where the bytes of a database lie.
pub trait Store {
    /// Bytes that there are: whole pages, never fewer than SQLite has written.
    fn capacity(&self) -> u64;
    /// Copies bytes out.
    fn read(&mut self, at: u64, into: &mut [u8]);
    /// Overwrites bytes.
    fn write(&mut self, at: u64, bytes: &[u8]);
}
