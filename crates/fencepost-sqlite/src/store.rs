//! Where the bytes of a database lie.

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;

/// The files of a database.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum File {
    /// The pages.
    Pages,
    /// The rollback journal: what pages were before the transaction.
    Journal,
    /// The write-ahead log: what pages have become.
    Wal,
}

/// Where the bytes of a database lie.
pub trait Store {
    /// Bytes that there is room for. Of the pages, never fewer than SQLite has written.
    fn capacity(&self, file: File) -> u64;
    /// Bytes that the file has; 0: it is not there.
    fn size(&mut self, file: File) -> u64;
    /// Copies bytes out.
    fn read(&mut self, file: File, at: u64, into: &mut [u8]);
    /// Overwrites bytes.
    fn write(&mut self, file: File, at: u64, bytes: &[u8]);
    /// What was written to the file is durable before anything that is written later.
    fn sync(&mut self, file: File);
    /// Bits that journals are told apart by: never the same twice in the life of a database. It may not access the bytes.
    fn random(&mut self) -> u64;
}
