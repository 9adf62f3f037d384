//! Lines of libraries that work for a program, by small numbers: an operation has a byte for its width and the line together.

use fencepost_kernel::Width;
use std::cell::RefCell;
use std::panic::Location;

/// Number of a library's line in [`OwnLines`]; 0 where the program itself made the operation, or where nobody records.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnLine(u8);
impl OwnLine {
    /// The program itself.
    pub const NONE: OwnLine = OwnLine(0);
}

/// Width of an access, and the line of the library that made it for the program.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Access(u8);
impl Access {
    /// A word, by the program itself.
    pub const WORD: Access = Access(3);
    /// An access of this width, made by this line.
    #[inline(always)]
    pub fn new(width: Width, own: OwnLine) -> Access {
        let width = match width {
            Width::B1 => 0,
            Width::B2 => 1,
            Width::B4 => 2,
            Width::B8 => 3,
        };
        Access(own.0 << 2 | width)
    }
    /// Its width.
    #[inline(always)]
    pub fn width(self) -> Width {
        match self.0 & 3 {
            0 => Width::B1,
            1 => Width::B2,
            2 => Width::B4,
            _ => Width::B8,
        }
    }
    /// The library's line.
    pub fn own(self) -> OwnLine {
        OwnLine(self.0 >> 2)
    }
}

/// Lines that have numbers.
const MOST: usize = 63;

/// The lines of libraries in one recorded run, in the order in which they were met. A way of logging stores from a dozen; of more than
/// 63 the rest go without.
#[derive(Debug, Default)]
pub struct OwnLines(RefCell<Vec<&'static Location<'static>>>);

impl OwnLines {
    /// The number of this line.
    pub fn number(&self, line: &'static Location<'static>) -> OwnLine {
        let mut lines = self.0.borrow_mut();
        let at = lines.iter().position(|l| *l == line).unwrap_or_else(|| {
            lines.push(line);
            lines.len() - 1
        });
        OwnLine(if at < MOST { at as u8 + 1 } else { 0 })
    }
    /// The line with this number.
    pub fn line(&self, number: OwnLine) -> Option<&'static Location<'static>> {
        let at = usize::from(number.0).checked_sub(1)?;
        self.0.borrow().get(at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_one_number_and_none_has_zero() {
        let lines = OwnLines::default();
        let (a, b) = (Location::caller(), Location::caller());
        let numbers = [a, b, a].map(|l| lines.number(l));
        assert_eq!(numbers[0], numbers[2]);
        assert_ne!(numbers[0], numbers[1]);
        assert_eq!(numbers.map(|n| lines.line(n)), [Some(a), Some(b), Some(a)]);
        assert_eq!(lines.line(OwnLine::NONE), None);
        for width in [Width::B1, Width::B2, Width::B4, Width::B8] {
            for own in [OwnLine::NONE, numbers[1], OwnLine(MOST as u8)] {
                let access = Access::new(width, own);
                assert_eq!((access.width(), access.own()), (width, own));
            }
        }
        assert_eq!(Access::WORD, Access::new(Width::B8, OwnLine::NONE));
    }
}
