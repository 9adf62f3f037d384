//! What an operation asks of the database, as LevelDB's benchmark of SQLite does: its schema, statements, keys and values.

use fencepost_kernel::rng;
use fencepost_sqlite::{Session, SqliteError};

/// Digits of a key.
const KEY_BYTES: usize = 16;

/// What one request does.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Stores the next key of the thread's own, in ascending order.
    #[default]
    Fill,
    /// Stores any key, which may be there or not.
    Random,
    /// Stores a key that was there before the run.
    Overwrite,
    /// Reads any key.
    Read,
}

/// One request.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// What it does.
    pub kind: Kind,
    /// The key's number.
    pub key: u64,
    /// Names the value that it stores: unique in the run and never 0.
    pub value: u64,
}

/// The schema of the benchmark.
pub(super) fn create(s: &mut Session<'_>) -> Result<(), SqliteError> {
    s.run_all(c"CREATE TABLE test (key blob, value blob, PRIMARY KEY(key))")
}
pub(super) fn begin(s: &mut Session<'_>) -> Result<(), SqliteError> {
    s.run(c"BEGIN TRANSACTION", &[], |_| {})
}
pub(super) fn end(s: &mut Session<'_>) -> Result<(), SqliteError> {
    s.run(c"END TRANSACTION", &[], |_| {})
}
fn key_bytes(key: u64) -> [u8; KEY_BYTES] {
    let mut digits = [b'0'; KEY_BYTES];
    let mut left = key;
    for place in digits.iter_mut().rev() {
        *place = b'0' + (left % 10) as u8;
        left /= 10;
    }
    digits
}
/// Bytes of a value: its name, and others that follow from it.
fn value_bytes(value: u64, len: usize) -> Vec<u8> {
    let words = (0..).map(|i| {
        if i == 0 {
            value
        } else {
            rng::mix(value.wrapping_add(i << 56))
        }
    });
    words
        .take(len.div_ceil(8))
        .flat_map(u64::to_le_bytes)
        .take(len)
        .collect()
}
/// The name of a value, if its bytes are those that follow from it.
fn value_name(bytes: &[u8], len: usize) -> Option<u64> {
    let name = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
    (bytes == value_bytes(name, len)).then_some(name)
}
pub(super) fn put(s: &mut Session<'_>, key: u64, value: u64, len: usize) -> Result<(), SqliteError> {
    let (key, value) = (key_bytes(key), value_bytes(value, len));
    s.run(c"REPLACE INTO test (key, value) VALUES (?, ?)", &[&key, &value], |_| {})
}
/// The name of a key's value, 0 if the key is not there, `u64::MAX` if its bytes are torn.
pub(super) fn get(s: &mut Session<'_>, key: u64, len: usize) -> Result<u64, SqliteError> {
    let (key, mut found) = (key_bytes(key), 0);
    s.run(c"SELECT value FROM test WHERE key = ?", &[&key], |columns| {
        found = value_name(columns[0], len).unwrap_or(u64::MAX);
    })?;
    Ok(found)
}
/// Every key with the name of its value, in the order of the table; numbers are `u64::MAX` where bytes are torn.
pub(super) fn all(s: &mut Session<'_>, len: usize) -> Result<Vec<(u64, u64)>, SqliteError> {
    let mut found = Vec::new();
    s.run(c"SELECT key, value FROM test", &[], |columns| {
        let digits = std::str::from_utf8(columns[0]).ok().filter(|d| d.len() == KEY_BYTES);
        let key = digits.and_then(|d| d.parse().ok()).unwrap_or(u64::MAX);
        found.push((key, value_name(columns[1], len).unwrap_or(u64::MAX)));
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn keys_and_values_have_their_sizes_and_torn_values_no_name() {
        assert_eq!(&key_bytes(1234), b"0000000000001234");
        for len in [8, 100, 1000] {
            let bytes = value_bytes(77, len);
            assert_eq!((bytes.len(), value_name(&bytes, len)), (len, Some(77)));
            for torn in (0..len).step_by(8) {
                let mut bytes = bytes.clone();
                bytes[torn] ^= 1;
                assert!(len == 8 || value_name(&bytes, len).is_none());
            }
        }
    }
}
