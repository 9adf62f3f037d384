//! Columns of whole numbers, packed for a page: a few bytes a number, unpacked by the page itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write as _};

/// A column as variable-length numbers (seven bits a byte, lowest first), compressed, in Base64. `page.js` reads it with
/// `fencepost.unpack`.
pub fn unsigned(values: impl IntoIterator<Item = u64>) -> io::Result<String> {
    let mut bytes = Vec::new();
    for mut v in values {
        while v >= 0x80 {
            bytes.push(v as u8 | 0x80);
            v >>= 7;
        }
        bytes.push(v as u8);
    }
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(&bytes)?;
    Ok(STANDARD.encode(gzip.finish()?))
}

/// Numbers that never fall, each as the step from the one before.
///
/// # Panics
/// In debug builds, if one falls.
pub fn rising(values: impl IntoIterator<Item = u64>) -> io::Result<String> {
    let mut last = 0;
    unsigned(values.into_iter().map(|v| {
        debug_assert!(v >= last, "{v} after {last}");
        let step = v.saturating_sub(last);
        last = v;
        step
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read as _;

    #[test]
    fn a_column_is_what_it_was() {
        let text = rising([5, 5, 205, 1_000_000_205]).unwrap();
        let mut bytes = Vec::new();
        let packed = STANDARD.decode(text).unwrap();
        GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
        // 5, 0, 200, 1,000,000,000.
        assert_eq!(bytes, [5, 0, 0xc8, 0x01, 0x80, 0x94, 0xeb, 0xdc, 0x03]);
    }
}
