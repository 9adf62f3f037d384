//! Address mapping: which channel, bank, row and column hold a line.

use super::spec::{Mapping, MediaSpec};
use fencepost_kernel::LineAddr;
use fencepost_kernel::units::{LINE_BYTES, PM_BASE};

/// Where a line lives.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Channel.
    pub channel: u16,
    /// Bank within the channel: rank times banks per rank plus bank.
    pub bank: u16,
    /// Row of the bank.
    pub row: u64,
    /// Line within the row.
    pub column: u16,
}

/// The mapping of one medium; every part is a power of two.
#[derive(Clone, Debug)]
pub struct AddressMap {
    mapping: Mapping,
    xor: bool,
    channel_bits: u32,
    bank_bits: u32,
    column_bits: u32,
    row_bits: u32,
}

/// Cuts the lowest `bits` off `word`.
fn take(word: &mut u64, bits: u32) -> u64 {
    let part = *word & ((1 << bits) - 1);
    *word >>= bits;
    part
}

impl AddressMap {
    /// The mapping of a valid medium.
    pub fn new(media: &MediaSpec) -> AddressMap {
        let channel_bits = media.channels.trailing_zeros();
        let bank_bits = (media.ranks * media.banks).trailing_zeros();
        let column_bits = (media.row_size.0 / LINE_BYTES).trailing_zeros();
        AddressMap {
            mapping: media.mapping,
            xor: media.bank_xor,
            channel_bits,
            bank_bits,
            column_bits,
            row_bits: (PM_BASE / LINE_BYTES).trailing_zeros() - channel_bits - bank_bits - column_bits,
        }
    }
    /// Where `line` lives. Persistent memory counts from its own base.
    pub fn locate(&self, line: LineAddr) -> Location {
        let mut rest = line.0 % (PM_BASE / LINE_BYTES);
        let (channel, mut bank, column, row);
        match self.mapping {
            Mapping::RowBankColumn => {
                channel = take(&mut rest, self.channel_bits);
                column = take(&mut rest, self.column_bits);
                bank = take(&mut rest, self.bank_bits);
                row = rest;
            }
            Mapping::RowColumnBank => {
                channel = take(&mut rest, self.channel_bits);
                bank = take(&mut rest, self.bank_bits);
                column = take(&mut rest, self.column_bits);
                row = rest;
            }
            Mapping::BankRowColumn => {
                channel = take(&mut rest, self.channel_bits);
                column = take(&mut rest, self.column_bits);
                row = take(&mut rest, self.row_bits);
                bank = rest;
            }
            Mapping::RowBufferStride => {
                column = take(&mut rest, self.column_bits);
                channel = take(&mut rest, self.channel_bits);
                bank = take(&mut rest, self.bank_bits);
                row = rest;
            }
        }
        if self.xor {
            bank ^= row & ((1 << self.bank_bits) - 1);
        }
        Location {
            channel: channel as u16,
            bank: bank as u16,
            row,
            column: column as u16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::params::ParamValue;
    use fencepost_kernel::params::Raw;

    fn media(word: &str, xor: bool) -> MediaSpec {
        MediaSpec {
            channels: 2,
            ranks: 2,
            banks: 4,
            row_size: fencepost_kernel::Bytes(1024),
            mapping: Mapping::from_raw(&Raw::Text(word.into())).unwrap(),
            bank_xor: xor,
            ..MediaSpec::default()
        }
    }

    #[test]
    fn every_mapping_is_one_to_one() {
        for word in Mapping::NAMES {
            for xor in [false, true] {
                let map = AddressMap::new(&media(word, xor));
                // 2 channels, 8 banks, 16 columns, 8 rows are the lowest 2048 lines, except for bank-row-column,
                // whose bank bits lie at the very top.
                let top = if *word == "bank-row-column" { 34 - 3 } else { 8 };
                let mut seen = std::collections::BTreeSet::new();
                for i in 0..2048u64 {
                    let line = if top == 8 { i } else { (i & 0xff) | ((i >> 8) << top) };
                    let l = map.locate(LineAddr(line));
                    assert!(l.channel < 2 && l.bank < 8 && l.column < 16);
                    seen.insert((l.channel, l.bank, l.row, l.column));
                }
                assert_eq!(seen.len(), 2048, "{word} {xor}");
            }
        }
    }

    #[test]
    fn consecutive_lines_go_where_the_words_say() {
        let at = |word, line| AddressMap::new(&media(word, false)).locate(LineAddr(line));
        // Alternate over two channels, then fill a row of 16 lines, then the next bank.
        assert_eq!(
            (at("row-bank-column", 0).channel, at("row-bank-column", 1).channel),
            (0, 1)
        );
        assert_eq!((at("row-bank-column", 30).bank, at("row-bank-column", 32).bank), (0, 1));
        // The next line of a channel is in the next bank.
        assert_eq!((at("row-column-bank", 2).bank, at("row-column-bank", 14).bank), (1, 7));
        // 16 lines stay together, then the channel changes, then the bank.
        assert_eq!(
            (at("row-buffer-stride", 15).channel, at("row-buffer-stride", 16).channel),
            (0, 1)
        );
        assert_eq!(
            (at("row-buffer-stride", 31).bank, at("row-buffer-stride", 32).bank),
            (0, 1)
        );
    }

    #[test]
    fn persistent_memory_counts_from_its_base() {
        let map = AddressMap::new(&MediaSpec::default());
        let base = PM_BASE / LINE_BYTES;
        assert_eq!(map.locate(LineAddr(base + 77)), map.locate(LineAddr(77)));
    }
}
