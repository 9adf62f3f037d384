//! Buffers that are written and read from one end to the other.

use crate::sites;
use fencepost_kernel::{Addr, At, Mem, Val, Width};

/// Writes a buffer, word by word as a copy does: bytes are collected until a word is full.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Writer {
    at: u64,
    word: u64,
    bits: u32,
}
impl Writer {
    /// From this word on.
    pub(crate) fn new(at: Addr) -> Writer {
        Writer {
            at: at.0,
            word: 0,
            bits: 0,
        }
    }
    #[inline(always)]
    fn put<M: Mem>(&mut self, m: &mut M) {
        m.store(At::new(Addr(self.at)), Val::lit(self.word));
        m.compute(sites::COPY_WORD);
        self.at += 8;
    }
    /// One byte.
    #[inline(always)]
    pub(crate) fn byte<M: Mem>(&mut self, m: &mut M, byte: u8) {
        self.word |= u64::from(byte) << self.bits;
        self.bits += 8;
        if self.bits == 64 {
            self.put(m);
            (self.word, self.bits) = (0, 0);
        }
    }
    /// A text.
    pub(crate) fn text<M: Mem>(&mut self, m: &mut M, text: &[u8]) {
        text.iter().for_each(|b| self.byte(m, *b));
    }
    /// A number in decimal digits.
    pub(crate) fn number<M: Mem>(&mut self, m: &mut M, n: u64) {
        let mut power = 1;
        while n / power >= 10 {
            power *= 10;
        }
        while power > 0 {
            self.byte(m, b'0' + (n / power % 10) as u8);
            power /= 10;
        }
    }
    /// A key in 16 hexadecimal digits.
    pub(crate) fn key<M: Mem>(&mut self, m: &mut M, key: u64) {
        for digit in (0..16).rev() {
            let d = (key >> (4 * digit) & 15) as u8;
            self.byte(m, if d < 10 { b'0' + d } else { b'a' + d - 10 });
        }
    }
    /// So many words of binary data, all the same.
    #[inline(always)]
    pub(crate) fn words<M: Mem>(&mut self, m: &mut M, n: u64, word: u64) {
        for _ in 0..n {
            self.word |= word << self.bits;
            self.put(m);
            self.word = if self.bits == 0 { 0 } else { word >> (64 - self.bits) };
        }
    }
    /// Writes what is left of the last word.
    pub(crate) fn end<M: Mem>(mut self, m: &mut M) {
        if self.bits > 0 {
            self.put(m);
        }
    }
}

/// Reads a buffer: bytes where text is parsed, words where data is copied.
#[derive(Copy, Clone, Debug)]
pub struct Reader<D> {
    at: u64,
    /// The word read last, of which a copy that is not aligned still needs a part.
    held: Option<Val<D>>,
}
impl<D: Copy + Default + Ord> Reader<D> {
    /// From this byte on.
    pub(crate) fn new(at: Addr) -> Reader<D> {
        Reader { at: at.0, held: None }
    }
    /// The next byte's address.
    pub(crate) fn place(&self) -> Addr {
        Addr(self.at)
    }
    /// Passes over bytes that the parser knows already.
    pub(crate) fn skip(&mut self, bytes: u64) {
        self.at += bytes;
        self.held = None;
    }
    /// One byte.
    #[inline(always)]
    pub(crate) fn byte<M: Mem<Dep = D>>(&mut self, m: &mut M) -> u8 {
        let byte = m.load_n(At::new(Addr(self.at)), Width::B1).v as u8;
        m.compute(sites::PARSE_BYTE);
        self.at += 1;
        byte
    }
    /// A decimal number and the byte behind it; `None` if there is no digit.
    pub(crate) fn number<M: Mem<Dep = D>>(&mut self, m: &mut M) -> Option<u64> {
        let (mut n, mut digits) = (0u64, 0);
        loop {
            let byte = self.byte(m);
            if !byte.is_ascii_digit() || digits > 19 {
                return (digits > 0).then_some(n);
            }
            n = n.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            digits += 1;
        }
    }
    /// A key of 16 hexadecimal digits; `None` if it is none.
    pub(crate) fn key<M: Mem<Dep = D>>(&mut self, m: &mut M) -> Option<u64> {
        let mut key = 0;
        for _ in 0..16 {
            let digit = char::from(self.byte(m)).to_digit(16)?;
            key = key << 4 | u64::from(digit);
        }
        Some(key)
    }
    /// Looks for the end of a line, a word at a time; whether it is among the next `most` bytes.
    pub(crate) fn find_line<M: Mem<Dep = D>>(&self, m: &mut M, most: u64) -> bool {
        let mut word = self.at & !7;
        while word < self.at + most {
            let bytes = m.load(At::new(Addr(word))).v.to_le_bytes();
            m.compute(sites::COPY_WORD);
            let from = self.at.saturating_sub(word).min(8) as usize;
            if bytes[from..].contains(&b'\n') {
                return true;
            }
            word += 8;
        }
        false
    }
    /// The next eight bytes; every word of the buffer is loaded once.
    #[inline(always)]
    pub(crate) fn word<M: Mem<Dep = D>>(&mut self, m: &mut M) -> Val<D> {
        let skew = self.at & 7;
        let load = |m: &mut M, at| m.load(At::new(Addr(at)));
        let word = if skew == 0 {
            load(m, self.at)
        } else {
            let low = match self.held {
                Some(held) => held,
                None => load(m, self.at - skew),
            };
            let high = load(m, self.at - skew + 8);
            self.held = Some(high);
            low.join(high, |l, h| l >> (8 * skew) | h << (64 - 8 * skew))
        };
        self.at += 8;
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::plain::Plain;

    #[test]
    fn what_was_written_is_read() {
        let mut m = Plain::default();
        let mut w = Writer::new(Addr(64));
        w.text(&mut m, b"set ");
        w.key(&mut m, 0xfe01);
        w.text(&mut m, b" ");
        for n in [0, 7, 10, 4096] {
            w.number(&mut m, n);
            w.text(&mut m, b" ");
        }
        w.text(&mut m, b"\r\n");
        w.words(&mut m, 3, 0x0123_4567_89ab_cdef);
        w.text(&mut m, b"!");
        w.end(&mut m);
        let mut r = Reader::<()>::new(Addr(64));
        assert!(r.find_line(&mut m, 64) && !r.find_line(&mut m, 8));
        assert_eq!([0; 4].map(|_| r.byte(&mut m)), *b"set ");
        assert_eq!(r.key(&mut m), Some(0xfe01));
        r.skip(1);
        assert_eq!([0; 4].map(|_| r.number(&mut m)), [0, 7, 10, 4096].map(Some));
        assert_eq!(r.number(&mut m), None, "the line's end is no number");
        r.skip(1);
        assert_eq!([0; 3].map(|_| r.word(&mut m).v), [0x0123_4567_89ab_cdef; 3]);
        assert_eq!(r.byte(&mut m), b'!');
    }
    /// At any offset in a word, data costs a load a word and one more where it is not aligned.
    #[test]
    fn words_are_loaded_once_wherever_they_begin() {
        for skew in 0..8 {
            let mut m = Plain::default();
            let mut w = Writer::new(Addr(64));
            w.text(&mut m, &b"abcdefgh"[..skew]);
            (1..=5).for_each(|n| w.words(&mut m, 1, n));
            w.end(&mut m);
            assert_eq!(m.stores, 5 + u64::from(skew > 0), "{skew}");
            let mut r = Reader::<()>::new(Addr(64 + skew as u64));
            assert_eq!([0; 5].map(|_| r.word(&mut m).v), [1, 2, 3, 4, 5]);
            assert_eq!(m.loads, 5 + u64::from(skew > 0), "{skew}");
        }
    }

    /// The bytes from an address on.
    fn bytes(m: &mut Plain, from: u64, len: u64) -> Vec<u8> {
        let byte = |at| m.load_n(At::new(Addr(at)), Width::B1).v as u8;
        (from..from + len).map(byte).collect()
    }
    /// Numbers, keys, text and data one behind the other, beside the same made by the standard library: at every offset in a word, a
    /// store a word.
    #[test]
    fn what_is_written_is_the_text_and_a_store_a_word() {
        let numbers = [
            0,
            1,
            9,
            10,
            11,
            99,
            100,
            12_345,
            9_999_999_999,
            10_000_000_000,
            u64::MAX,
        ];
        let keys = [0, 0x9a_f0, u64::MAX, 0x0123_4567_89ab_cdef];
        for skew in 0..9 {
            for n in numbers {
                for key in keys {
                    let mut m = Plain::default();
                    let mut w = Writer::new(Addr(128));
                    w.text(&mut m, &b"abcdefghi"[..skew]);
                    w.number(&mut m, n);
                    w.key(&mut m, key);
                    w.words(&mut m, 2, key);
                    w.number(&mut m, n);
                    w.end(&mut m);
                    let mut expected = format!("{}{n}{key:016x}", &"abcdefghi"[..skew]).into_bytes();
                    expected.extend(key.to_le_bytes().repeat(2));
                    expected.extend(n.to_string().bytes());
                    assert_eq!(m.stores, (expected.len() as u64).div_ceil(8));
                    assert_eq!(bytes(&mut m, 128, expected.len() as u64), expected);
                    assert_eq!(bytes(&mut m, 120, 8), [0; 8]);
                    let mut r = Reader::<()>::new(Addr(128));
                    r.skip(skew as u64);
                    assert_eq!(r.place(), Addr(128 + skew as u64));
                }
            }
        }
    }
    /// A number ends where its digits do, and the byte behind it is passed over; a key ends at what is no digit.
    #[test]
    fn numbers_and_keys_are_read_to_their_ends() {
        let mut m = Plain::default();
        let mut w = Writer::new(Addr(64));
        w.text(&mut m, b"18446744073709551615,7x00000000000000Af 000000000000000g");
        w.end(&mut m);
        let mut r = Reader::<()>::new(Addr(64));
        assert_eq!([r.number(&mut m), r.number(&mut m)], [Some(u64::MAX), Some(7)]);
        assert_eq!(r.place(), Addr(64 + 23));
        assert_eq!(r.key(&mut m), Some(0xaf));
        assert_eq!(r.number(&mut m), None);
        assert_eq!(r.place(), Addr(64 + 23 + 16 + 1));
        assert_eq!(r.key(&mut m), None);
    }
    /// A number has twenty digits at most, so that a buffer without an end is not read for ever.
    #[test]
    fn a_number_that_does_not_end_is_given_up() {
        let mut m = Plain::default();
        let mut w = Writer::new(Addr(64));
        w.text(&mut m, &[b'1'; 64]);
        w.end(&mut m);
        let mut r = Reader::<()>::new(Addr(64));
        assert!(r.number(&mut m).is_some());
        assert_eq!(r.place(), Addr(64 + 21));
    }
    /// Wherever the line begins and ends: it is found if it ends within the bytes that are looked at, and words are loaded up to its end.
    #[test]
    fn a_lines_end_is_found_a_word_at_a_time() {
        for begin in 64..72 {
            for end in begin..begin + 40 {
                let mut m = Plain::default();
                // The end of the line before does not count.
                for at in [begin - 1, end] {
                    m.store_n(At::new(Addr(at)), Val::lit(u64::from(b'\n')), Width::B1);
                }
                let r = Reader::<()>::new(Addr(begin));
                assert!(r.find_line(&mut m, 48));
                assert_eq!(m.loads, end / 8 - begin / 8 + 1);
                assert!(r.find_line(&mut m, end - begin + 1));
                // As far as the word before that of the end, if there is one.
                let short = (end / 8 * 8).saturating_sub(begin);
                assert!(short == 0 || !r.find_line(&mut m, short));
            }
        }
    }
    /// What was held of a word is forgotten when the reader moves.
    #[test]
    fn a_reader_that_skips_reads_what_is_there() {
        for skew in 0..8u64 {
            let mut m = Plain::default();
            let text: Vec<u8> = (1..=64).collect();
            let mut w = Writer::new(Addr(64));
            w.text(&mut m, &text);
            w.end(&mut m);
            let mut r = Reader::<()>::new(Addr(64 + skew));
            let word = |at: u64| u64::from_le_bytes(std::array::from_fn(|i| (at as usize + i + 1) as u8));
            assert_eq!(r.word(&mut m).v, word(skew));
            r.skip(16);
            assert_eq!(r.word(&mut m).v, word(skew + 24));
            assert_eq!(r.place(), Addr(64 + skew + 32));
        }
    }
}
